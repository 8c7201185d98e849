"""What the checks say about one rule, to the letter: ``golden.txt`` holds rules, ``golden.out`` what is said of each.

``UPDATE_GOLDEN=1`` writes the latter anew; the change is then reviewed as any other.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spyre_dsl.language.checks import check
from spyre_dsl.language.loader import load_text

HERE = Path(__file__).parent
RULES = HERE / "golden.txt"
SAID = HERE / "golden.out"
NOT_ASKED = ("SD302", "SD401", "SD504", "SD507")
"""Codes about what these short rules leave out."""


def cases() -> dict[str, str]:
    parts = RULES.read_text(encoding="utf-8").split("#### ")[1:]
    return {title: rule.strip() for title, rule in (part.split("\n", 1) for part in parts)}


def yaml_of(rule: str) -> str:
    """``op: PATTERN -> RESULT; where: ...; let: ...`` as a file; positions are told by the text that they cover."""
    body, *more = rule.removeprefix("op: ").split("; ")
    pattern, _, result = body.partition(" -> ")
    match = [entry for entry in more if entry.startswith("where:")]
    rewrite = [entry for entry in more if entry.startswith("let:")]
    lines = ["adapter: a", "summary: s", "gap: {kind: layout, evidence: [S5]}", "rules:", "  - match:"]
    lines += [f"      op: {pattern}", *(f"      {entry}" for entry in match)]
    lines += ["    rewrite:", *(f"      {entry}" for entry in rewrite), f"      op: {result}"]
    return "\n".join(lines) + "\n"


def said(rule: str) -> str:
    found = check([load_text(yaml_of(rule), "a.yaml")], ignore=NOT_ASKED)
    lines = []
    for entry in found:
        place = entry.source.position(entry.span.start)
        covered = entry.source.text[entry.span.start : entry.span.end]
        line = f"{place.line}:{place.column} {entry.severity.value}[{entry.code}] on `{covered}`: {entry.message}"
        lines.append(f"{line} | {entry.label}" + (f" | -> {entry.suggestion}" if entry.suggestion else ""))
    return "\n".join(lines) or "nothing"


def recorded() -> dict[str, str]:
    parts = SAID.read_text(encoding="utf-8").split("#### ")[1:] if SAID.exists() else []
    return {title: text.strip() for title, text in (part.split("\n", 1) for part in parts)}


def test_update() -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        SAID.write_text("".join(f"#### {title}\n{said(rule)}\n" for title, rule in cases().items()), encoding="utf-8")
    assert list(recorded()) == list(cases())


@pytest.mark.parametrize("title", cases())
def test_what_is_said(title: str) -> None:
    assert said(cases()[title]) == recorded()[title]
