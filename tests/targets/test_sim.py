"""The simulated target: float16, kernels counted, refusals as data."""

from __future__ import annotations

import torch

import spyre_sim
from spyre_dsl.patching.plan import plan
from spyre_dsl.targets.sim import SimTarget
from tests.patching.rules import HEAD_PADDING, adapters, bert, text_inputs

STACK = spyre_sim.load_stack("2026-06")


class Cube(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.full((64,), 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.pow(x * self.scale, 3)


class Sum(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"sum": x + y, "product": x * y}


class HalfStick(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.view(4, 16, 2, 32).transpose(1, 2) @ y.view(4, 16, 2, 32).permute(0, 2, 3, 1)


def test_the_outputs_come_in_the_models_own_structure() -> None:
    target = SimTarget()
    x, y = torch.randn(4, 64), torch.randn(4, 64)
    outcome = target.run(target.prepare(Sum()), {"x": x, "y": y}, STACK)
    assert set(outcome.outputs) == {"sum", "product"}
    assert torch.allclose(outcome.outputs["sum"].float(), x + y, atol=1e-2)
    assert outcome.kernels is not None and outcome.kernels >= 2
    assert (outcome.refusals, outcome.defects) == ((), ())


def test_positional_inputs_do_as_well() -> None:
    target = SimTarget()
    x = torch.ones(4, 64)
    assert target.run(target.prepare(Sum()), (x, x), STACK).outputs["sum"].float().eq(2).all()


def test_the_model_is_copied_in_half_precision() -> None:
    model = Cube()
    assert SimTarget().prepare(model).scale.dtype == torch.float16
    assert model.scale.dtype == torch.float32


def test_what_the_stack_refuses_comes_back_with_its_place_and_text() -> None:
    target = SimTarget()
    x = torch.randn(4, 16, 64)
    outcome = target.run(target.prepare(HalfStick()), (x, x), STACK)
    assert outcome.outputs is None and outcome.kernels is None
    refused = outcome.refusals[0]
    assert (refused.fact, refused.kind) == ("E10", "unsupported")
    assert "stick expression" in refused.text and "test_sim.py" in refused.source_line


def test_silent_defects_are_named() -> None:
    target = SimTarget()
    outcome = target.run(target.prepare(Cube()), (torch.randn(4, 64),), STACK)
    assert outcome.outputs is not None
    assert outcome.defects == ("S51",)


def test_on_a_later_stack_the_defect_is_gone() -> None:
    target = SimTarget()
    x = torch.randn(4, 64)
    outcome = target.run(target.prepare(Cube()), (x,), spyre_sim.load_stack("ideal"))
    assert outcome.defects == ()
    assert torch.allclose(outcome.outputs.float(), (x * 0.5) ** 3, atol=1e-2)


def test_what_is_refused_inside_a_patched_module_has_the_place_of_the_stock_model() -> None:
    target, inputs = SimTarget(), text_inputs()
    model = target.prepare(bert())

    def refused_places() -> set[tuple[str, str]]:
        return {(each.module_path, each.source_line) for each in target.run(model, inputs, STACK).refusals}

    stock = refused_places()
    with plan(model, adapters(HEAD_PADDING), (), inputs, stack=STACK).applied(model):
        patched = refused_places()
    attention = {(path, line) for path, line in patched if path.startswith("encoder.layer.1")}
    assert attention and patched <= stock
