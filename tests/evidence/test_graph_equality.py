"""Canonical graphs are compared by what they compute, not by how they are written."""

from __future__ import annotations

import pytest

from spyre_dsl.evidence.graph_equality import mismatch
from spyre_dsl.evidence.models_of_tests import build
from spyre_dsl.graphs.capture import Capture, capture
from spyre_dsl.language.adapter import TestCase, TestInput
from spyre_dsl.language.parser import parse_expression

INPUTS = (
    TestInput("x", "float32", (2, 6, 8)), TestInput("y", "float32", (2, 6, 8)), TestInput("w", "float32", (4, 8), True),
)  # fmt: skip


def graph(text: str) -> Capture:
    model = build(TestCase(None, INPUTS, before=parse_expression(text)), {})
    return capture(model.module, (), model.inputs)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("x + y", "y + x"),
        ("x * y * x", "x * (y * x)"),
        ("pow(x, 2)", "pow(x, 2.0)"),
        ("reshape(x, [-1, 8])", "reshape(x, [size(x, 0) * 6, 8])"),
        ("transpose(x, 1, 2)", "transpose(x, -1, -2)"),
        ("linear(x, pad_dim(w, 0, 6))", "linear(x, cat([w, zeros([2, 8])], 0))"),
        ("x * (1 / 3)", "x * 0.3333333333333333"),
        ("scaled_dot_product_attention(x, x, y, scale=none)", "scaled_dot_product_attention(x, x, y)"),
    ],
)
def test_the_same_computation(left: str, right: str) -> None:
    assert mismatch(graph(left), graph(right)) is None


@pytest.mark.parametrize(
    ("left", "right", "first"),
    [
        ("x + y", "x - y", ("add(x, y)", "sub(x, y)")),
        ("x - y", "y - x", ("x", "y")),
        ("relu(x * 2)", "relu(x * 3)", ("mul(x, 2)", "mul(x, 3)")),
        ("linear(x, w)", "linear(x, w * 2)", ("w", "mul(w, 2)")),
        ("transpose(x, 1, 2)", "x", ("transpose(x, 1, 2)", "x")),
        ("split(x, [2, 6], -1)[0]", "split(x, [6, 2], -1)[1]", None),
    ],
)
def test_another_computation_is_shown_where_it_parts(left: str, right: str, first: tuple[str, str] | None) -> None:
    found = mismatch(graph(left), graph(right))
    assert found is not None
    assert first is None or (found.left, found.right) == first
