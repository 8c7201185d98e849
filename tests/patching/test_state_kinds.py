"""A graph serves a module while its tensors are of the kinds that the forward found: there or not, dtype and shape."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch

from spyre_dsl.patching.plan import plan
from tests.patching.rules import SQUARES, STACK, adapters, qwen3, text_inputs

X = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))


class Held(torch.nn.Module):
    def __init__(self, function: Callable[[Any, torch.Tensor], Any], m: torch.Tensor | None) -> None:
        super().__init__()
        self.function = function
        self.register_buffer("m", m)

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(self, x)


def _shape(self, x):
    return x**2 * self.m.shape[0]


def _dtype(self, x):
    return x**2 * (self.m if self.m.dtype == torch.float32 else self.m.float() * 5)


def _given(self, x):
    return x**2 if self.m is None else x**2 * self.m


def _late(self, x):
    return x**2 * self.late if hasattr(self, "late") else x**2


def _late_by_default(self, x):
    late = getattr(self, "late", None)
    return x**2 if late is None else x**2 * late


def set_to(value: Any) -> Callable[[torch.nn.Module], None]:
    return lambda model: setattr(model, "m", value)


CHANGES = {
    "given later": (_given, None, set_to(torch.tensor(3.0))),
    "taken away": (_given, torch.ones(4), set_to(None)),
    "another shape": (_shape, torch.ones(4), set_to(torch.ones(8))),
    "another rank": (_given, torch.full((4,), 2.0), set_to(torch.full((3, 4), 3.0))),
    "another dtype": (_dtype, torch.ones(4), set_to(torch.ones(4, dtype=torch.float64))),
    "double": (_given, torch.ones(4), lambda model: model.double()),
    "registered later": (_late, None, lambda model: model.register_buffer("late", torch.tensor(3.0))),
    "registered later, with a default": (
        _late_by_default,
        None,
        lambda model: model.register_buffer("late", torch.tensor(3.0)),
    ),
}


@pytest.mark.parametrize("function, held, change", CHANGES.values(), ids=CHANGES)
@torch.no_grad()
def test_tensors_of_another_kind_make_another_graph(function, held, change):
    model = Held(function, held).eval()
    stock = copy.deepcopy(model)
    plan(model, adapters(SQUARES), (X,), stack=STACK).apply(model)
    torch.testing.assert_close(model(X), stock(X))
    for each in (model, stock):
        change(each)
    torch.testing.assert_close(model(X), stock(X))
    assert len(model._spyre_owner.table.all()) == 2


@torch.no_grad()
def test_new_values_of_the_same_kind_need_no_other_graph():
    model = Held(_given, torch.ones(4)).eval()
    plan(model, adapters(SQUARES), (X,), stack=STACK).apply(model)
    model.m = torch.full((4,), 2.0)
    torch.testing.assert_close(model(X), X**2 * 2)
    assert len(model._spyre_owner.table.all()) == 1


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
@torch.no_grad()
def test_a_model_of_another_dtype_computes_what_it_would(dtype):
    model = qwen3(layers=1)
    stock = copy.deepcopy(model)
    plan(model, adapters(SQUARES), (), text_inputs(), stack=STACK).apply(model)
    for each in (model, stock):
        each.to(dtype)
    torch.testing.assert_close(model(**text_inputs()).logits, stock(**text_inputs()).logits)
