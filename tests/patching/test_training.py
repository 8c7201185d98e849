"""Gradients reach the parameters that folded values are made of, and whatever trains them is seen."""

from __future__ import annotations

import copy
import gc

import pytest
import torch

from tests.patching.rules import X, layers

pytestmark = pytest.mark.usefixtures("fresh_compiler")


@pytest.fixture
def patched(folded_layers):
    model = layers()
    with folded_layers.applied(model) as handle:
        with torch.no_grad():
            model(X)
        yield model, handle


def unpatched(model: torch.nn.Module) -> torch.nn.Module:
    """A stock model with the weights of ``model``."""
    stock = layers().train(model.training)
    stock.load_state_dict(model.state_dict())
    return stock


def gradients(model: torch.nn.Module, call: object = None) -> dict[str, torch.Tensor | None]:
    model.zero_grad()
    (call or model)(X).square().sum().backward()  # type: ignore[operator]
    return {name: each.grad for name, each in model.named_parameters()}


def without_gradients(call: torch.nn.Module) -> torch.Tensor:
    with torch.no_grad():
        return call(X)


def agrees(call: torch.nn.Module, model: torch.nn.Module) -> None:
    torch.testing.assert_close(without_gradients(call), without_gradients(unpatched(model)))


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
def test_gradients_are_those_of_the_stock_model(patched, training: bool, compiled: bool) -> None:
    model, _ = patched
    model.train(training)
    call = torch.compile(model, backend="aot_eager", fullgraph=True) if compiled else model
    torch.testing.assert_close(gradients(model, call), gradients(unpatched(model)))


def test_a_frozen_model_has_kept_values_in_spite_of_gradients(patched, monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = patched
    model.requires_grad_(False)
    monkeypatch.setattr("spyre_dsl.patching.fold.Fold.compute", lambda *_: pytest.fail("computed again"))
    agreed = model(X.clone().requires_grad_())
    assert agreed.requires_grad


@pytest.mark.parametrize("kind", [{}, {"foreach": True}, {"fused": True}], ids=["loop", "foreach", "fused"])
@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
def test_a_step_of_an_optimizer_is_seen(patched, training: bool, kind: dict[str, bool]) -> None:
    model, _ = patched
    model.train(training)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1, **kind)
    for _ in range(2):
        gradients(model)
        optimizer.step()
        agrees(model, model)


@pytest.mark.parametrize("copied", [False, True], ids=["model", "copy"])
def test_a_step_is_seen_when_evaluation_lies_between_it_and_its_gradients(patched, copied: bool) -> None:
    model = copy.deepcopy(patched[0]) if copied else patched[0]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1, fused=True)
    loss = model(X).sum()
    agrees(model, model)
    loss.backward()
    agrees(model, model)
    optimizer.step()
    optimizer.zero_grad()
    agrees(model, model)


def test_a_kernel_that_trains_without_an_optimizer_is_seen_after_a_call_with_gradients(patched) -> None:
    model, _ = patched
    gradients(model)
    weight = model[0].dense.weight
    weight.data.sub_(weight.grad)
    agrees(model, model)


def test_a_compiled_model_that_was_trained_computes_with_its_new_weights(patched) -> None:
    model, handle = patched
    call = torch.compile(model, backend="aot_eager", fullgraph=True)
    agrees(call, model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1, fused=True)
    for _ in range(2):
        gradients(model, call)
        optimizer.step()
        agrees(call, model)
    handle.refresh()
    agrees(call, model)


def test_a_compiled_model_sees_weights_that_changed_in_place_after_a_refresh(patched) -> None:
    model, handle = patched
    call = torch.compile(model, backend="eager", fullgraph=True)
    agrees(call, model)
    with torch.no_grad():
        model[0].dense.weight.mul_(2)
    handle.refresh()
    agrees(call, model)


def test_an_export_after_a_change_has_the_new_weights(patched) -> None:
    model, _ = patched
    with torch.no_grad():
        model[0].dense.weight.mul_(2)
        program = torch.export.export(model, (X,), strict=False)
        torch.testing.assert_close(program.module()(X), unpatched(model)(X))


def test_weights_given_anew_again_and_again_are_seen(patched) -> None:
    """Memory is used again: the address of the third weight may be that of the first."""
    model, _ = patched
    dense = model[0].dense
    for _ in range(20):
        for _ in range(2):
            dense.weight.data = torch.randn(8, 8)
        agrees(model, model)
        for _ in range(2):
            dense.weight = torch.nn.Parameter(torch.randn(8, 8))
        agrees(model, model)


def test_functional_calls_are_differentiated_through(patched) -> None:
    model, _ = patched
    stock, parameters = unpatched(model), {name: each.detach() for name, each in model.named_parameters()}

    def loss(subject: torch.nn.Module) -> dict[str, torch.Tensor]:
        return torch.func.grad(lambda given: torch.func.functional_call(subject, given, (X,)).sum())(parameters)

    torch.testing.assert_close(loss(model), loss(stock))
    agrees(model, model)


def test_a_copy_is_trained_by_itself(patched) -> None:
    model, _ = patched
    other = copy.deepcopy(model)
    optimizer = torch.optim.SGD(other.parameters(), lr=0.1, fused=True)
    gradients(other)
    optimizer.step()
    agrees(other, other)
    agrees(model, model)


def exported(model: torch.nn.Module) -> torch.export.ExportedProgram:
    with torch.no_grad():
        return torch.export.export(model, (X,), strict=False)


def op_names(model: torch.nn.Module) -> list[str]:
    return [str(node.target) for node in exported(model).graph.nodes if node.op == "call_function"]


def test_a_copy_has_its_folded_values_at_once(patched) -> None:
    """It is exported (and compiled for the device) as the original is, without the rewrites of parameters."""
    model, _ = patched
    assert op_names(copy.deepcopy(model)) == op_names(model)


@pytest.mark.parametrize("changed", ["before the copy is made", "in the copy", "in the copy by casting it"])
def test_a_copy_whose_parameters_changed_is_exported_with_what_they_are_now(patched, changed: str) -> None:
    model, _ = patched
    other = copy.deepcopy(model)
    with torch.no_grad():
        if changed == "before the copy is made":
            for each in model.parameters():
                each.mul_(2)
            other = copy.deepcopy(model)
        elif changed == "in the copy":
            for each in other.parameters():
                each.mul_(2)
        else:
            other = other.double().float()
        torch.testing.assert_close(exported(other).module()(X), unpatched(other)(X))


def test_a_reverted_model_is_no_longer_watched(folded_layers) -> None:
    from spyre_dsl.patching.owner_state import STATES

    gc.collect()
    before = len(STATES)
    model = layers()
    folded_layers.apply(model).revert()
    del model
    gc.collect()
    assert len(STATES) == before
