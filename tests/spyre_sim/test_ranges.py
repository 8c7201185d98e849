"""What numbers a value can hold, from its graph alone: whether a host's infinity can reach the device."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import spyre_dsl.blocks.placement  # noqa: F401  (registers torch.ops.spyre.host)
import spyre_sim
from spyre_sim.capture import capture
from spyre_sim.legalize import legalize, taken_apart
from spyre_sim.ranges import Range, Ranges
from spyre_sim.stacks import load_stack

JUNE = load_stack("2026-06")
INFINITY = math.inf
KEPT = torch.tensor([[True, False]])
X = torch.zeros(1, 2).half()


def host(x: torch.Tensor) -> torch.Tensor:
    """`x` is worked out on the host."""
    return torch.ops.spyre.host(x)


def range_of(function, *args) -> Range:
    """The range of the one result of a function."""
    captured = capture(function, args, decompose=taken_apart(JUNE))
    program, _ = legalize(captured, JUNE)
    return Ranges(program).of(program.outputs[0])


@pytest.mark.parametrize(
    ("function", "args", "low", "high"),
    [
        (lambda m: host(torch.where(m, 0.0, -32752.0)), (KEPT,), -32752, 0),
        (lambda m: host(torch.where(m, 0.0, -INFINITY)), (KEPT,), -INFINITY, 0),
        (lambda m: host(torch.where(m, 0.0, -65504.0).half()), (KEPT,), -65504, 0),
        (lambda m: host(torch.where(m, 0.0, torch.finfo(torch.float32).min).half()), (KEPT,), -INFINITY, 0),
        (lambda m: host((1.0 - m.half()) * -10000.0), (KEPT,), -10000, 0),
        (lambda m: host(torch.zeros(1, 2).masked_fill(m, -INFINITY)), (KEPT,), -INFINITY, 0),
        (lambda m: host(torch.where(m, 0.0, -8.0)[:, None].expand(1, 3, 2)), (KEPT,), -8, 0),
        (lambda m: host(torch.where(m, 0.0, -8.0) + torch.where(m, 2.0, -4.0)), (KEPT,), -12, 2),
        (lambda x: x, (X,), -INFINITY, INFINITY),
        (lambda x: x * 2.0, (X,), -INFINITY, INFINITY),
        (lambda x: x.exp(), (X,), -65504, 65504),
        (lambda m: m, (KEPT,), 0, 1),
        (lambda n: n, (torch.ones(2, 2, dtype=torch.int64),), -(2.0**63), 2.0**63),
        (lambda n: n, (torch.ones(2, 2, dtype=torch.int32),), -(2**31), 2**31 - 1),
    ],
)
def test_range(function, args, low, high):
    assert range_of(function, *args) == Range(low, high)


def test_of_a_weight_it_is_what_it_holds():
    layer = torch.nn.Module()
    layer.register_buffer("table", torch.tensor([[-3.0, 5.0]]).half())
    layer.forward = lambda x: layer.table + 0.0 * x  # type: ignore[method-assign]
    captured = capture(layer, (X,), decompose=taken_apart(JUNE))
    program, _ = legalize(captured, JUNE)
    given = [value for op in program.ops for value in op.values() if value.source and value.source.kind == "buffer"]
    assert {Ranges(program).of(weight) for weight in given} == {Range(-3, 5)}


NUMBERS = st.integers(-1000, 1000)  # whose sums and products are exact


@settings(deadline=None, max_examples=30)
@given(st.lists(NUMBERS, min_size=2, max_size=2), st.lists(NUMBERS, min_size=2, max_size=2), st.data())
def test_what_is_computed_of_two_constants_lies_in_its_range(first, second, data):
    """Interval arithmetic holds every result of the op."""
    name = data.draw(st.sampled_from(["add", "sub", "mul", "minimum", "maximum"]))
    x, y = (torch.tensor([numbers], dtype=torch.float32) for numbers in (first, second))
    captured = capture(lambda m, x=x, y=y: host(getattr(torch, name)(x, y) * 1.0), (KEPT,))
    program, _ = legalize(captured, JUNE)
    found = Ranges(program).of(program.outputs[0])
    result = getattr(torch, name)(x, y)
    assert found.low <= float(result.min()) and float(result.max()) <= found.high


def test_nothing_that_it_says_is_compiled_in():
    """The range of an argument is that of its dtype, whatever the example holds."""
    compiled = spyre_sim.compile(lambda x: x + x, (X,))
    assert compiled(torch.full((1, 2), 3.0).half()).tolist() == [[6, 6]]
