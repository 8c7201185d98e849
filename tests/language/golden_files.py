"""Golden files: cases with their input and what is said of it, in one readable text.

A case is a line ``#### title``, the input, a line ``----`` and one line a diagnostic::

    line:column-line:column [code] message | label | suggestion

``UPDATE_GOLDEN=1 pytest tests/language`` writes the last part anew; the change is then reviewed as any other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from spyre_dsl.language.diagnostics import Diagnostic

DIRECTORY = Path(__file__).with_name("golden")


@dataclass(frozen=True)
class Case:
    title: str
    text: str
    expected: str


def read_cases(name: str) -> list[Case]:
    cases = []
    for part in (DIRECTORY / name).read_text(encoding="utf-8").split("#### ")[1:]:
        title, rest = part.split("\n", 1)
        text, _, expected = rest.partition("----\n")
        cases.append(Case(title, text, expected.strip("\n")))
    return cases


def render(diagnostics: Iterable[Diagnostic]) -> str:
    """One line a diagnostic."""
    lines = []
    for found in diagnostics:
        start, end = (found.source.position(offset) for offset in (found.span.start, found.span.end))
        place = f"{start.line}:{start.column}-{end.line}:{end.column}"
        parts = [f"{place} [{found.code}] {found.message}", found.label]
        if found.suggestion is not None:
            parts.append(found.suggestion)
        lines.append(" | ".join(parts))
        for related in found.related:
            at = related.source.position(related.span.start)
            lines.append(f"    {at.line}:{at.column} {related.message}")
    return "\n".join(lines)


def check(name: str, judge: Callable[[str], str]) -> None:
    """Holds what ``judge`` says of each input against the file; with ``UPDATE_GOLDEN`` writes it there instead."""
    cases = read_cases(name)
    found = [judge(case.text) for case in cases]
    if os.environ.get("UPDATE_GOLDEN"):
        parts = [f"#### {case.title}\n{case.text}----\n{said}\n" for case, said in zip(cases, found, strict=True)]
        (DIRECTORY / name).write_text("\n".join(parts), encoding="utf-8")
        return
    for case, said in zip(cases, found, strict=True):
        assert said == case.expected, case.title
