"""Choosing a target, and what each does with a model."""

from __future__ import annotations

import importlib.util

import pytest
import torch

from spyre_dsl.targets.call import as_call, cast_inputs
from spyre_dsl.targets.choose import TARGETS, choose
from spyre_dsl.targets.cpu import CpuTarget
from spyre_dsl.targets.protocol import TargetError

without_hardware = pytest.mark.skipif(importlib.util.find_spec("torch_spyre") is not None, reason="torch_spyre is here")


def test_an_unknown_target_names_the_known_ones() -> None:
    with pytest.raises(TargetError, match="no target `gpu`; there are sim, cpu, spyre"):
        choose("gpu")


@pytest.mark.parametrize("name", [name for name in TARGETS if name != "spyre"])
def test_targets_are_chosen_by_name(name: str) -> None:
    assert choose(name).name == name


@without_hardware
def test_the_real_device_says_what_it_needs() -> None:
    with pytest.raises(TargetError, match="needs torch_spyre and a Spyre card[^$]*--target sim"):
        choose("spyre")


def test_inputs_may_be_keywords_positions_or_one_tensor() -> None:
    x = torch.ones(1)
    assert as_call({"x": x}) == ((), {"x": x})
    assert as_call((x, None)) == ((x, None), {})
    assert as_call(x) == ((x,), {})


def test_only_floating_point_inputs_are_cast() -> None:
    inputs = {"x": torch.ones(1), "ids": torch.ones(1, dtype=torch.int64), "flag": False}
    args, kwargs = cast_inputs(inputs, torch.float16)
    assert args == ()
    assert (kwargs["x"].dtype, kwargs["ids"].dtype, kwargs["flag"]) == (torch.float16, torch.int64, False)


def test_the_cpu_runs_the_model_as_it_is() -> None:
    model = torch.nn.Linear(3, 2)
    x = torch.randn(4, 3)
    outcome = CpuTarget().run(model, {"input": x}, stack=None)
    assert torch.equal(outcome.outputs, model(x))
    assert (outcome.kernels, outcome.refusals, outcome.host_fallbacks) == (None, (), ())
    assert not outcome.outputs.requires_grad


def test_the_cpus_copy_shares_weights_but_not_forwards() -> None:
    model = torch.nn.Linear(3, 2)
    copy = CpuTarget().prepare(model)
    copy.forward = lambda input: input
    assert copy.weight is model.weight
    assert model(torch.ones(1, 3)).shape == (1, 2)
