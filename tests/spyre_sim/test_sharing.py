"""Who shares memory with whom: constants with nobody, and what is written in place with no other argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import spyre_sim
from spyre_sim.sharing import require_apart

X = torch.ones(4, 64, dtype=torch.float16)
SHARED = "for two arguments of a model that writes in place: give a copy for one"
Doors = Callable[..., Any]


def compiled(function: Callable[..., Any], *args: torch.Tensor) -> Any:
    return spyre_sim.compile(function, args)


def exact(function: Callable[..., Any], *args: torch.Tensor) -> Any:
    return spyre_sim.compile(function, args, stack="ideal")


def dynamo(function: Callable[..., Any], *args: torch.Tensor) -> Any:
    torch._dynamo.reset()
    return torch.compile(function, backend="spyre_sim", dynamic=False)


def constants(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    made = torch.arange(8)
    return x + 1, made, made.view(2, 4), torch.ones(4, 64, dtype=x.dtype), torch.tensor([1, 2]), torch.tensor([1.0])


def doubled(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x.mul_(2)
    return x + y


@pytest.mark.parametrize("door", [compiled, exact, dynamo])
def test_constants_are_fresh_at_each_call(door: Doors) -> None:
    made = door(constants, X)
    for _ in range(3):
        results = made(X)
        for got, wanted in zip(results, constants(X), strict=True):
            assert torch.equal(got.double(), wanted.double())
        for got in results:
            got.add_(5)


@pytest.mark.parametrize("door", [compiled, exact])
def test_the_modules_own_tensors_are_returned_by_reference(door: Doors) -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("order", torch.arange(8))

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return x + 1, self.order, self.order.view(2, 4)

    model = Model()
    for item in door(model, X)(X)[1:]:
        item.add_(1)
    assert model.order.tolist() == list(range(2, 10))


WHOLE = torch.ones(65, 64, dtype=torch.float16)


@pytest.mark.parametrize("door", [compiled, exact, dynamo])
@pytest.mark.parametrize(
    "arguments",
    [lambda w: (w[:64], w[1:]), lambda w: (w[1:], w[:64]), lambda w: (w[:64], w[0].expand(64, 64))],
    ids=["first", "last", "one row of it"],
)
def test_what_is_written_may_not_overlap(door: Doors, arguments: Callable[..., Any]) -> None:
    made = door(doubled, WHOLE[:64].clone(), WHOLE[:64].clone())
    assert float(made(WHOLE[:64].clone(), WHOLE[1:].clone())[0, 0]) == 3
    whole = WHOLE.clone()
    with pytest.raises((ValueError, torch._dynamo.exc.BackendCompilerFailed), match=SHARED):
        made(*arguments(whole))
    assert torch.equal(whole, WHOLE)


@pytest.mark.parametrize("door", [compiled, exact])
def test_nor_be_given_twice(door: Doors) -> None:
    made, same = door(doubled, X.clone(), X.clone()), X.clone()
    with pytest.raises(ValueError, match=SHARED):
        made(same, same)
    if door is compiled:
        with pytest.raises(ValueError, match=SHARED):
            made.trace(same, same)


def test_dynamo_compiles_one_argument_for_a_tensor_given_twice() -> None:
    made, same = dynamo(doubled), X.clone()
    assert float(made(X.clone(), X.clone())[0, 0]) == 3
    assert float(made(same, same)[0, 0]) == 4


@pytest.mark.parametrize("call", [spyre_sim.compile, spyre_sim.check])
@pytest.mark.parametrize("arguments", [lambda w: (w[:64], w[:64]), lambda w: (w[:64], w[1:])])
def test_it_is_said_when_compiling_too(call: Callable[..., Any], arguments: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=SHARED):
        call(doubled, arguments(WHOLE))


class Sum(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("held", X.clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.held.add_(x)
        return self.held + x


def test_a_buffer_that_is_written_is_no_argument() -> None:
    model = Sum()
    made = compiled(model, X)
    with pytest.raises(ValueError, match=f"{SHARED}.*held"):
        made(model.held)


@pytest.mark.parametrize("door", [compiled, exact, dynamo])
def test_what_is_only_read_may_overlap(door: Doors) -> None:
    whole, function = WHOLE.clone(), lambda x, y: x + y
    made = door(function, whole[:64], whole[1:])
    assert float(made(whole[:64], whole[1:])[0, 0]) == float(made(whole[1:], whole[1:])[0, 0]) == 2


@pytest.mark.parametrize("door", [compiled, exact])
def test_parts_of_one_tensor_that_do_not_overlap_may_be_written(door: Doors) -> None:
    pair = torch.ones(4, 2, 64, dtype=torch.float16)
    made = door(doubled, X.clone(), X.clone())
    assert (made(pair[:, 0], pair[:, 1]) == 3).all()
    assert (pair[:, 0] == 2).all() and (pair[:, 1] == 1).all()


@pytest.mark.parametrize("door", [compiled, exact, dynamo])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int32, torch.int64])
def test_what_was_read_before_a_write_is_the_old_value(door: Doors, dtype: torch.dtype) -> None:
    def swapped(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        old = a.clone()
        a.copy_(b)
        b.copy_(old)
        return old, a + b

    a, b = (torch.full((4, 64), value, dtype=dtype) for value in (1, 2))
    old, total = door(swapped, a.clone(), b.clone())(a, b)
    assert [float(item[0, 0]) for item in (a, b, old, total)] == [2, 1, 1, 3]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 3)] * 2, *[st.integers(1, 3)] * 2), min_size=2, max_size=2), st.booleans())
def test_overlaps_are_those_of_the_elements(cuts: list[tuple[int, int, int, int]], turned: bool) -> None:
    whole = torch.arange(36).reshape(6, 6)
    parts = [whole[row : row + 3 : down, column : column + 3 : right] for row, column, down, right in cuts]
    expected = bool({int(i) for i in parts[0].flatten()} & {int(i) for i in parts[1].flatten()})
    given = {"a": parts[0], "b": parts[1].t() if turned else parts[1]}
    if expected:
        with pytest.raises(ValueError, match="a and b|b and a"):
            require_apart(given, {}, ["b"])
    else:
        require_apart(given, {}, ["b"])
    require_apart(given, {}, [])
