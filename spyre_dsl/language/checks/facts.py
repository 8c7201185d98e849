"""``gap.evidence`` cites facts that exist."""

from __future__ import annotations

from collections.abc import Iterator

from spyre_dsl.language.checks.registry import file_check
from spyre_dsl.language.checks.view import AdapterView
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.facts import fact_ids, likeliest
from spyre_dsl.language.suggest import nearest
from spyre_dsl.language.syntax import Span


@file_check("SD210")
def check_fact_ids(view: AdapterView) -> Iterator[Diagnostic]:
    """Every id under ``gap.evidence`` is a known fact."""
    known = fact_ids()
    for fact in view.adapter.gap.evidence:
        if fact not in known:
            near = nearest(fact, likeliest(fact))
            label = f"did you mean `{near}`?" if near else "an id is a letter and a number, such as S51"
            if near is None and "," in fact:
                label = "each id is an item of its own, without quotes around all of them"
            span = place_of(view, fact, view.adapter.gap.span)
            yield view.diagnose("SD210", f"unknown fact `{fact}`", span, label=label, suggestion=near)


def place_of(view: AdapterView, word: str, within: Span) -> Span:
    """Where a word stands in a part of the file; the part itself if it is not written out there."""
    text = view.source.text
    start = text.find(word, within.start, within.end)
    while start >= 0:
        before, after = text[start - 1 : start], text[start + len(word) : start + len(word) + 1]
        if not (before.isalnum() or before == "_") and not (after.isalnum() or after == "_"):
            return Span(start, start + len(word))
        start = text.find(word, start + 1, within.end)
    return within
