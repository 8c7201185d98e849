"""A patched model compiles into as many graphs as the stock model, with as few breaks, and computes the same."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch
from torch import nn
from torch._dynamo.utils import counters

from spyre_dsl.patching.plan import plan
from tests.patching.rules import FOLDED, STACK, Layer, X, bert, layers, rules, text_inputs

pytestmark = pytest.mark.usefixtures("fresh_compiler")


def graphs_of(run: Callable[[], Any]) -> tuple[Any, int, int]:
    """What ``run`` gives; how many graphs were compiled meanwhile, and how many breaks there were."""
    torch.compiler.reset()
    counters.clear()
    with torch.no_grad():
        result = run()
    return result, counters["stats"]["unique_graphs"], sum(counters["graph_break"].values())


def results(model: nn.Module, batches: Iterable[Any], **options: Any) -> list[torch.Tensor]:
    call = torch.compile(model, **options)
    return [call(**batch)[0] for batch in batches]


BATCHES = [text_inputs(2, 8), text_inputs(2, 8, seed=3), text_inputs(3, 11), text_inputs(4, 20)]


@pytest.mark.parametrize("dynamic", [None, True], ids=["automatic", "dynamic"])
def test_batches_of_other_sizes_compile_as_often_as_those_of_the_stock_model(head_padding, dynamic) -> None:
    model = bert()
    options = {"backend": "eager", "fullgraph": True, "dynamic": dynamic}
    wanted, graphs, _ = graphs_of(lambda: results(model, BATCHES, **options))
    with head_padding.applied(model):
        found, patched_graphs, breaks = graphs_of(lambda: results(model, BATCHES, **options))
    assert (patched_graphs, breaks) == (graphs, 0)
    torch.testing.assert_close(found, wanted)


@pytest.mark.skipif(not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="inductor needs a C++ compiler")
def test_inductor_computes_what_the_stock_model_computes(folded_layers) -> None:
    model = layers()
    with torch.no_grad():
        wanted = model(X)
        with folded_layers.applied(model):
            torch.testing.assert_close(torch.compile(model, fullgraph=True)(X), wanted)


def test_a_call_that_is_only_made_when_compiled_can_be_learnt_by_compiling_once(head_padding) -> None:
    """transformers leaves out a mask that masks nothing, unless somebody traces: that call is seen there only."""
    model, batch = bert(), text_inputs(2, 1, padded=False)
    with head_padding.applied(model), torch.no_grad():
        wanted = model(**batch)[0]
        with pytest.raises(torch._dynamo.exc.Unsupported, match="compile it once without fullgraph"):
            results(model, [batch], backend="eager", fullgraph=True)
        results(model, [batch], backend="eager")
        found, graphs, breaks = graphs_of(lambda: results(model, [batch], backend="eager", fullgraph=True))
    assert (graphs, breaks) == (1, 0)
    torch.testing.assert_close(found[0], wanted)


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.norm = Layer(), nn.LayerNorm(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.body(x)) + x


@pytest.mark.parametrize("make", [Layer, Residual], ids=["the owners", "what holds them"])
def test_layers_that_are_compiled_one_by_one_share_what_was_compiled(make: type[nn.Module]) -> None:
    """torch gives up after eight recompilations of one forward, so a graph for each of ten layers is too many."""
    model = nn.Sequential(*(make() for _ in range(10))).eval()
    with torch.no_grad():
        wanted = model(X)

    def run() -> Any:
        for layer in model:
            layer.compile(backend="eager", fullgraph=True)
        return model(X)

    with plan(model, rules(FOLDED), (X,), stack=STACK).applied(model):
        found, graphs, _ = graphs_of(run)
    assert graphs == 1
    torch.testing.assert_close(found, wanted)


def test_a_layer_that_was_changed_does_not_run_what_was_compiled_for_another(folded_layers) -> None:
    model = layers(3)
    folded = plan(model, rules(FOLDED), (X,), stack=STACK)
    with folded.applied(model), torch.no_grad():
        for layer in model:
            layer.compile(backend="eager", fullgraph=True)
        model[2].dense.register_forward_hook(lambda *_: None)
        model[1](model[0](X))
        with pytest.raises(torch._dynamo.exc.InternalTorchDynamoError, match="`dense` inside the patched module `2`"):
            model[2](X)


def test_a_copy_is_compiled_by_itself(folded_layers) -> None:
    model = layers()
    with folded_layers.applied(model), torch.no_grad():
        wanted = torch.compile(model, backend="eager", fullgraph=True)(X)
        other = copy.deepcopy(model)
        call = torch.compile(other, backend="eager", fullgraph=True)
        torch.testing.assert_close(call(X), wanted)
        other[0].dense.register_forward_hook(lambda *_: None)
        torch.compiler.reset()
        with pytest.raises(torch._dynamo.exc.InternalTorchDynamoError, match="`dense` inside the patched module `0`"):
            call(X)


@pytest.mark.parametrize("change", ["half", "double", "train"])
def test_a_compiled_model_follows_changes_of_dtype_and_mode(folded_layers, change: str) -> None:
    model, stock, dtype = layers(), layers(), {"half": torch.half, "double": torch.double}.get(change, torch.float)
    with folded_layers.applied(model), torch.no_grad():
        call = torch.compile(model, backend="eager")
        call(X)
        getattr(model, change)()
        getattr(stock, change)()
        close = {"atol": 1e-3, "rtol": 1e-3} if change == "half" else {}
        torch.testing.assert_close(call(X.to(dtype)), stock(X.to(dtype)), **close)
