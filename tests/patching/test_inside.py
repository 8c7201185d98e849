"""What is put into a patched module afterwards is refused, since its graph would ignore it."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from spyre_dsl.patching.errors import PatchError
from spyre_dsl.patching.plan import plan
from tests.patching.rules import FOLDED, STACK, Layer, X, layers, rules

pytestmark = pytest.mark.usefixtures("fresh_compiler")
REVERT = "inside the patched module `0`.*Revert the patch first"


class Around(nn.Module):
    """An adapter around a projection, as LoRA has."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base, self.weight, self.bias = base, base.weight, base.bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) * 2


class Twice(nn.Module):
    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        return weight * 2


def wrap(layer: Layer) -> None:
    layer.dense = Around(layer.dense)  # type: ignore[assignment]


def give_a_forward(layer: Layer) -> None:
    layer.dense.forward = lambda x: x  # type: ignore[method-assign]


def parametrized(layer: Layer) -> None:
    parametrize.register_parametrization(layer.dense, "weight", Twice())


def add(layer: Layer) -> None:
    layer.dense.more = nn.Linear(8, 8)


def widen(layer: Layer) -> None:
    layer.dense.weight = nn.Parameter(torch.randn(1, 8))


def without_bias(layer: Layer) -> None:
    layer.dense.bias = None


CHANGES = {
    wrap: "`dense` .*another class",
    give_a_forward: "`dense` .*another forward",
    parametrized: "`dense` .*another class",
    add: "`dense` .*other modules",
    widen: "`dense` .*other parameters",
    without_bias: "`dense` .*other parameters",
}


@pytest.fixture
def patched(folded_layers):
    model = layers()
    with folded_layers.applied(model):
        model(X)
        yield model


@pytest.mark.parametrize(("change", "told"), CHANGES.items(), ids=[change.__name__ for change in CHANGES])
def test_a_change_inside_is_refused_by_the_next_call(patched, change: Callable[[Layer], None], told: str) -> None:
    change(patched[0])
    with pytest.raises(PatchError, match=f"{told} {REVERT}"):
        patched(X)


def test_after_reverting_the_changed_model_runs(folded_layers) -> None:
    model, stock = layers(), layers()
    handle = folded_layers.apply(model)
    wrap(model[0])
    handle.revert()
    wrap(stock[0])
    assert torch.equal(model(X), stock(X))


def test_what_is_compiled_or_exported_is_looked_at_too(patched) -> None:
    wrap(patched[0])
    with pytest.raises(torch._dynamo.exc.InternalTorchDynamoError, match=REVERT):
        torch.compile(patched, backend="eager")(X)
    with pytest.raises(PatchError, match=REVERT):
        torch.export.export(patched, (X,), strict=False)


def test_a_module_of_the_same_make_up_takes_the_place_of_another(patched) -> None:
    patched[0].dense = nn.Linear(8, 8)
    stock = layers()
    stock.load_state_dict(patched.state_dict())
    torch.testing.assert_close(patched(X), stock(X))
    torch.testing.assert_close(patched(X), stock(X))


def test_parameters_of_the_same_shape_take_the_place_of_others(patched) -> None:
    patched[0].dense.weight = nn.Parameter(torch.ones(8, 8))
    stock = layers()
    stock.load_state_dict(patched.state_dict())
    torch.testing.assert_close(patched(X), stock(X))


def test_a_copy_is_looked_at_by_itself(patched) -> None:
    other = copy.deepcopy(patched)
    wrap(patched[0])
    torch.testing.assert_close(other(X), layers()(X))
    wrap(other[0])
    with pytest.raises(PatchError, match=REVERT):
        other(X)


HOOKS = ["register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook"]


@pytest.mark.parametrize("register", HOOKS)
def test_a_hook_on_an_inner_module_is_refused_as_long_as_it_is_there(patched, register: str) -> None:
    hook = getattr(patched[0].dense, register)(lambda *_: None)
    with pytest.raises(PatchError, match="`dense` inside the patched module `0` has a .*hook, which would not run"):
        patched(X)
    hook.remove()
    patched(X)


@pytest.mark.parametrize("register", HOOKS)
def test_a_hook_that_is_there_before_is_told_when_the_plan_is_made_or_applied(folded_layers, register: str) -> None:
    model = layers()
    getattr(model[0].dense, register)(lambda *_: None)
    for attempt in (lambda: plan(model, rules(FOLDED), (X,), stack=STACK), lambda: folded_layers.apply(model)):
        with pytest.raises(PatchError, match="`dense` inside .* `0` has a .*hook, which would not run"):
            attempt()
    assert "forward" not in vars(model[0])


def test_a_backward_hook_matters_to_calls_with_gradients_only(patched) -> None:
    patched[0].dense.register_full_backward_hook(lambda *_: None)
    with torch.no_grad():
        patched(X)


def test_a_model_that_is_patched_as_a_whole_is_called_the_model() -> None:
    model = Layer().eval()
    with plan(model, rules(FOLDED), (X,), stack=STACK).applied(model):
        hook = model.dense.register_forward_hook(lambda *_: None)
        with pytest.raises(PatchError, match="`dense` inside the patched model has .* Hook the model instead"):
            model(X)
        hook.remove()
        wrap(model)
        with pytest.raises(PatchError, match="another class inside the patched model .* computes the model as a whole"):
            model(X)
