"""Rules that want the same node with nothing between them are found, and others are left alone."""

from __future__ import annotations

import pytest

from spyre_dsl.language.overlap import MAX_PER_RULE, hidden, overlaps
from spyre_dsl.language.printing import show
from spyre_dsl.language.rule_terms import rule_terms, specificity
from spyre_dsl.language.witness import expression_of
from tests.language.rule_files import adapter, rules


def found(*texts: str) -> list[tuple[str, str, str | None]]:
    return [
        (o.earlier.rule.name, o.later.rule.name, None if o.witness is None else show(expression_of(o.witness)))
        for o in overlaps(rules(*texts))
    ]


@pytest.mark.parametrize(
    ("one", "other", "witness"),
    [
        ("mul(exp($x), $y) -> $y", "mul($x, log($y)) -> $x", "mul(exp($x), log($y))"),
        ("add($x, $x) -> $x * 2", "add(exp($x), $y) -> $y", "add(exp($x), exp($x))"),
        ("pow($x, 3) -> $x", "pow($y, 3) -> $y * $y * $y", "pow($y, 3)"),
        ("softmax($x, -1) -> $x", "softmax($x, 3) -> $x", "softmax($x, 3)"),
        ("linear($x, $w) -> $x", "linear(exp($x), $w, $b) -> $x", "linear(exp($x), $w)"),
        ("cat([$x, exp($y)], -1) -> $x", "cat([exp($x), $y], -1) -> $y", "cat([exp($x), exp($y)], -1)"),
    ],
)
def test_an_overlap_has_a_witness(one: str, other: str, witness: str) -> None:
    assert found(one, other) == [("r0", "r1", witness)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("pow($x, 3) -> $x", "pow($x, $n) -> $x; where: $n > 0"),  # an instance of the other
        ("pow($x, 3) -> $x", "pow($x, 2) -> $x"),
        ("pow($x, 3) -> $x; priority: 1", "pow($y, 3) -> $y * $y"),
        ("pow($x, 3) -> $x", "pow($y, 3) -> $y * $y; where: rank($y) == 2"),  # the same and one condition more
        ("pow($x, 3) -> $x; where: rank($x) == 2", "pow($y, 3) -> $y * $y; where: rank($y) == 3"),
        ("pow($x, 3) -> $x; where: is_parameter($x)", "pow($y, 3) -> $y * $y; where: not is_parameter($y)"),
        ("pow($x, 3) -> $x; config: {model_type: bert}", "pow($y, 3) -> $y * $y; config: {model_type: [gpt2, gptj]}"),
        ('pow($x, 3) -> $x; config: {head_dim: "< 64"}', 'pow($y, 3) -> $y * $y; config: {head_dim: ">= 64"}'),
        ("pow($x, 3) -> $x; module: '*Norm'", "pow($y, 3) -> $y * $y; module: '*MLP'"),
        ("pow($x, 3) -> $x; module: '*LlamaRMSNorm'", "pow($y, 3) -> $y * $y; module: '*RMSNorm'"),
        ("pow($x, 3) -> $x; path: encoder.layer.1.*", "pow($y, 3) -> $y * $y; path: encoder.layer.10.*"),
        ("mul(sin($x), _) -> {place: host}", "mul(cos($x), _) -> {place: host}"),  # on the host either way
        ("mean(pow($x, 2), -1) -> $x", "pow($x, 2) -> $x * $x"),  # inside the other: the larger goes first
    ],
)
def test_what_is_ordered_or_kept_apart_is_no_overlap(one: str, other: str) -> None:
    assert found(one, other) == []
    assert found(other, one) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("pow($x, 3) -> $x; where: rank($x) == 2", "pow($y, 3) -> $y * $y; where: size($y, 0) == 3"),
        ("pow($x, 3) -> $x; where: rank($x) == 2", "pow($y, 3) -> $y * $y; module: '*Norm'"),
        (
            "pow($x, 3) -> $x; config: {model_type: [bert, gpt2]}",
            "pow($y, 3) -> $y * $y; config: {model_type: [gpt2, gptj]}",
        ),
        ("pow($x, 3) -> $x; priority: 2", "pow($y, 3) -> $y * $y; priority: 2"),
        ('pow($x, 3) -> $x; config: {head_dim: "< 32"}', 'pow($y, 3) -> $y * $y; config: {head_dim: "< 64"}'),
    ],
)
def test_conditions_that_neither_include_nor_exclude_each_other_do_not_order(one: str, other: str) -> None:
    assert len(found(one, other)) == 1


