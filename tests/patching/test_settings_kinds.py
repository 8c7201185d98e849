"""A change in any settings that a forward reads is noticed: the patched model computes what the stock one does."""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from spyre_dsl.patching.plan import plan
from tests.patching.rules import STACK, rules

SQUARES = rules("""
- name: square-as-product
  match: {op: "pow($x, 2)"}
  rewrite: {op: "$x * $x"}
""")


@dataclasses.dataclass
class Config:
    a: float = 1.0
    inner: Any = None


@dataclasses.dataclass(slots=True)
class Slotted:
    a: float = 1.0


class Numbers(list):  # type: ignore[type-arg]
    pass


class Names(dict):  # type: ignore[type-arg]
    pass


@dataclasses.dataclass(frozen=True)
class Case:
    """Settings, how a forward reads them, and a change that the forward sees."""

    make: Callable[[], Any]
    read: Callable[[Any], float]
    change: Callable[[Any], None]


def attribute(holder: Any, value: float = 3.0) -> None:
    holder.a = value


def item(key: Any, value: Any = 3.0) -> Callable[[Any], None]:
    return lambda holder: holder.__setitem__(key, value)


CASES = {
    "a list of dataclasses": Case(lambda: [Config()], lambda s: s[0].a, lambda s: attribute(s[0])),
    "a tuple of dataclasses": Case(lambda: (Config(),), lambda s: s[0].a, lambda s: attribute(s[0])),
    "a dict of dataclasses": Case(lambda: {"k": Config()}, lambda s: s["k"].a, lambda s: attribute(s["k"])),
    "a name that was not there": Case(
        lambda: [Config()], lambda s: getattr(s[0], "b", 1.0), lambda s: setattr(s[0], "b", 3.0)
    ),
    "a list in a dataclass": Case(
        lambda: Config(inner=[Config()]), lambda s: s.inner[0].a, lambda s: attribute(s.inner[0])
    ),
    "slots": Case(Slotted, lambda s: s.a, attribute),
    "slots in a list": Case(lambda: [Slotted()], lambda s: s[0].a, lambda s: attribute(s[0])),
    "OrderedDict": Case(lambda: collections.OrderedDict(a=1.0), lambda s: s["a"], item("a")),
    "defaultdict": Case(lambda: collections.defaultdict(float, a=1.0), lambda s: s["a"], item("a")),
    "Counter": Case(lambda: collections.Counter(a=1), lambda s: s["a"], item("a", 3)),
    "a dict's subclass": Case(lambda: Names(a=1.0), lambda s: s["a"], item("a")),
    "a list's subclass": Case(lambda: Numbers([1.0]), lambda s: s[0], item(0)),
    "deque": Case(lambda: collections.deque([1.0]), lambda s: s[0], item(0)),
    "bytearray": Case(lambda: bytearray(b"\1"), lambda s: s[0], item(0, 3)),
    "a partial's keywords": Case(
        lambda: functools.partial(float.__mul__, 1.0),
        lambda s: s(2.0),
        lambda s: s.__setstate__((s.func, (3.0,), {}, {})),
    ),
}


class Model(torch.nn.Module):
    def __init__(self, case: Case) -> None:
        super().__init__()
        self.settings, self.read = case.make(), case.read

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x**2 * self.read(self.settings)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_change_is_noticed(case: Case, compiled: bool) -> None:
    torch._dynamo.reset()
    x, model, stock = torch.randn(3, 4), Model(case).eval(), Model(case).eval()
    plan(model, SQUARES, (x,), {}, stack=STACK).apply(model)
    run = torch.compile(model, backend="eager") if compiled else model
    with torch.no_grad():
        before = stock(x)
        torch.testing.assert_close(run(x), before)
        case.change(model.settings)
        case.change(stock.settings)
        assert not torch.equal(stock(x), before)
        torch.testing.assert_close(run(x), stock(x))


def test_the_sign_of_zero_is_part_of_a_number() -> None:
    class Signed(torch.nn.Module):
        zero = 0.0

        def __init__(self) -> None:
            super().__init__()
            self.zero = 0.0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x**2 * 0 + 1 / torch.tensor(self.zero)

    model, x = Signed().eval(), torch.randn(3)
    plan(model, SQUARES, (x,), {}, stack=STACK).apply(model)
    assert model(x)[0] == torch.inf
    model.zero = -0.0
    assert model(x)[0] == -torch.inf


def test_an_attribute_in_front_of_a_method_is_noticed() -> None:
    class Methods(torch.nn.Module):
        def scale(self) -> float:
            return 1.0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x**2 * self.scale()

    model, x = Methods().eval(), torch.randn(3)
    plan(model, SQUARES, (x,), {}, stack=STACK).apply(model)
    torch.testing.assert_close(model(x), x**2)
    model.scale = lambda: 3.0  # type: ignore[method-assign]
    torch.testing.assert_close(model(x), x**2 * 3)
