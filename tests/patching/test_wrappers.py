"""What other libraries put around modules: LoRA, checkpointing, replaced forwards, hooks, parametrizations, fusions.

There before the plan is made, each is part of the model; put inside a patched module afterwards, it is refused.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import fusion, parametrizations, parametrize, prune

from spyre_dsl.patching.errors import PatchError
from spyre_dsl.patching.plan import plan
from tests.patching.rules import FOLDED, HEAD_PADDING, STACK, X, adapters, bert, layers, rules, text_inputs

FOLDED_PROJECTION = """
- name: projection
  match: {op: "linear($x, $w, $b)"}
  rewrite: {op: "matmul($x, transpose($w * 2.0, 0, 1)) * 0.5 + default($b, 0.0)"}
"""
"""Makes the projection itself the module that is patched."""

RELU = '- name: relu\n  match: {op: "relu($x)"}\n  rewrite: {op: "clamp_min($x, 0.0)"}'
"""Makes the layer the module that is patched, whatever becomes of its projection."""

Model = nn.Module


def output(model: Model, *args: Any, **kwargs: Any) -> torch.Tensor:
    found = model(*args, **kwargs)
    return found if isinstance(found, torch.Tensor) else found[0]


def gradients(model: Model, *args: Any, **kwargs: Any) -> dict[str, torch.Tensor | None]:
    model.zero_grad()
    output(model, *args, **kwargs).square().sum().backward()
    return {name: each.grad for name, each in model.named_parameters()}


def agree(model: Model, stock: Model, *args: Any, **kwargs: Any) -> None:
    """Values without gradients, and gradients, are the same."""
    with torch.no_grad():
        torch.testing.assert_close(output(model, *args, **kwargs), output(stock, *args, **kwargs), rtol=1e-4, atol=1e-5)
    found, wanted = gradients(model, *args, **kwargs), gradients(stock, *args, **kwargs)
    torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-4)


def patched_with(text: str, model: Model, inputs: Any = (X,)) -> Any:
    return plan(model, rules(text), inputs, stack=STACK).applied(model)


class LoRA(nn.Module):
    """A projection with low-rank updates by name, as PEFT makes it."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base_layer = base
        self.lora_A = nn.ModuleDict({"default": nn.Linear(base.in_features, 4, bias=False)})
        self.lora_B = nn.ModuleDict({"default": nn.Linear(4, base.out_features, bias=False)})
        self.scaling = {"default": 2.0}
        self.active_adapters = ["default"]
        self.disabled = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = self.base_layer(x)
        for name in [] if self.disabled else self.active_adapters:
            found = found + self.lora_B[name](self.lora_A[name](x)) * self.scaling[name]
        return found


def merge(lora: LoRA) -> None:
    with torch.no_grad():
        lora.base_layer.weight += lora.lora_B["default"].weight @ lora.lora_A["default"].weight * 2.0


LORA_CHANGES: dict[str, Callable[[LoRA], Any]] = {
    "disabled": lambda lora: setattr(lora, "disabled", True),
    "another scale": lambda lora: lora.scaling.update(default=0.5),
    "none active": lambda lora: lora.active_adapters.clear(),
    "merged": merge,
    "frozen below": lambda lora: lora.base_layer.requires_grad_(False),
}


@pytest.fixture(scope="module")
def tuned_and_plan() -> Any:
    model = bert(1).eval()
    torch.manual_seed(1)
    attention = model.encoder.layer[0].attention.self
    attention.query, attention.value = LoRA(attention.query), LoRA(attention.value)
    return model, plan(model, adapters(HEAD_PADDING), (), text_inputs(), stack=STACK)


def test_a_model_with_low_rank_updates_is_patched_and_trained(tuned_and_plan) -> None:
    model, made = copy.deepcopy(tuned_and_plan[0]), tuned_and_plan[1]
    stock = copy.deepcopy(model)
    with made.applied(model):
        agree(model, stock, **text_inputs())


@pytest.mark.parametrize("change", LORA_CHANGES.values(), ids=LORA_CHANGES)
def test_low_rank_updates_are_switched_scaled_and_merged_while_patched(change: Callable[[LoRA], Any]) -> None:
    model = layers(1)
    model[0].dense = LoRA(model[0].dense)
    stock = copy.deepcopy(model)
    with patched_with(FOLDED_PROJECTION, model):
        agree(model, stock, X)
        change(model[0].dense)
        change(stock[0].dense)
        agree(model, stock, X)


@pytest.mark.parametrize("text", [FOLDED, FOLDED_PROJECTION], ids=["inside", "in its place"])
def test_a_low_rank_update_that_comes_after_is_refused_inside_and_runs_around_what_is_patched(text: str) -> None:
    model, stock = layers(1), layers(1)
    with patched_with(text, model):
        model[0].dense = LoRA(model[0].dense)
        stock[0].dense = copy.deepcopy(model[0].dense)
        stock[0].dense.base_layer = layers(1)[0].dense
        if text == FOLDED:
            with pytest.raises(PatchError, match="`dense` has another class inside the patched module `0`"):
                model(X)
        else:
            agree(model, stock, X)


@pytest.mark.parametrize("reentrant", [False, True], ids=["non-reentrant", "reentrant"])
def test_checkpointed_layers_have_the_gradients_of_the_stock_model(head_padding, reentrant: bool) -> None:
    model, stock = bert(), bert()
    with head_padding.applied(model):
        for each in (model, stock):
            each.gradient_checkpointing_enable({"use_reentrant": reentrant})
            each.train()
            each.apply(lambda module: setattr(module, "p", 0.0) if isinstance(module, nn.Dropout) else None)
        agree(model, stock, **text_inputs())


