"""Patterns that match the same nodes are the same terms, whatever words they use."""

from __future__ import annotations

import pytest

from spyre_dsl.language.overlap import overlaps
from spyre_dsl.language.printing import show
from spyre_dsl.language.termination import cycles
from spyre_dsl.language.terms import App
from spyre_dsl.language.witness import expression_of
from spyre_dsl.matching.canonical_words import _WORDS as WORDS_OF_THE_MATCHER
from spyre_dsl.matching.compile import compile_pattern
from spyre_dsl.matching.patterns import OpPattern
from tests.language.rule_files import names, rules

SAID_OTHERWISE = {
    "contiguous": "contiguous(exp($x))", "clone": "clone(exp($x))", "detach": "detach(exp($x))",
    "alias": "alias(exp($x))", "lift_fresh_copy": "lift_fresh_copy(exp($x))", "dropout": "dropout(exp($x), 0.5)",
    "chunk": "chunk($x, 2, -1)", "rsub": "rsub($x, 2)", "t": "t($x)", "numpy_T": "numpy_T($x)",
    "permute": "permute($x, [0, 2, 1])", "narrow": "narrow($x, 1, 0, 2)", "type_as": "type_as($x, $y)",
    "expand_as": "expand_as($x, $y)", "flatten": "flatten($x, 1)", "unflatten": "unflatten($x, -1, [2, $n])",
}  # fmt: skip
"""A pattern for every op that the matcher looks for under another name."""


def test_every_op_that_the_matcher_says_otherwise_is_here() -> None:
    assert SAID_OTHERWISE.keys() == WORDS_OF_THE_MATCHER.keys()


@pytest.mark.parametrize("pattern", SAID_OTHERWISE.values())
def test_lint_and_the_matcher_look_for_the_same_op(pattern: str) -> None:
    (rule,) = rules(f"{pattern} -> $x")
    assert rule.rule.match.op is not None
    compiled = compile_pattern(rule.rule.match.op)
    assert isinstance(compiled, OpPattern) and isinstance(rule.pattern, App)
    assert rule.pattern.op == compiled.op


def witnesses(one: str, other: str) -> list[str]:
    found = overlaps(rules(f"{one} -> exp($x)", f"{other} -> sin($x)"))
    return [show(expression_of(overlap.witness)) for overlap in found if overlap.witness is not None]


@pytest.mark.parametrize(
    ("one", "other", "witness"),
    [
        ("permute($x, [0, 2, 1])", "transpose($x, 1, 2)", "transpose($x, 1, 2)"),
        ("permute($x, [0, -1, 1])", "transpose($x, 1, 2)", "transpose($x, 1, 2)"),
        ("transpose($x, 1, 2)", "transpose($x, 2, 1)", "transpose($x, 1, 2)"),
        ("transpose($x, 1, $d)", "transpose($x, 2, $e)", "transpose($x, 2, 1)"),
        ("permute($x, [1, 0])", "t($x)", "transpose($x, -2, -1)"),
        ("chunk($x, 2, -1)", "split($x, [$a, $b], -1)", "split($x, [$a, $b], -1)"),
        ("chunk($x, 2, -1)", "split($x, 32, -1)", "split($x, 32, -1)"),
        ("split($x, 2)", "split($x, [$a, $b])", "split($x, [$a, $b])"),
        ("narrow($x, 1, 0, 2)", "slice($x, 1, 0, 2)", "slice($x, 1, 0, 2)"),
        ("expand_as($x, $y)", "expand($x, [$a, $b])", "expand($x, [$a, $b])"),
        ("type_as($x, $y)", "to($x, dtype($z))", "to($x, dtype($z))"),
        ("flatten($x, 1)", "reshape($x, [$a, $b])", "reshape($x, [$a, $b])"),
        ("unflatten($x, -1, [$a, $b])", "reshape($x, [$p, $q, $r])", "reshape($x, [$p, $q, $r])"),
    ],
)
def test_patterns_in_different_words_overlap(one: str, other: str, witness: str) -> None:
    assert witnesses(one, other) == [witness]


@pytest.mark.parametrize(
    ("special", "general"),
    [
        ("flatten($x, 1)", "reshape($x, $s)"),
        ("chunk($x, 3)", "split($x, $s)"),
        ("narrow($x, 1, 0, 2)", "slice($x, $d, $s, $e)"),
        ("type_as($x, $y)", "to($x, $d)"),
    ],
)
def test_the_more_specific_of_them_goes_first(special: str, general: str) -> None:
    assert witnesses(special, general) == witnesses(general, special) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("chunk($x, 3)", "split($x, [$a, $b])"),
        ("chunk($x, 2)", "chunk($x, 3)"),
        ("split($x, 2)", "split($x, 3)"),
        ("narrow($x, 1, 0, 2)", "narrow($x, 1, 0, 3)"),
        ("permute($x, [0, 2, 1])", "permute($x, [2, 1, 0])"),
        ("permute($x, [1, 2, 0])", "transpose($x, 1, 2)"),
        ("flatten($x, 1)", "flatten($x, 2)"),
    ],
)
def test_what_matches_different_nodes_is_kept_apart(one: str, other: str) -> None:
    assert witnesses(one, other) == []


@pytest.mark.parametrize("pattern", [*SAID_OTHERWISE.values(), "split($x, 2)", "transpose($x, 1, 2)"])
def test_a_witness_is_written_in_words_that_a_rule_file_knows(pattern: str) -> None:
    (rule,) = rules(f"{pattern} -> $x")
    (again,) = rules(f"{show(expression_of(rule.pattern))} -> $x")
    assert again.pattern == rule.pattern


@pytest.mark.parametrize(
    "rule",
    [
        "transpose($x, 1, 2) -> permute($x, [0, 2, 1])",
        "type_as($x, $y) -> to($x, dtype($y))",
        "flatten($x) -> reshape($x, [numel($x)])",
        "chunk($x, 2) -> split($x, size($x, 0) // 2)",
        "slice($x, 0, 0, 2) -> narrow($x, 0, 0, 2)",
    ],
)
def test_a_rewrite_in_other_words_changes_nothing_and_never_ends(rule: str) -> None:
    assert [names(cycle) for cycle in cycles(rules(rule))] == [("r0",)]
