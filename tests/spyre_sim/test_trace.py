"""Traces: every value by name, module and bundle, the same numbers as a call; and what a run costs."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import spyre_sim


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(128, 128)
        self.inner = nn.Sequential(nn.Linear(128, 64), nn.GELU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(self.first(x)).softmax(-1)


@pytest.fixture(scope="module")
def block():
    torch.manual_seed(0)
    return Block().half()


@pytest.fixture(scope="module")
def x():
    return torch.randn(2, 64, 128, generator=torch.Generator().manual_seed(1)).half()


@pytest.fixture(scope="module")
def compiled(block, x):
    return spyre_sim.compile(block, (x,))


@pytest.fixture(scope="module")
def trace(compiled, x):
    return compiled.trace(x)


def test_the_result_is_that_of_a_call(compiled, trace, x):
    assert torch.equal(trace.result, compiled(x))


def test_every_kernel_is_a_step(compiled, trace):
    kernels = [step for step in trace.steps if step.kernel not in ("h2d", "d2h", "view", "host")]
    assert len(kernels) == compiled.report.kernels


def test_a_node_has_the_value_of_its_last_step(trace):
    assert torch.equal(trace.values["softmax"], trace.values["softmax.realdiv"])
    assert torch.equal(trace.values["softmax"].half(), trace.result)


def test_steps_inside_a_node_have_their_kernel_in_the_name(trace):
    exponentials, total = trace.values["softmax.exp"], trace.values["softmax.sum"]
    assert exponentials.amax() == 1
    assert total.shape == (2, 64, 1)


def test_by_module(trace):
    assert {step.site.node for step in trace.of_module("first")} == {"linear"}
    assert {step.site.module_path for step in trace.of_module("inner")} == {"inner.0", "inner.1"}
    assert trace.of_module("") == trace.steps
    assert not trace.of_module("fir")


def test_by_bundle(compiled, trace):
    for bundle in compiled.report.bundles:
        steps = [step.kernel for step in trace.of_bundle(bundle.index) if step.kernel != "view"]
        assert tuple(steps) == bundle.kernels


def test_values_are_copies(compiled, x):
    inner = compiled.trace(x)
    before = inner.values["softmax.exp"].clone()
    inner.values["softmax.realdiv"].zero_()
    compiled(x)
    assert torch.equal(inner.values["softmax.exp"], before)


def test_a_kernel_that_a_node_runs_twice_is_numbered():
    x = torch.randn(1, 2, 64, 64).half()
    attend = spyre_sim.compile(lambda q: nn.functional.scaled_dot_product_attention(q, q, q), (x,))
    names = [step.name for step in attend.trace(x).steps if step.kernel == "batchmatmul"]
    assert names == ["scaled_dot_product_attention.batchmatmul", "scaled_dot_product_attention.batchmatmul#2"]


def test_the_cost_has_a_kernel_for_each_of_the_report(compiled):
    cost = compiled.cost()
    assert len(cost.kernels) == compiled.report.kernels
    assert len(cost.bundles()) == len(compiled.report.bundles)
    assert [copy.to_device for copy in cost.copies] == [True, False]
    assert cost.total_us > cost.device_us > 0


def test_where_two_stacks_part_is_found_by_name():
    def cube_of_sum(x):
        return ((x + 1) ** 3).exp()

    x = torch.randn(4, 64, generator=torch.Generator().manual_seed(0)).half() - 1
    june, september = (spyre_sim.compile(cube_of_sum, (x,), stack=name).trace(x) for name in ("2026-06", "2026-09"))
    shared = [name for name in june.values if name in september.values]
    first = next(name for name in shared if not june.values[name].allclose(september.values[name], rtol=0.01))
    assert first == "pow_1"