def test_stacks_keep_adapters_apart() -> None:
    old = adapter("pow($x, 3) -> $x", name="old", head="requires: {stacks: [2026-04]}")
    new = adapter("pow($x, 3) -> $x * $x", name="new", head="requires: {stacks: [2026-06]}")
    both = adapter("pow($x, 3) -> -$x", name="both", head="requires: {stacks: [2026-06, 2026-08]}")
    assert not list(overlaps(rule_terms([old, new])))
    assert not list(overlaps(rule_terms([new, both]))), "all stacks of one are among those of the other"


def test_a_copy_is_reported_once_however_many_there_are() -> None:
    copies = rule_terms([adapter("pow($x, 3) -> $x", name=f"copy-{number}") for number in range(50)])
    assert [(o.earlier.number, o.later.number) for o in overlaps(copies)] == [(0, number) for number in range(1, 50)]


def test_a_rule_is_reported_with_a_few_others_only() -> None:
    many = [f"sub($x, exp(add($y, {number}))) -> $x" for number in range(8)]
    last = "sub(log($x), $y) -> $y"
    assert len(found(*many, last)) == MAX_PER_RULE


def test_modules_that_two_rules_change_in_the_same_way() -> None:
    forward = "{forward: return hidden_states}"
    assert found(f" -> {forward}; module: '*Norm'", f" -> {forward}; module: 'Llama*'") == [("r0", "r1", None)]
    assert found(f" -> {forward}; module: '*LlamaNorm'", f" -> {forward}; module: '*Norm'") == []
    assert found(f" -> {forward}; module: '*Norm'", f" -> {forward}; module: '*MLP'") == []
    assert found(" -> {attributes: {a: 1}}; module: '*Norm'", " -> {attributes: {b: 1}}; module: '*Norm'") == []
    assert len(found(" -> {attributes: {a: 1}}; module: '*Norm'", " -> {attributes: {a: 2}}; module: '*Norm'")) == 1


# A rule that never gets its turn.


def hidden_names(*texts: str) -> list[tuple[str, str]]:
    return [(winner.rule.name, loser.rule.name) for winner, loser in hidden(rules(*texts))]


def test_a_priority_can_hide_a_rule() -> None:
    assert hidden_names("pow($x, $n) -> $x; priority: 1; where: $n != 7", "pow($x, 3) -> $x") == []
    assert hidden_names("exp($x) -> $x; priority: 1", "exp(log($x)) -> $x") == [("r0", "r1")]
    assert hidden_names("log($x) -> $x; priority: 1", "exp(log($x)) -> $x") == [("r0", "r1")]
    assert hidden_names("exp(log($x)) -> $x; priority: 1", "exp($x) -> $x") == []
    assert hidden_names("exp($x) -> $x; priority: 1; module: '*Norm'", "exp(log($x)) -> $x") == []
    assert hidden_names("exp($x) -> $x", "exp(log($x)) -> $x") == []


# The order that is used where nothing else decides.


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("pow($x, 3) -> $x", "pow($x, $n) -> $n"),
        ("add($x, $x) -> $x", "add($x, $y) -> $x"),
        ("exp(log($x)) -> $x", "exp($x) -> $x"),
        ("exp($x) -> $x; where: rank($x) == 2", "exp($x) -> $x"),
        ("exp($x) -> $x; module: '*LlamaNorm'", "exp($x) -> $x; module: '*Norm'"),
        ("exp($x) -> $x; config: {model_type: [bert]}", "exp($x) -> $x; config: {model_type: [bert, gpt2]}"),
    ],
)
def test_the_more_specific_rule_counts_for_more(more: str, less: str) -> None:
    first, second = rules(more, less)
    assert specificity(first) > specificity(second)
