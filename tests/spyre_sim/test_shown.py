"""What the simulator hands out is shown in a line, whatever the size of the model."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import spyre_sim
from spyre_sim.report import Bundle, Report

X = torch.ones(4, 64, dtype=torch.float16)


@pytest.fixture(scope="module")
def model() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 256), nn.GELU()).half()


def test_a_compiled_model_says_how_large_it_is(model: nn.Module) -> None:
    compiled = spyre_sim.compile(model, (X,), stack="2026-06")
    assert repr(compiled) == f"<CompiledModel: {compiled.report.kernels} kernels in 1 bundle on 2026-06>"
    assert repr(spyre_sim.compile(model, (X,), stack="ideal")) == "<IdealModel: 2 ops in float64>"


@pytest.mark.parametrize("stack", ["2026-06", "ideal"])
def test_an_op_that_is_observed_is_one_short_line_without_weights(model: nn.Module, stack: str) -> None:
    shown = []
    spyre_sim.compile(model, (X,), stack=stack).observe(lambda op, value: shown.extend([repr(op), repr(op.output)]), X)
    assert shown
    assert all(len(text) < 160 and "\n" not in text and "tensor(" not in text for text in shown)
    assert any("aten.linear" in text and "[4, 256]" in text for text in shown)


@pytest.mark.parametrize(
    ("kernels", "bundles", "words"), [(1, 1, "1 kernel in 1 bundle on s"), (2, 0, "2 kernels in 0 bundles on s")]
)
def test_one_is_no_plural(kernels: int, bundles: int, words: str) -> None:
    launched = tuple(Bundle(index, ("add",), 1) for index in range(bundles))
    assert str(Report("s", kernels, launched, (), 0, (), 0)) == words
