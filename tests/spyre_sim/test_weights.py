"""Weights are loaded when a module is compiled, and again by the first call that finds them changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import spyre_sim
from spyre_sim import compiling

X = torch.zeros(4, 64, dtype=torch.float16)


def full(value: float) -> torch.Tensor:
    return torch.full((4, 64), value, dtype=torch.float16)


class Inner(nn.Module):
    """A parameter, a buffer, integers that the compiler works with, and a tensor that torch knows nothing of."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(full(1))
        self.register_buffer("table", full(1))
        self.register_buffer("index", torch.zeros(4, dtype=torch.int64))
        self.plain = full(1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        total = x + self.weight + self.table + self.plain + (self.index + 1).to(x.dtype)[:, None]
        return total, self.weight, self.table, self.index.view(2, 2)


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return self.inner(x)


class Running(nn.Module):
    """Adds one to a buffer, and to an integer of its own, with every call."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", full(1))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen.add_(1)
        self.calls.add_(1)
        return x + self.seen + self.calls


def replaced(inner: Inner) -> None:
    inner.weight = nn.Parameter(full(5))
    inner.table, inner.plain = full(6), full(7)


CHANGES: dict[str, Callable[[Inner], Any]] = {
    "a weight written on": lambda inner: inner.weight.fill_(5),
    "a buffer written on": lambda inner: inner.table.fill_(5),
    "integers written on": lambda inner: inner.index.fill_(5),
    "a tensor beside them written on": lambda inner: inner.plain.fill_(5),
    "all replaced": replaced,
    "the memory replaced": lambda inner: setattr(inner.weight, "data", full(5)),
    "a state loaded": lambda inner: inner.load_state_dict(
        {"weight": full(5), "table": full(6), "index": torch.tensor([1, 2, 3, 4])}
    ),
    "an optimizer's step": lambda inner: optimized(inner.weight),
}


def optimized(weight: nn.Parameter) -> None:
    weight.grad = torch.ones_like(weight)
    torch.optim.SGD([weight], lr=0.5).step()


@pytest.mark.parametrize("stack", ["2026-06", "2026-09", "ideal"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_call_finds_the_weights_of_now(change: str, stack: str) -> None:
    model = Outer()
    compiled = spyre_sim.compile(model, (X,), stack=stack)
    with torch.no_grad():
        before = compiled(X)[0].clone()
        CHANGES[change](model.inner)
        got, wanted = compiled(X), model(X)
    assert not torch.equal(got[0], before)
    assert all(torch.equal(a.double(), b.double()) for a, b in zip(got, wanted, strict=True))
    assert torch.equal(compiled.trace(X).result[0], got[0]) if stack != "ideal" else True


def test_weights_that_stay_are_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Outer()
    compiled = spyre_sim.compile(model, (X,))
    loads: list[Any] = []
    executor = compiling.Executor
    monkeypatch.setattr(compiling, "Executor", lambda *args, **kwargs: loads.append(args) or executor(*args, **kwargs))
    for _ in range(3):
        compiled(X)
    assert not loads
    model.inner.table.fill_(2)
    for _ in range(3):
        compiled(X)
    assert len(loads) == 1


def test_a_buffer_that_is_written_does_not_load_the_weights_again(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = spyre_sim.compile(Running(), (X,))
    monkeypatch.setattr(compiling, "Executor", None)
    assert [float(compiled(X)[0, 0]) for _ in range(3)] == [3, 5, 7]


@pytest.mark.parametrize("stack", ["2026-06", "ideal"])
@pytest.mark.parametrize("change", ["written on", "replaced"])
def test_a_buffer_that_is_written_is_read_at_each_call(change: str, stack: str) -> None:
    model = Running()
    compiled = spyre_sim.compile(model, (X,), stack=stack)
    assert float(compiled(X)[0, 0]) == 2 + 1
    if change == "replaced":
        model.seen = full(10)
    else:
        model.seen.fill_(10)
    model.calls.fill_(20)
    assert float(compiled(X)[0, 0]) == 11 + 21
    assert float(model.seen[0, 0]) == 11 and int(model.calls) == 21


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda inner: inner.float(),
            r"compiled for inner.\w+ as \[4, 64\] of float16, and it is \[4, 64\] of float32",
        ),
        (
            lambda inner: setattr(inner, "table", full(1)[:1]),
            r"inner.table as \[4, 64\] of float16, and it is \[1, 64\]",
        ),
        (lambda inner: delattr(inner, "table"), "compiled with inner.table, which the module no longer has"),
    ],
)
def test_weights_of_another_kind_ask_for_a_compile(change: Callable[[Inner], Any], words: str) -> None:
    model = Outer()
    compiled = spyre_sim.compile(model, (X,))
    change(model.inner)
    with pytest.raises(ValueError, match=f"{words}.*compile it again"):
        compiled(X)


def test_weights_made_in_inference_mode_are_weights() -> None:
    with torch.inference_mode():
        model = Outer()
        compiled = spyre_sim.compile(model, (X,))
        assert float(compiled(X)[0][0, 0]) == 4
