"""Rewriting that would never end is found in the rules; rewriting that ends is let through."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spyre_dsl.language.checks.rule_set import STEPS, STEPS_PER_RULE
from spyre_dsl.language.collection import load
from spyre_dsl.language.rule_terms import rule_terms
from spyre_dsl.language.termination import _distinct, _Search, cycles
from spyre_dsl.language.triggers import Triggers
from spyre_dsl.language.unification import Effort
from tests.language.rule_files import adapter, names, rules


def found(*texts: str, unsupported: str | None = None) -> list[tuple[str, ...]]:
    bad = None if unsupported is None else frozenset(unsupported.split())
    return [names(cycle) for cycle in cycles(rules(*texts), bad)]


@pytest.mark.parametrize(
    "rule",
    [
        "pow($x, 3) -> pow(abs($x), 3)",
        "exp($x) -> exp($x) * 1",
        "add($x, $y) -> add($y, $x)",
        "mul($x, $y) -> exp(log($x) + log($y)) * 1",
        "pow($x, $n) -> pow($x, $n + 1)",
        "exp($x) -> exp($x); where: rank($x) == 2",
        "reshape($x, $s) -> reshape(pad_last($x, 64), $s)",
        "pad($x, $p) -> pad_last($x, 64); where: size($x, -1) != 64 and len($p) == 2",  # is made of pad itself
    ],
)
def test_a_rule_that_matches_its_own_result(rule: str) -> None:
    assert found(rule) == [("r0",)]


@pytest.mark.parametrize(
    "rule",
    [
        "pow($x, 3) -> $x * $x * $x",
        "pow($x, 3) -> pow($x, 2) * $x",
        "neg(neg($x)) -> $x",
        "exp(exp($x)) -> exp($x)",  # fewer ops each time
        "add(mul($x, $a), mul($x, $b)) -> mul($x, $a + $b)",
        "pow($x, $n) -> $x; where: $n == 1",
        "scaled_dot_product_attention($q, $k, $v, $m) -> narrow(scaled_dot_product_attention(pad_last($q, to), "
        "pad_last($k, to), pad_last($v, to), $m), -1, 0, d); where: size($q, -1) % stack.stick != 0; "
        "let: {d: 'size($q, -1)', to: 'round_up(d, stack.stick)'}",
        "scaled_dot_product_attention($q, $k, $v, $m) -> scaled_dot_product_attention($q, $k, $v, to(where($m, 0.0, "
        "finfo_min(dtype($q)) / 2), dtype($q))); where: dtype($m) == bool",
        "pad(reshape($y, $s), $p) -> reshape(pad_last($y, 64), $s); where: len($p) == 2",  # moves inwards
        "linear($x, $w) -> linear($x, pad_heads($w, 4, 64)); where: size($w, 0) != 256",
    ],
)
def test_a_rule_that_comes_to_an_end(rule: str) -> None:
    assert found(rule) == []


def test_rules_that_undo_each_other_are_named_in_their_order() -> None:
    assert found("square($x) -> $x * $x", "$x * $x -> square($x)") == [("r0", "r1")]
    assert found("exp($x) -> log($x)", "log($x) -> sin($x)", "sin($x) -> exp($x)", unsupported="") == [
        ("r0", "r1", "r2")
    ]


def test_the_shortest_of_several_cycles_is_shown() -> None:
    assert found(
        "exp($x) -> log($x)", "log($x) -> abs(sin($x))", "sin($x) -> exp($x)", "abs($x) -> log($x)", unsupported=""
    ) == [("r1", "r3")]


def test_each_rule_that_triggers_itself_is_reported() -> None:
    assert found("exp($x) -> abs(exp($x))", "log($x) -> abs(log($x))") == [("r0",), ("r1",)]


def test_a_cycle_that_lowers_a_measure_ends() -> None:
    assert found("sub($x, $y) -> $x + -$y", "add($x, neg($y)) -> sub($x, $y)") == [("r0", "r1")]
    assert found("exp(exp($x)) -> log(exp($x))", "log($x) -> exp($x)") == [("r0", "r1")], "back and forth"
    assert found("exp(exp($x)) -> log($x)", "log($x) -> exp($x)") == []


def test_removing_what_the_stack_lacks_is_progress_whatever_it_costs() -> None:
    circle = ("pow($x, 2) -> abs($x) * abs($x)", "abs($x) -> sqrt($x * $x)")
    assert found(*circle) == []
    back = ("mean(pow($x, 2), -1) -> mean($x * $x, -1)", "mean($x * $x, -1) -> mean(pow($x, 2), -1)")
    assert found(*back) == [("r0", "r1")]


def test_scopes_and_guards_break_a_circle() -> None:
    assert (
        found("square($x) -> $x * $x; config: {model_type: bert}", "$x * $x -> square($x); config: {model_type: gpt2}")
        == []
    )
    assert found("square($x) -> $x * $x; where: rank($x) == 2", "$x * $x -> square($x); where: rank($x) == 3") == []
    assert found("square($x) -> $x * $x; module: '*Norm'", "$x * $x -> square($x); module: '*MLP'") == []


def test_a_match_that_is_only_left_standing_is_not_set_off() -> None:
    pad = (
        "scaled_dot_product_attention($q, $k, $v, $m) -> "
        "narrow(scaled_dot_product_attention(pad_last($q, 64), $k, $v, $m), -1, 0, 32); "
        "where: size($q, -1) == 32"
    )
    mask = (
        "scaled_dot_product_attention($q, $k, $v, $m) -> "
        "scaled_dot_product_attention($q, $k, $v, where($m, 0.0, -1e4)); "
        "where: dtype($m) == bool"
    )
    assert found(pad, mask) == []


def test_a_result_seen_from_its_consumer_can_complete_a_match() -> None:
    assert found("exp($x) -> neg($x)", "abs(neg($x)) -> abs(exp($x))", unsupported="") == [("r0", "r1")]
    assert ("r0", "r1") in found("exp($x) -> $x", "neg(neg($x)) -> neg(exp(neg($x)))", unsupported="")


def test_a_thousand_rules_are_compared_with_one_another_quickly() -> None:
    """Not a timing: the test would simply not come to an end without the index."""
    ops = ("exp", "log", "sin", "cos", "tanh", "sqrt", "abs", "erf", "relu", "floor")
    many = [
        f"{ops[n % 10]}({ops[n // 10 % 10]}({ops[n // 100]}($x) * {n})) -> {ops[n % 10]}($x) * {n}" for n in range(1000)
    ]
    adapters = [adapter(*many[start : start + 50], name=f"adapter-{start}") for start in range(0, 1000, 50)]
    assert cycles(rule_terms(adapters)) == []


ATTENTION = "scaled_dot_product_attention($q, $k, $v)"


def test_a_rule_that_only_copies_ends_if_it_asks_for_the_copy() -> None:
    copied = "scaled_dot_product_attention(contiguous($q), $k, $v)"
    assert found(f"{ATTENTION} -> {copied}; where: not is_contiguous($q)") == []
    assert found(f"{ATTENTION} -> {copied}; where: not is_contiguous($k)") == [("r0",)], "of another operand"
    assert found(f"{ATTENTION} -> {copied}; where: is_contiguous($q)") == [("r0",)]
    assert found(f"{ATTENTION} -> {copied}") == [("r0",)]


def test_a_clone_may_lie_as_what_it_is_a_clone_of() -> None:
    assert found("exp($x) -> exp(clone($x)); where: not is_contiguous($x)") == [("r0",)]


def test_a_value_that_is_also_read_from_elsewhere_is_not_all_copied() -> None:
    assert found("sub($x, $x) -> sub(contiguous($x), $x); where: not is_contiguous($x)") == [("r0",)]
    assert found("sub($x, $x) -> sub($x, contiguous($x)); where: not is_contiguous($x)") == [("r0",)]
    assert found("sub($x, $x) -> sub(contiguous($x), contiguous($x)); where: not is_contiguous($x)") == []


def test_a_rule_sees_through_the_copies_of_another() -> None:
    copying = "abs($x) -> abs(contiguous($x)); where: not is_contiguous($x)"
    assert found(copying, "abs(exp($x)) -> log($x)", unsupported="") == []
    assert found("log($x) -> contiguous(exp($x))", "exp($x) -> log($x)", unsupported="") == [("r0", "r1")]
    assert found("log($x) -> abs(contiguous(exp($x)))", "abs(exp($x)) -> log($x)", unsupported="") == [("r0", "r1")]
    assert found("exp($x) -> contiguous(neg($x))", "abs(neg($x)) -> abs(exp($x))", unsupported="") == [("r0", "r1")]


def test_a_copy_leaves_what_other_rules_ask_for_as_it_was() -> None:
    copying = f"{ATTENTION} -> scaled_dot_product_attention(contiguous($q), $k, $v); where: not is_contiguous($q)"
    padding = (
        f"{ATTENTION} -> narrow(scaled_dot_product_attention(pad_last($q, 64), $k, $v), -1, 0, 32); "
        "where: size($q, -1) == 32 and is_float($q) and rank($q) == 4"
    )
    assert found(copying, padding) == []


SMALL_RULES = tuple(
    f"{a}($x) -> {made}{guard}"
    for a in ("exp", "log", "abs")
    for made in ("exp($x)", "log($x)", "abs(log($x))", "pad_last(abs($x), 64)", "square(exp($x))")
    for guard in ("", "; where: size($x, -1) != 64", "; where: rank($x) == 2 and dtype($x) == float16")
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(SMALL_RULES), min_size=1, max_size=5, unique=True))
def test_guards_that_are_looked_at_late_change_no_answer(texts: list[str]) -> None:
    told = rules(*texts)
    usable = [rule for rule in _distinct(told) if rule.result is not None]
    triggers = Triggers(usable, Effort(10**6))
    graph = {rule: triggers.set_off_by(rule, guarded=True) for rule in usable}
    assert cycles(told, frozenset()) == list(_Search(frozenset()).cycles(usable, graph))


def test_the_shipped_adapters_take_a_small_part_of_the_steps_that_lint_allows() -> None:
    told = rule_terms(load("adapters.d").adapters)
    effort = Effort(STEPS + STEPS_PER_RULE * len(told))
    allowed = effort.left
    assert cycles(told, effort=effort) == []
    assert effort.left > allowed / 2


@pytest.mark.parametrize(
    "rule",
    [
        "softmax($x, $d) -> softmax($x, -1); where: $d != -1",  # the graph says 3
        "softmax($x, $d) -> softmax($x, -1); where: $d >= 0",
        "softmax($x, $d) -> softmax($x, -1); where: $d == 3 and rank($x) == 4",
        "softmax($x, $d) -> softmax($x, $d - 4); where: $d >= 0 and $d < 4",  # -1 is 3
        "unsqueeze($x, $d) -> unsqueeze($x, -1); where: $d == rank($x)",
        "sum($x, $d) -> sum($x, [-1]); where: $d != [-1]",
        "sum($x, [$d]) -> sum($x, -1); where: $d >= 0",
        "relu(softmax($x, $d)) -> relu(relu(softmax($x, $d))); where: $d >= 0",
        "select($x, $d, $i) -> select($x, $d, -1); where: $i != -1",
        "select($x, 0, 3) -> select($x, 0, -1)",
        "slice($x, $d, $s, $e) -> slice($x, $d, $s, -1); where: $e != -1",
        "slice($x, $d, 0, $e) -> slice($x, $d, 0, 99); where: $e < 99",  # no further than the end
        "reshape($x, [$a, $b]) -> reshape($x, [$a, -1]); where: $b != -1",
        "expand($x, [$a, $b]) -> expand($x, [$a, -1]); where: $b >= 0",
        "embedding($x, $w, $p) -> embedding($x, $w, 0); where: $p != 0",  # of no effect, so it is forgotten
        "softmax($x, $d, $t) -> softmax($x, $d, float32); where: $t != float32",  # is the default for float32
    ],
)
def test_a_guard_sees_what_the_graph_says_not_what_is_written(rule: str) -> None:
    assert found(rule) == [("r0",)]


@pytest.mark.parametrize(
    "rule",
    [
        "transpose($x, $a, $b) -> transpose($x, $b, $a); where: $a < $b",
        "transpose($x, $a, $b) -> transpose($x, -2, -1); where: $a != -2",
        "transpose($x, $a, $b) -> transpose($x, 2, 1); where: $a < $b",
        "add($x, $y) -> add($y, $x); where: rank($x) < rank($y)",
        "mul($x, $y) -> mul(pad_last($x, 64), $y); where: size($x, -1) < 64",  # the other operand may be as small
    ],
)
def test_a_guard_is_tried_with_operands_either_way(rule: str) -> None:
    assert found(rule) == [("r0",)]


@pytest.mark.parametrize(
    "rule",
    [
        "softmax($x, $d) -> softmax($x, 2); where: $d != 2",
        "softmax($x, $d) -> softmax($x, -1); where: $d != rank($x) - 1",
        "softmax($x, $d) -> softmax($x, -1); where: $d != 3 and rank($x) == 4",
        "softmax($x, $d) -> transpose(softmax(transpose($x, $d, -1), -1), $d, -1); where: $d != rank($x) - 1",
        "softmax($x, $d) -> softmax($x, rank($x) - 1); where: $d < rank($x) - 1",
        "unsqueeze($x, $d) -> unsqueeze($x, -1); where: $d != rank($x)",
        "select($x, $d, $i) -> select($x, $d, 0); where: $i > 0",
        "slice($x, $d, $s, $e) -> slice($x, $d, 0, $e); where: $s > 0",
        "reshape($x, [$a, $b]) -> reshape($x, [2, $b]); where: $a != 2",
        "mul($x, $y) -> mul(pad_last($x, 64), pad_last($y, 64)); where: size($x, -1) < 64 and size($y, -1) < 64",
    ],
)
def test_a_guard_that_no_graph_makes_true_again_ends_it(rule: str) -> None:
    assert found(rule) == []


def test_operands_either_way_are_more_than_a_match_left_standing() -> None:
    wide = "mul($x, $y) -> mul($y, exp($x)); where: size($y, -1) == 64"
    assert found("mul(abs($x), $y) -> mul($x, pad_last($y, 64))", wide, unsupported="") != []


def test_the_greater_of_two_numbers_is_either_of_them() -> None:
    low = "max_of(finfo_min(dtype($x)), finfo_min(float32)) / 2"
    assert found(f"where($m, $x, $l) -> where($m, $x, {low}); where: $l < finfo_min(dtype($x))") == []
    assert found(f"where($m, $x, $l) -> where($m, $x, {low}); where: $l > finfo_min(dtype($x))") == [("r0",)]
    assert found("exp($x) -> exp($x) * 1; where: min_of(size($x, 0), 4) > 4") == []
