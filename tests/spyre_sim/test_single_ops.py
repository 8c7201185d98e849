"""`torch.compile(fn, backend="spyre_sim")` on single ops: the status that each date gives them (section 5)."""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

import spyre_sim
from tests.spyre_sim.single_ops import MASK, STACKS, TABLE, Single, X, Y


def statuses(single: Single) -> str:
    """One letter for each stack, all from one trace of dynamo. Every refusal has its op, place, fact and words."""
    torch._dynamo.reset()
    found: list[str] = []

    def backend(gm: Any, example_inputs: Any) -> Any:
        found.extend(_status(single, gm, example_inputs, stack) for stack in STACKS)
        return gm.forward

    with torch.no_grad():
        torch.compile(single.function, backend=backend, dynamic=False)(*single.args)
    return "".join(found)


def _status(single: Single, gm: Any, example_inputs: Any, stack: str) -> str:
    try:
        compiled = spyre_sim.compile(gm, example_inputs, stack=stack)
        got = compiled(*single.args)
    except spyre_sim.errors.DeviceError as error:
        _complete(error, single)
        return "C" if isinstance(error, spyre_sim.CompileError) else "R"
    if not _right(single, got):
        return "W"
    return "H" if compiled.report.host_fallbacks else "."


def _right(single: Single, got: Any) -> bool:
    exact = pytree.tree_leaves(single.function(*pytree.tree_map(_double, single.args)))
    return all(map(_close, pytree.tree_leaves(got), exact))


def through_the_door(single: Single) -> str:
    """The same for the default stack, as a user comes in: C, R, W, or `.` for right."""
    torch._dynamo.reset()
    try:
        with torch.no_grad():
            got = torch.compile(single.function, backend="spyre_sim", dynamic=False)(*single.args)
    except spyre_sim.errors.DeviceError as error:
        _complete(error, single)
        return "C" if isinstance(error, spyre_sim.CompileError) else "R"
    return "." if _right(single, got) else "W"


def _complete(error: Any, single: Single) -> None:
    assert error.op and error.fact and error.text and error.kind == "unsupported", error
    if getattr(single.function, "__module__", "") == "tests.spyre_sim.single_ops":  # torch's own functions have no line
        assert error.source_line.startswith("single_ops.py:"), error.source_line
    assert error.text in str(error) and error.fact in str(error) and error.op in str(error)


def _double(item: Any) -> Any:
    return item.double() if isinstance(item, torch.Tensor) and item.is_floating_point() else item


def _close(got: torch.Tensor, exact: torch.Tensor) -> bool:
    return torch.allclose(got.double(), exact.double(), rtol=0.01, atol=0.02)


@pytest.mark.parametrize("single", TABLE, ids=lambda single: single.name)
def test_status_by_date(single: Single) -> None:
    assert dict(zip(STACKS, statuses(single), strict=True)) == dict(zip(STACKS, single.status, strict=True))


@pytest.mark.parametrize("single", TABLE, ids=lambda single: single.name)
def test_through_the_door(single: Single) -> None:
    june = single.status[STACKS.index("2026-06")]
    assert through_the_door(single) == june.replace("H", ".")


def test_there_are_at_least_sixty_and_each_cites_its_facts() -> None:
    assert len({single.name for single in TABLE}) >= 60
    assert all(single.facts for single in TABLE)


class TestTheDoor:
    @pytest.fixture(autouse=True)
    def fresh(self) -> None:
        torch._dynamo.reset()

    def test_by_its_name(self) -> None:
        compiled = torch.compile(lambda x, y: x + y, backend="spyre_sim", dynamic=False)
        assert torch.allclose(compiled(X, Y), X + Y, atol=0.01)

    def test_the_stack_is_an_option_or_from_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        named = torch.compile(lambda x: x**3, backend="spyre_sim", dynamic=False, options={"stack": "2026-09"})
        assert torch.allclose(named(X), X**3, atol=0.05)
        monkeypatch.setitem(os.environ, "SPYRE_SIM_STACK", "2025-11")
        with pytest.raises(spyre_sim.CompileError):
            torch.compile(lambda x: x.triu(), backend="spyre_sim", dynamic=False)(X)

    def test_an_argument_is_written_in_place(self) -> None:
        def accumulate(total: torch.Tensor, x: torch.Tensor) -> None:
            total.add_(x)

        total = torch.zeros(8, 128).half()
        compiled = torch.compile(accumulate, backend="spyre_sim", dynamic=False)
        compiled(total, X)
        compiled(total, X)
        assert torch.allclose(total, 2 * X, atol=0.02)

    def test_a_buffer_of_a_module_is_written(self) -> None:
        class Cache(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("rows", torch.zeros(4, 64).half())

            def forward(self, row: torch.Tensor) -> torch.Tensor:
                self.rows[1:2] = row
                return self.rows * 2

        cache = Cache()
        with torch.no_grad():
            out = torch.compile(cache, backend="spyre_sim", dynamic=False)(torch.ones(1, 64).half())
        assert cache.rows[:, 0].tolist() == [0, 1, 0, 0]
        assert out[:, 0].tolist() == [0, 2, 0, 0]

    def test_a_view_is_an_argument_like_any_other(self) -> None:
        compiled = torch.compile(lambda x: x * 2, backend="spyre_sim", dynamic=False)
        assert torch.allclose(compiled(X[:, :64]), X[:, :64] * 2, atol=0.01)

    def test_0_d_tensors_and_numbers_come_and_go(self) -> None:
        compiled = torch.compile(lambda t: (t * 2, 3), backend="spyre_sim", dynamic=False)
        doubled, number = compiled(torch.tensor(0.25).half())
        assert (float(doubled), number, doubled.shape) == (0.5, 3, torch.Size([]))

    def test_a_boolean_comes_back_as_one(self) -> None:
        compiled = torch.compile(lambda x, y: x > y, backend="spyre_sim", dynamic=False)
        assert compiled(X, Y).dtype is torch.bool
        assert torch.equal(torch.compile(torch.logical_not, backend="spyre_sim", dynamic=False)(MASK), ~MASK)