def hooked_forward(module: Model, *args: Any, **kwargs: Any) -> Any:
    return module._hf_hook(module._old_forward(*args, **kwargs))


def add_hook(module: Model, after: Callable[[Any], Any]) -> None:
    """What accelerate does to a module."""
    module._hf_hook, module._old_forward = after, module.forward
    forward = functools.partial(hooked_forward, module)
    module.forward = functools.update_wrapper(forward, module._old_forward)


def double(value: torch.Tensor) -> torch.Tensor:
    return value * 2


def double_arguments(_: Model, args: Any, kwargs: Any) -> Any:
    return tuple(each * 2 for each in args), {name: each * 2 for name, each in kwargs.items()}


class Caller(nn.Module):
    """Calls what it holds by keyword."""

    def __init__(self) -> None:
        super().__init__()
        self.body = layers(1)[0]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x=x)


WRAPPINGS: dict[str, Callable[[Model], Any]] = {
    "a replaced forward": lambda module: add_hook(module, double),
    "a pre-hook with keywords": lambda m: m.register_forward_pre_hook(double_arguments, with_kwargs=True),
    "a hook": lambda module: module.register_forward_hook(lambda _module, _args, found: found * 2),
}
PLACES: dict[str, Callable[[Any], Model]] = {
    "around it": lambda model: model,
    "on it": lambda model: model.body,
    "inside it": lambda model: model.body.dense,
}
REFUSED = {("inside it", "a pre-hook with keywords"), ("inside it", "a hook")}
"""Hooks on modules that a patch does not call, whenever they were put there."""


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("when", ["before", "after"])
def test_what_wraps_a_module_is_kept_or_refused(when: str, place: str, wrapping: str) -> None:
    model, stock = Caller().eval(), Caller().eval()
    refused = (place, wrapping) in REFUSED or (when, place) == ("after", "inside it")
    WRAPPINGS[wrapping](PLACES[place](stock))
    if when == "before":
        WRAPPINGS[wrapping](PLACES[place](model))

    def run() -> None:
        made = plan(model, rules(RELU), (), {"x": X}, stack=STACK)
        assert [owner.path for owner in made.owners] == ["body"]
        with made.applied(model):
            if when == "after":
                WRAPPINGS[wrapping](PLACES[place](model))
            agree(model, stock, x=X)

    if refused:
        with pytest.raises(PatchError, match="`dense`.*inside the patched module `body`"):
            run()
    else:
        run()


class Doubled(nn.Module):
    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        return weight * 2


REPARAMETRIZATIONS: dict[str, Callable[[nn.Linear], Any]] = {
    "parametrized": lambda dense: parametrize.register_parametrization(dense, "weight", Doubled()),
    "weight norm": parametrizations.weight_norm,
    "orthogonal": parametrizations.orthogonal,
    "spectral norm": parametrizations.spectral_norm,
    "weight norm by a hook": nn.utils.weight_norm,
    "spectral norm by a hook": nn.utils.spectral_norm,
    "pruned": lambda dense: prune.l1_unstructured(dense, "weight", 0.5),
}


@pytest.mark.filterwarnings("ignore:.*weight_norm")
@pytest.mark.parametrize("kind", REPARAMETRIZATIONS)
@pytest.mark.parametrize("text", [FOLDED, FOLDED_PROJECTION], ids=["inside", "on what is patched"])
def test_weights_that_are_computed_are_trained_as_in_the_stock_model(text: str, kind: str) -> None:
    model, stock = layers(), layers()
    for each in (model, stock):
        torch.manual_seed(2)
        REPARAMETRIZATIONS[kind](each[0].dense)
    if text == FOLDED and kind in ("weight norm by a hook", "spectral norm by a hook", "pruned"):
        with pytest.raises(PatchError, match="`dense` inside the patched module `0` has a forward or backward hook"):
            plan(model, rules(text), (X,), stack=STACK)
        return
    optimizers = [torch.optim.SGD(each.parameters(), lr=0.1) for each in (model, stock)]
    with patched_with(text, model):
        for _ in range(2):
            agree(model, stock, X)
            for optimizer in optimizers:
                optimizer.step()
        agree(model, stock, X)
        agree(model.train(), stock.train(), X)


class Normed(nn.Module):
    """A projection and a norm, which can be fused in evaluation."""

    def __init__(self) -> None:
        super().__init__()
        self.dense, self.norm = nn.Linear(8, 8), nn.BatchNorm1d(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.norm(self.dense(x)))


def fuse(layer: Normed) -> None:
    layer.dense, layer.norm = fusion.fuse_linear_bn_eval(layer.dense, layer.norm), nn.Identity()  # type: ignore[assignment]


def test_a_fused_norm_is_patched_and_a_norm_that_is_fused_afterwards_is_refused() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(Normed()).eval()
    model[0].norm.running_mean.normal_()
    stock = copy.deepcopy(model)
    with patched_with(RELU, model):
        fuse(model[0])
        with pytest.raises(PatchError, match="`norm` has another class inside the patched module `0`"):
            model(X)
    with patched_with(FOLDED, model) as handle, torch.no_grad():
        torch.testing.assert_close(model(X), stock(X))
        assert list(handle.owners()) == ["0"]
