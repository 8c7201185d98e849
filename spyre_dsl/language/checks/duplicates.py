"""Names that are there to tell things apart do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spyre_dsl.language.checks.examined import Examined
from spyre_dsl.language.checks.facts import place_of
from spyre_dsl.language.checks.registry import file_check, set_check
from spyre_dsl.language.checks.view import AdapterView
from spyre_dsl.language.codes import diagnose
from spyre_dsl.language.diagnostics import Diagnostic, Related
from spyre_dsl.language.source import Source
from spyre_dsl.language.syntax import Span


@set_check("SD501")
def check_adapter_names(files: Sequence[Examined]) -> Iterator[Diagnostic]:
    """No two adapters have the same name."""
    first: dict[str, tuple[Source, Span]] = {}
    for file in files:
        if file.adapter is None or not file.adapter.name:
            continue
        name, here = file.adapter.name, (file.source, file.adapter.name_span)
        other = first.setdefault(name, here)
        if other is not here:
            related = (Related("the first adapter of this name", *other),)
            message = f"there is another adapter `{name}`"
            label = f"the first is in {other[0].name}"
            yield diagnose("SD501", message, *here, label=label, related=related)


@file_check("SD502")
def check_rule_names(view: AdapterView) -> Iterator[Diagnostic]:
    """No two rules of a file have the same name; those without a name are asked for one elsewhere."""
    first: dict[str, Span] = {}
    for rule in view.adapter.rules:
        if (
            rule.name == view.adapter.name
            and len(view.adapter.rules) > 1
            and not _written(view, rule.name_span, rule.name)
        ):
            continue
        if rule.name in first:
            related = (Related("the first rule of this name", view.source, first[rule.name]),)
            message = f"there is another rule `{rule.name}` in this file"
            yield view.diagnose("SD502", message, rule.name_span, label="choose another name", related=related)
        first.setdefault(rule.name, rule.name_span)


def _written(view: AdapterView, span: Span, name: str) -> bool:
    return name in view.source.text[span.start : span.end]


@file_check("SD503")
def check_test_names(view: AdapterView) -> Iterator[Diagnostic]:
    """No two tests of a file have the same name."""
    first: dict[str, Span] = {}
    for test in view.adapter.tests:
        if test.name is None:
            continue
        span = place_of(view, test.name, test.span)
        if test.name in first:
            related = (Related("the first test of this name", view.source, first[test.name]),)
            message = f"there is another test `{test.name}` in this file"
            yield view.diagnose("SD503", message, span, label="choose another name", related=related)
        first.setdefault(test.name, span)
