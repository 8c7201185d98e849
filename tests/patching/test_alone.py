"""Several threads on one patched model: who traces holds up who runs, and neither disturbs the other."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch

from spyre_dsl.patching import alone
from spyre_dsl.patching.plan import plan
from tests.patching.rules import STACK, rules

PATIENCE = 60.0
"""Seconds after which a thread that should have come is given up; nothing waits that long where all is well."""

SQUARE = rules("""
- name: square
  match: {op: "pow($x, 2)"}
  rewrite: {op: "$x * $x"}
""")


class Meeting(torch.nn.Module):
    """Squares; while it is traced in the thread ``tracer``, it waits for ``other`` to come."""

    tracer: int | None = None

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if torch.compiler.is_exporting() and threading.get_ident() == Meeting.tracer:
            Meeting.traced.set()
            assert Meeting.other.wait(PATIENCE), "nobody came"
        return self.inner(x).pow(2)

    traced = threading.Event()
    other = threading.Event()


class Announced:
    """The lock of ``alone``, saying so when a thread other than the tracer comes to it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def __enter__(self) -> None:
        if threading.get_ident() != Meeting.tracer:
            Meeting.other.set()
        self.lock.acquire()

    def __exit__(self, *_: Any) -> None:
        self.lock.release()


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> torch.nn.Module:
    monkeypatch.setattr(alone, "TRACING", Announced())
    monkeypatch.setattr(Meeting, "traced", threading.Event())
    monkeypatch.setattr(Meeting, "other", threading.Event())
    monkeypatch.setattr(Meeting, "tracer", None)
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 4), Meeting()).eval()


def traced_beside(model: torch.nn.Module, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What a new signature gives in one thread, and ``x`` in another that comes while the first is traced."""

    def new_signature() -> torch.Tensor:
        Meeting.tracer = threading.get_ident()
        with torch.no_grad():
            return model(torch.ones(2, 3, 4))  # type: ignore[no-any-return]

    def meanwhile() -> torch.Tensor:
        assert Meeting.traced.wait(PATIENCE), "nothing was traced"
        with torch.no_grad():
            return model(x)  # type: ignore[no-any-return]

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(new_signature), pool.submit(meanwhile)
        return first.result(PATIENCE), second.result(PATIENCE)


@pytest.mark.parametrize("shape", [(2, 4), (2, 3, 4), (1, 4)], ids=["known", "the same new one", "another new one"])
def test_a_thread_that_runs_waits_for_the_one_that_traces(model: torch.nn.Module, shape: tuple[int, ...]) -> None:
    x = torch.full(shape, 2.0)
    with torch.no_grad():
        wanted = model(torch.ones(2, 3, 4)), model(x)
    with plan(model, SQUARE, (torch.ones(2, 4),), stack=STACK).applied(model) as handle:
        found = traced_beside(model, x)
        table = handle.code("1")
    for mine, stock in zip(found, wanted):
        torch.testing.assert_close(mine, stock)
    assert "pow" not in table and table.count("def forward") == {2: 2 + (shape == (1, 4)), 3: 2}[len(shape)]


def test_what_was_put_in_the_way_is_gone_afterwards(model: torch.nn.Module) -> None:
    tracer = alone._ModuleStackTracer.call_module
    with alone.alone():
        assert alone._ModuleStackTracer.call_module is not tracer
        with alone.alone():
            pass
    assert alone._ModuleStackTracer.call_module is tracer
