"""`torch.compile(fn, backend="spyre_sim")` on single ops: what happens is what the facts say, for every dated stack."""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

import spyre_sim
from spyre_sim import door
from spyre_sim.stacks import load_stack
from tests.spyre_sim.single_ops import CASES, MASK, REFUSED, STACKS, TABLE, Single, X, Y

pytestmark = pytest.mark.filterwarnings("ignore::spyre_sim.SilentDefectWarning")  # defects are the subject

KINDS = {"N": "native", "C": "custom", "D": "decomposed", "F": "fallback"}


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What `torch.compile` compiled, as the door's compiler handed it over."""
    kept: list[Any] = []

    def compile(*args: Any, **options: Any) -> Any:
        kept.append(spyre_sim.compile(*args, **options))
        return kept[-1]

    monkeypatch.setattr(door, "compile", compile)
    return kept


def happened(single: Single, stack: str, reports: list[Any]) -> tuple[str, str]:
    """One letter (X, R, W, or `.` for right, F for right with the host's help) and the words of a refusal."""
    torch._dynamo.reset()
    reports.clear()
    compiled = torch.compile(single.function, backend="spyre_sim", dynamic=False, options={"stack": stack})
    try:
        with torch.no_grad():
            got = compiled(*single.args)
    except spyre_sim.errors.DeviceError as error:
        _complete(error, single)
        return ("X" if isinstance(error, spyre_sim.CompileError) else "R"), str(error)
    if not _right(single, got):
        return "W", ""
    return ("F" if any(compiled.report.host_fallbacks for compiled in reports) else "."), ""


def _right(single: Single, got: Any) -> bool:
    exact = pytree.tree_leaves(single.function(*pytree.tree_map(_double, single.args)))
    return all(map(_close, pytree.tree_leaves(got), exact))


def _complete(error: Any, single: Single) -> None:
    assert error.op and error.fact and error.text and error.kind == "unsupported", error
    if getattr(single.function, "__module__", "") == "tests.spyre_sim.single_ops":  # torch's own functions have no line
        assert error.source_line.startswith("single_ops.py:"), error.source_line
    assert error.text in str(error) and error.fact in str(error) and error.op in str(error)


def _double(item: Any) -> Any:
    return item.double() if isinstance(item, torch.Tensor) and item.is_floating_point() else item


def _close(got: torch.Tensor, exact: torch.Tensor) -> bool:
    return torch.allclose(got.double(), exact.double(), rtol=0.01, atol=0.02)


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("single", TABLE, ids=lambda single: single.name)
def test_what_happens_is_what_the_facts_say(single: Single, stack: str, reports: list[Any]) -> None:
    position = STACKS.index(stack)
    expected = single.status[position]
    if expected == "-":
        pytest.skip("no fact decides")
    letter, words = happened(single, stack, reports)
    wanted = {"H": "F", "N": ".", "C": ".", "D": ".", "E": letter if letter in "XR" else "X"}.get(expected, expected)
    assert (letter, words) == (wanted, words)
    if expected in REFUSED:
        assert single.text(position) in words


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("single", [single for single in TABLE if single.op], ids=lambda single: single.name)
def test_the_profile_calls_it_the_same(single: Single, stack: str) -> None:
    letter = single.status[STACKS.index(stack)]
    if letter in KINDS:
        assert load_stack(stack).status(single.op).kind == KINDS[letter]


@pytest.mark.parametrize("single", [row for row in TABLE if row.name != "sdpa dropout"], ids=lambda single: single.name)
def test_the_ideal_stack_is_right_about_all_of_it(single: Single) -> None:
    compiled = spyre_sim.compile(single.function, single.args, stack="ideal")
    assert _right(single, compiled(*single.args))


def test_there_are_at_least_sixty_and_each_cites_its_facts() -> None:
    assert len({single.op for single in TABLE}) >= 60
    assert all(single.facts and len(single.status) == len(STACKS) for single in TABLE)
    assert {single.name for single in TABLE} == set(CASES)


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
        with pytest.raises(spyre_sim.CompileError, match="dummy op"):
            torch.compile(lambda x: x.mean(-1), backend="spyre_sim", dynamic=False)(X)

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
