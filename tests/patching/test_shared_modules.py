"""A module that has two names in its model: its ops keep their places, and what it reads is noticed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from spyre_dsl.graphs.provenance import module_path_of
from spyre_dsl.patching.plan import plan
from tests.patching.rules import STACK, bert, rules, text_inputs

THE_MASK = '- name: mask\n  match: {op: "to($x, bool)"}\n  rewrite: {op: "ne($x, 0)"}'
ACROSS = """
- name: across
  match: {op: "tanh($x ** 2)"}
  rewrite: {op: "tanh($x * $x)"}
"""


class Leaf(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.act, self.scale = torch.nn.Softshrink(), 1.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.act(torch.erfinv(x)) * self.scale


class TwoNames(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = Leaf()
        self.b = self.a

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.a(self.b(self.a(x))) ** 2)


class InAList(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = Leaf()
        self.b = torch.nn.Sequential(self.a, Leaf())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.b(self.a(x)) ** 2)


class Inside(torch.nn.Module):
    """The owner is not the root."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.inner = Leaf(), TwoNames()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(self.first(x))


def places(model: torch.nn.Module, inputs: tuple[torch.Tensor, ...] = (), **named: torch.Tensor) -> set[str]:
    program = torch.export.export(model, inputs, named, strict=False)
    return {module_path_of(node) for node in program.graph.nodes if node.op == "call_function"}


@pytest.mark.parametrize("build", [TwoNames, InAList, Inside])
def test_ops_stay_where_they_are_in_the_stock_model(build: Callable[[], torch.nn.Module]) -> None:
    model, x = build().eval(), torch.rand(3, 8)
    stock = places(model, (x,))
    with plan(model, rules(ACROSS), (x,), {}, stack=STACK).applied(model):
        assert places(model, (x,)) == stock


def test_layers_that_are_one_module_keep_their_places() -> None:
    model, inputs = bert(2), text_inputs()
    model.encoder.layer[1] = model.encoder.layer[0]
    with torch.no_grad():
        stock = places(model, **inputs)
        with plan(model, rules(THE_MASK), (), inputs, stack=STACK).applied(model):
            assert places(model, **inputs) <= stock


@pytest.mark.parametrize("build", [TwoNames, InAList])
def test_what_a_shared_module_reads_is_noticed(build: Callable[[], torch.nn.Module]) -> None:
    model, stock, x = build().eval(), build().eval(), torch.rand(3, 8)
    plan(model, rules(ACROSS), (x,), {}, stack=STACK).apply(model)
    torch.testing.assert_close(model(x), stock(x), equal_nan=True)
    model.a.scale = stock.a.scale = 0.5
    torch.testing.assert_close(model(x), stock(x), equal_nan=True)
