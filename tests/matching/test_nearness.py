"""What is blamed where a pattern comes near: the same, however the author orders the operands."""

from __future__ import annotations

import itertools
import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spyre_dsl.graphs.capture import Capture, capture
from spyre_dsl.language.adapter import AdapterSet
from spyre_dsl.matching.explain import Attempt, why
from spyre_dsl.matching.nearness import fits, nearest_alignment
from tests.captured import bert, gpt2
from tests.matching.rules import adapter, index, rule

GELU = ("0.5 * $x", "(1 + tanh(0.7978845608028654 * ($x + {cube})))")
"""The tanh-GELU of GPT-2, its cube left open."""


def nearest(captured: Capture, op: str) -> Attempt:
    return why(captured, AdapterSet((adapter(rule(op)),)), "r")[0]


@pytest.mark.parametrize("cube", ["0.04475 * $x ** 3", "$x ** 3 * 0.04475", "0.04475 * pow($x, 3)"])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_wrong_constant_is_blamed_with_the_constant_that_is_there(cube: str, swapped: bool) -> None:
    left, right = (part.format(cube=cube) for part in GELU)
    found = nearest(gpt2(), f"{right} * ({left})" if swapped else f"{left} * {right}")
    assert (found.reason, found.predicate, found.actual) == ("expected 0.04475, found 0.044715", "0.04475", "0.044715")


@pytest.mark.parametrize("op", ["0.04475 * $x", "$x * 0.04475"])
def test_a_number_is_compared_with_the_number_even_if_a_capture_would_take_it(op: str) -> None:
    captured = capture(_Scaled(), (torch.zeros(2, 4),))
    assert nearest(captured, op).reason == "expected 0.04475, found 0.044715"


def test_the_wrong_op_is_blamed_and_not_the_right_ones_beside_it() -> None:
    left, right = (part.format(cube="0.044715 * exp($x)") for part in GELU)
    found = nearest(gpt2(), f"{left} * {right}")
    assert found.reason == "expected `exp`, found `pow`" and found.node is not None and found.node.op == "mul"


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_every_order_of_the_operands_gives_one_reason(data: st.DataObject) -> None:
    """A sum of products with one wrong constant, its operands in any order."""
    products = [("exp($x)", "2.5"), ("sin($x)", "3.5"), ("tanh($x)", "4.5")]
    wrong = data.draw(st.integers(0, 2))
    factors = [(op, "9.25" if place == wrong else number) for place, (op, number) in enumerate(products)]
    texts = [" * ".join(data.draw(st.permutations(pair))) for pair in factors]
    (a, b), c = data.draw(st.permutations(texts[:2])), texts[2]
    inner = f"({a} + {b})"
    op = data.draw(st.sampled_from([f"{inner} + {c}", f"{c} + {inner}"]))
    assert nearest(_sum_of_products(), op).reason == f"expected 9.25, found {products[wrong][1]}"


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_what_matches_aligns_as_a_whole(data: st.DataObject) -> None:
    """An alignment has no failure where the pattern matches and each capture has one meaning."""
    parts = [
        data.draw(st.sampled_from([f"{op}($x) * {n}", f"{n} * {op}($x)"])) for op, n in (("exp", 2.5), ("sin", 3.5))
    ]
    op = " + ".join(data.draw(st.permutations(parts)))
    pattern = index(rule(op)).rules[0].pattern
    root = _sum_of_products().graph.outputs[0].arguments[0]  # type: ignore[union-attr]
    assert fits(pattern, root) and nearest_alignment(pattern, root).failure is None  # type: ignore[arg-type]


def test_reasons_name_ops_and_the_models_own_names_never_nodes_of_the_graph() -> None:
    patterns = [
        "0.5 * ($x + pow($x, 3))", "tanh(5)", "$x * $x", "linear($x, $w, 5)", "transpose(5, 1, 2)", "pow($x, 2) + 1",
        "scaled_dot_product_attention($q, $q, $q)", "layer_norm($x, 7, $w, $b, 1.0)", "$x[0] * 2", "cat([$x, $x], 1)",
    ]  # fmt: skip
    for captured, op in itertools.product((gpt2(), bert()), patterns):
        inner = {node.name for node in captured.graph.nodes if not node.is_leaf and re.search(r"_\d+$", node.name)}
        for attempt in why(captured, AdapterSet((adapter(rule(op)),)), "r"):
            assert not inner & set(re.findall(r"\w+", f"{attempt.reason} {attempt.actual}")), attempt.reason


def test_two_values_of_one_op_are_told_apart() -> None:
    captured = capture(_TwoSines(), (torch.zeros(2, 4), torch.zeros(2, 4)))
    assert nearest(captured, "$x * $x").reason == "$x is `sin` elsewhere in the pattern and another `sin` here"


def test_the_nearest_place_has_most_ops_although_another_has_more_captures() -> None:
    captured = capture(_NearAndFar(), (torch.zeros(2, 4), torch.zeros(4, 4), torch.zeros(4)))
    found = nearest(captured, "linear($x, $w, $b) * sin(exp(cos($y)))")
    assert (found.reason, found.matched_ops) == ("expected `linear`, found `tanh`", 3)


def test_an_op_that_the_model_has_nowhere_is_what_is_said_where_only_the_root_is_there() -> None:
    (found,) = why(bert(), AdapterSet((adapter(rule("linear(mean(pow($x, 2), -1) + $eps, $w, $b)")),)), "r")
    assert found.reason.startswith("there is no `mean` in this model") and found.predicate == "mean(pow($x, 2), -1)"
    assert found.node is None and not found.anywhere


class _Scaled(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x) * 0.044715


class _TwoSines(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.sin(x) * torch.sin(y)


class _NearAndFar(torch.nn.Module):
    def forward(self, x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        near = torch.tanh(x) * torch.sin(torch.exp(torch.tanh(x)))
        return near + torch.nn.functional.linear(x, w, b) * torch.cos(x)


class _Products(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.exp(x) * 2.5 + torch.sin(x) * 3.5 + torch.tanh(x) * 4.5


_CAPTURED: list[Capture] = []


def _sum_of_products() -> Capture:
    if not _CAPTURED:
        _CAPTURED.append(capture(_Products(), (torch.zeros(2, 4),)))
    return _CAPTURED[0]
