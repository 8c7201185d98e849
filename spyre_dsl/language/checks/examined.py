"""One file of many, once all is said of it that needs no other file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spyre_dsl.language.adapter import Adapter
from spyre_dsl.language.checks.view import AdapterView
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.encoding import MAX_BYTES
from spyre_dsl.language.records import record
from spyre_dsl.language.rule_terms import RuleTerms
from spyre_dsl.language.source import Source


@record
class Examined:
    """What is wrong with a file by itself, and what is to be compared with other files.

    ``adapter`` is None where there is nothing to compare. ``rules`` are those that could be read in full. Pickled, it
    keeps what the comparison needs, and the expressions are left out.
    """

    source: Source
    diagnostics: Sequence[Diagnostic]
    adapter: Adapter | None = None
    rules: Sequence[RuleTerms] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        if self.adapter is None:
            return Examined, (self.source, self.diagnostics)
        from spyre_dsl.language.outlines import outline, packed

        return _received, (self.source, self.diagnostics, outline(self.adapter), [packed(rule) for rule in self.rules])


def _received(source: Source, diagnostics: Sequence[Diagnostic], adapter: Adapter, sent: Sequence[Any]) -> Examined:
    from spyre_dsl.language.outlines import unpacked

    return Examined(source, diagnostics, adapter, [unpacked(adapter, rule) for rule in sent])


_MEANINGLESS = frozenset({"SD204", "SD205"})
"""What is said of calls whose arguments do not fit, so that nobody knows what they stand for."""


def sound_rules(view: AdapterView, place: int, found: Sequence[Diagnostic]) -> list[RuleTerms]:
    """The rules of a file that could be read in full: from what is left of another, nothing follows.

    ``found`` is what the checks say of the file: a call whose arguments do not fit stands for nothing, and might pass
    for anything. The numbers of the rules follow from ``place``, that of the file, so that they are the same whoever
    counts them: no file has as many rules as it may have bytes.
    """
    damage = [*view.damage, *(diagnostic.span for diagnostic in found if diagnostic.code in _MEANINGLESS)]
    return [
        RuleTerms(view.adapter, rule.rule, number, whole=not rule.broken)
        for number, rule in enumerate(view.rules, place * MAX_BYTES)
        if not any(rule.rule.span.holds(span) for span in damage)
    ]
