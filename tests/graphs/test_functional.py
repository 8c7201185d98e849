"""Writes in place become functional ops where nobody can tell, and only there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spyre_dsl.graphs.functional import _functional_overload, without_own_writes
from spyre_dsl.graphs.sharing import writes_in_place

X, Y = torch.arange(12.0).reshape(3, 4) - 5, torch.linspace(-1, 1, 12).reshape(3, 4)


class Function(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def exported(function: Callable[..., Any], *inputs: torch.Tensor) -> torch.export.ExportedProgram:
    dynamic = (tuple({dim: torch.export.Dim.AUTO for dim in range(each.dim())} for each in inputs),)
    with torch.no_grad():
        return torch.export.export(Function(function).eval(), inputs, dynamic_shapes=dynamic, strict=False)


def writes(program: torch.export.ExportedProgram) -> list[str]:
    return [str(node.target) for node in program.graph.nodes if writes_in_place(node)]


def made(function: Callable[..., Any], *inputs: torch.Tensor) -> torch.export.ExportedProgram:
    """The program after the pass, which must say of itself whether it still writes, and compute what it did."""
    program = exported(function, *inputs)
    assert without_own_writes(program) is not bool(writes(program))
    program.graph.lint()
    results = []
    for run in (function, program.graph_module):
        given = [each.clone() for each in inputs]
        result = run(*given)
        results.append((result if isinstance(result, tuple) else (result,), given))
    (wanted, after), (got, changed) = results
    torch.testing.assert_close(got, wanted)
    torch.testing.assert_close(changed, after)
    return program


def names(program: torch.export.ExportedProgram) -> list[str]:
    return [str(node.target) for node in program.graph.nodes if node.op == "call_function"]


def test_a_sum_into_a_fresh_value_is_a_plain_sum():
    def function(x, y):
        scores = x * 2
        scores += y
        return scores.exp()

    assert names(made(function, X, Y)) == ["aten.mul.Tensor", "aten.add.Tensor", "aten.exp.default"]


def test_what_was_read_before_the_write_keeps_the_old_value():
    def function(x):
        y = x * 2
        z = y.exp()
        y.mul_(3)
        return y + z

    assert not writes(made(function, X))


def test_a_view_that_nobody_reads_afterwards_is_no_obstacle():
    def function(x):
        y = x * 2
        first = y.view(-1).exp()
        y.neg_()
        return y.view(-1), first

    assert not writes(made(function, X))


def test_a_view_taken_afterwards_is_one_of_the_new_value():
    def function(x):
        y = x * 2
        y.add_(1)
        return y.transpose(0, 1).exp(), y[0]

    assert not writes(made(function, X))


def test_several_writes_follow_each_other():
    def function(x, y):
        z = x + y
        z.sub_(y)
        z.div_(4)
        flat = z.view(-1)
        flat.clamp_(-1, 1)
        return flat

    assert not writes(made(function, X, Y))


def test_what_is_returned_is_the_written_value():
    def function(x):
        y = x * 2
        y.add_(1)
        return y, x

    program = made(function, X)
    (output,) = program.graph.find_nodes(op="output")
    assert [node.name for node in output.args[0]] == [spec.arg.name for spec in program.graph_signature.output_specs]


def test_a_write_that_is_read_through_what_hands_on_its_argument_stays():
    def function(x, y):
        z = x * 2
        same = torch.nn.functional.dropout(z, 0.5, False)
        z.add_(y)
        return same.exp(), z

    assert writes(made(function, X, Y))


def _input(x, y):
    return x.add_(y)


def _view_of_an_input(x, y):
    return x.view(-1).add_(y.view(-1))


def _part_of_a_value(x, y):
    z = x * 2
    z[:, 0].mul_(3)
    return z.exp()


def _view_read_afterwards(x, y):
    z = x * 2
    flat = z.view(-1)
    z.add_(y)
    return flat.exp(), z


def _item_read_afterwards(x, y):
    z = x * 2
    rows = z.split(1)
    z.add_(y)
    return rows[0].exp(), z


def _item_written(x, y):
    z = x * 2
    z.unbind()[0].add_(y[0])
    return z


def _narrower_than_the_other(x, y):
    z = x.half() * 2
    z.add_(y)
    return z.exp()


def _comparison(x, y):
    z = x * 2
    z.gt_(y)
    return z + 1


def _not_contiguous(x, y):
    z = (x * 2).t()
    z.add_(y.t())
    return z + 1


def _not_elementwise(x, y):
    z = x * 2
    z.cumsum_(0)
    return z + y


@pytest.mark.parametrize(
    "function",
    [
        _input,
        _view_of_an_input,
        _part_of_a_value,
        _view_read_afterwards,
        _item_read_afterwards,
        _item_written,
        _narrower_than_the_other,
        _comparison,
        _not_contiguous,
        _not_elementwise,
    ],
    ids=lambda function: function.__name__.strip("_"),
)
def test_a_write_that_can_be_told_stays(function):
    assert writes(made(function, X, Y))


def test_a_write_that_stays_keeps_no_other():
    def function(x, y):
        z = y * 2
        z.add_(y)
        x.copy_(z)
        return z.exp()

    assert writes(made(function, X, Y)) == ["aten.copy_.default"]


def test_a_buffer_is_written_still():
    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(3))

        def forward(self, x):
            self.seen.add_(x)
            return self.seen * 2

    program = torch.export.export(Counts(), (torch.ones(3),), strict=False)
    assert not without_own_writes(program)


def test_no_condition_on_sizes_is_added():
    def function(x, y):
        z = x * 2
        z += y
        return z

    program = exported(function, X, Y[:1])
    environment = next(iter(program.graph.nodes)).meta["val"].fake_mode.shape_env
    before = list(environment.guards)
    assert without_own_writes(program)
    assert environment.guards == before


STEPS = {
    "view": lambda values, a, b: values.append(values[a].view(-1)),
    "part": lambda values, a, b: values.append(values[a].view(-1)[1:]),
    "fresh": lambda values, a, b: values.append(values[a] * 2),
    "hand on": lambda values, a, b: values.append(torch.nn.functional.dropout(values[a], 0.5, False)),
    "write": lambda values, a, b: values[a].mul_(0.5),
    "write a sum": lambda values, a, b: values[a].add_(values[b].sum()),
    "write the result": lambda values, a, b: values.append(values[a].clamp_(-3, 3)),
}
"""Each takes the values so far and two of their places."""


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 9), st.integers(0, 9)), max_size=8),
    st.sets(st.integers(0, 9), min_size=1, max_size=3),
)
def test_any_program_computes_what_it_did(steps, returned):
    def function(x):
        values = [x, x + 1]
        for name, first, second in steps:
            STEPS[name](values, first % len(values), second % len(values))
        return tuple(values[place % len(values)].clone() for place in sorted(returned))

    made(function, X)


def in_place_overloads():
    """Every overload ``op_`` of ATen."""
    for packet in dir(torch.ops.aten):
        if (
            packet.endswith("_")
            and not packet.startswith("__")
            and hasattr(getattr(torch.ops.aten, packet), "overloads")
        ):
            yield from (
                getattr(getattr(torch.ops.aten, packet), name) for name in getattr(torch.ops.aten, packet).overloads()
            )


def test_a_functional_overload_takes_what_the_write_takes():
    chosen = {target: _functional_overload(target) for target in in_place_overloads()}
    assert len(chosen) > 200 and sum(each is not None for each in chosen.values()) > 60
    for target, found in chosen.items():
        if found is not None:
            wanted, taken = target._schema.arguments, found._schema.arguments
            assert [(each.name, str(each.type)) for each in taken] == [(each.name, str(each.type)) for each in wanted]
            assert not found._schema.is_mutable


@pytest.mark.parametrize("exponent", [2, 3.0, "tensor"])
def test_a_power_in_place_is_exported(exponent):
    def function(x, y):
        z = x + 1
        z.pow_(y if exponent == "tensor" else exponent)
        return z

    made(function, X.abs() + 1, Y)
