"""A mistake holds back only the checks that depend on what it is in."""

from __future__ import annotations

import pytest

from spyre_dsl.language.checks import check
from spyre_dsl.language.loader import load_text

SOUND = {
    "head": "adapter: a\nsummary: s\ngap: {kind: layout, evidence: [S5]}",
    "op": "op: pow($x, 3)",
    "where": 'where: "1 == 2"',
    "rewrite": "rewrite: {op: $x * $x * $x}",
    "math": "",
    "tests": "",
}
"""A file with three independent mistakes: a guard that never holds, no test, no claim."""

INDEPENDENT = {"SD304", "SD504", "SD507"}


def codes(**changes: str) -> set[str]:
    part = {**SOUND, **changes}
    lines = [part["head"], "rules:", "  - match:", f"      {part['op']}", f"      {part['where']}"]
    lines += [f"    {part[key]}" for key in ("rewrite", "math") if part[key]]
    lines += [part["tests"]] if part["tests"] else []
    return {found.code for found in check([load_text("\n".join(lines) + "\n", "a.yaml")])}


def test_without_further_mistakes_all_three_are_reported() -> None:
    assert codes() == INDEPENDENT


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"op": "op: pow($x, 3"}, "SD201"),
        ({"op": "op: powr($x, 3)"}, "SD203"),
        ({"op": "op: [pow]"}, "SD103"),
        ({"rewrite": "rewrite: {op: $x * ($x * $x}"}, "SD201"),
        ({"rewrite": "rewrite: {op: mul($x, $x)}"}, "SD001"),
        ({"rewrite": "rewrite: {op: $x * $y}"}, "SD301"),
        ({"where": 'where: ["1 == 2", "rank($x) =="]'}, "SD201"),
        ({"where": 'where: ["rank($x) ==", "1 == 2"]'}, "SD201"),
        ({"head": "adapter: a\nsummary: [s]\ngap: {kind: layout, evidence: [S5]}"}, "SD103"),
        ({"head": "adapter: a\nsummary: s\ngap: {kind: layot, evidence: [S5]}"}, "SD104"),
        ({"head": "adapter: a\nsummary: s\nrequires: {torsh: '>=2'}\ngap: {kind: layout, evidence: [S5]}"}, "SD101"),
    ],
)
def test_a_mistake_elsewhere_hides_none_of_them(change: dict[str, str], code: str) -> None:
    found = codes(**change)
    assert code in found
    assert found >= INDEPENDENT


@pytest.mark.parametrize(
    ("change", "held_back"),
    [
        ({"where": 'where: "1 == "'}, "SD304"),
        ({"tests": "tests: 3"}, "SD504"),
        ({"tests": "tests: [{before: pow(x, 3}]"}, "SD504"),
        ({"tests": "trials: [{before: 'pow(x, 3)'}]"}, "SD504"),
        ({"math": "math: exat"}, "SD507"),
        ({"math": "claim: exact"}, "SD507"),
        ({"rewrite": "rewrite: 3"}, "SD507"),
    ],
)
def test_what_depends_on_a_broken_part_is_held_back(change: dict[str, str], held_back: str) -> None:
    found = codes(**change)
    assert held_back not in found
    assert found >= INDEPENDENT - {held_back}


def test_the_claim_of_a_rule_whose_rewrite_is_broken_is_still_missed_in_the_tests() -> None:
    text = """
adapter: a
summary: s
gap: {kind: layout, evidence: [S5]}
rules:
  - {name: one, match: {op: 'pow($x, 3)'}, rewrite: {op: $x * $x * $x}, math: exact}
  - {name: two, match: {op: 'exp($x)'}, rewrite: {op: $x * (}, math: exact}
  - {name: three, match: {op: 'exp($x'}, rewrite: {op: $x * $x}, math: exact}
tests:
  - {inputs: {x: 'float16[4, 64]'}, before: 'pow(x, 3)', after: x * x * x}
"""
    found = check([load_text(text, "a.yaml")])
    assert [entry.message for entry in found if entry.code == "SD506"] == ["the claim of rule `two` is not tested"]
