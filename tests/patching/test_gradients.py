"""A forward that asks whether gradients are enabled, or switches them off, is patched as it is written."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from spyre_dsl.patching.errors import UnseenSignature
from spyre_dsl.patching.plan import plan
from tests.patching.rules import FOLDED, STACK, X, qwen3, rules, text_inputs

pytestmark = pytest.mark.usefixtures("fresh_compiler")

Form = Callable[[torch.Tensor], torch.Tensor]


def asks(y: torch.Tensor) -> torch.Tensor:
    return y * 2 if torch.is_grad_enabled() else y * 3


def switches_off(y: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        z = y * 2
    return z * y


@torch.no_grad()
def is_decorated(y: torch.Tensor) -> torch.Tensor:
    return y * 2


def switches_by_a_flag(y: torch.Tensor) -> torch.Tensor:
    with torch.set_grad_enabled(False):
        z = y * 2
    return z * y


def calls_the_switch(y: torch.Tensor) -> torch.Tensor:
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    z = y * 2
    torch.set_grad_enabled(before)
    return z * y


def asks_where_they_are_off(y: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        z = asks(y)
    return z * y


def switches_on_again(y: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        z = y * 2
        if z.shape[1] > 1:
            w = z * 3
    return w + asks(y) * y


def detaches(y: torch.Tensor) -> torch.Tensor:
    return y.detach() * y


FORMS: list[Form] = [
    asks,
    switches_off,
    is_decorated,
    switches_by_a_flag,
    calls_the_switch,
    asks_where_they_are_off,
    switches_on_again,
    detaches,
]


class Forward(nn.Module):
    """A layer with a form of dealing with gradients."""

    def __init__(self, form: Form) -> None:
        super().__init__()
        self.dense, self.form = nn.Linear(8, 8), form

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.dense(x)) + self.form(self.dense(x)) + x


def models(form: Form) -> tuple[nn.Module, nn.Module]:
    torch.manual_seed(0)
    model = nn.Sequential(Forward(form), Forward(form)).eval()
    return model, copy.deepcopy(model)


def gradients(model: nn.Module, call: Any = None) -> dict[str, torch.Tensor | None]:
    model.zero_grad()
    (call or model)(X).square().sum().backward()
    return {name: each.grad for name, each in model.named_parameters()}


def agree(model: nn.Module, stock: nn.Module, call: Any = None) -> None:
    """In every mode."""
    call = call or model
    for mode in (torch.no_grad, torch.enable_grad, torch.inference_mode):
        with mode():
            torch.testing.assert_close(call(X), stock(X))
    torch.testing.assert_close(gradients(model, call), gradients(stock), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("planned", [torch.no_grad, torch.enable_grad, torch.inference_mode])
@pytest.mark.parametrize("form", FORMS, ids=[form.__name__ for form in FORMS])
def test_values_and_gradients_are_those_of_the_stock_model(form: Form, planned: Any) -> None:
    model, stock = models(form)
    with planned():
        made = plan(model, rules(FOLDED), (X,), stack=STACK)
    assert [owner.path for owner in made.owners] == ["0", "1"]
    with made.applied(model):
        agree(model, stock)


@pytest.mark.parametrize("form", [asks, switches_off], ids=["asks", "switches_off"])
def test_what_is_compiled_follows_the_mode(form: Form) -> None:
    model, stock = models(form)
    with plan(model, rules(FOLDED), (X,), stack=STACK).applied(model):
        model(X)
        call = torch.compile(model, backend="aot_eager", fullgraph=True)
        with torch.no_grad():
            torch.testing.assert_close(call(X), stock(X))
        torch.testing.assert_close(gradients(model, call), gradients(stock), rtol=1e-4, atol=1e-5)


def test_an_export_in_the_other_mode_is_refused_in_words_until_a_call_was_seen() -> None:
    model, stock = models(asks)
    with plan(model, rules(FOLDED), (X,), stack=STACK).applied(model):
        with pytest.raises(UnseenSignature, match="as things are now: gradients were disabled, and are enabled\n"):
            torch.export.export(model, (X,))
        model(X)
        torch.testing.assert_close(torch.export.export(model, (X,)).module()(X), stock(X))


def graphs(model: nn.Module) -> int:
    owners = [vars(module)["_spyre_owner"] for module in model.modules() if "_spyre_owner" in vars(module)]
    return sum(len(table.all()) for table in {owner.table for owner in owners})


@pytest.mark.parametrize("form", [switches_off, detaches], ids=["switches_off", "detaches"])
def test_a_forward_that_does_not_ask_has_one_graph_for_both_modes(form: Form) -> None:
    model, stock = models(form)
    with plan(model, rules(FOLDED), (X,), stack=STACK).applied(model):
        agree(model, stock)
        assert graphs(model) == 1


def test_a_model_of_transformers_does_not_ask() -> None:
    """Nor does the machinery of torch on its behalf: calls with gradients find the graphs of those without."""
    model = qwen3(1)
    model.config.use_cache = False
    whole = rules('- name: mask\n  match: {op: "to($x, bool)"}\n  rewrite: {op: "ne($x, 0)"}')
    with plan(model, whole, (), text_inputs(), stack=STACK).applied(model):
        with torch.no_grad():
            model(**text_inputs())
        before = graphs(model)
        model(**text_inputs())
        assert graphs(model) == before


def test_gradient_mode_and_its_functions_are_left_as_they_were() -> None:
    before = torch.is_grad_enabled, torch._C._set_grad_enabled
    plan(models(switches_off)[0], rules(FOLDED), (X,), stack=STACK)
    assert (torch.is_grad_enabled, torch._C._set_grad_enabled) == before
    assert torch.is_grad_enabled()
