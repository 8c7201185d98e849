"""The plan of a compiled program: a row an op, with what the compiler decided for it."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import spyre_sim
from spyre_sim.cost.plan import PlannedOp, ProgramPlan


def half(*shape: int) -> torch.Tensor:
    return torch.ones(shape, dtype=torch.float16)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.norm = nn.Linear(128, 256), nn.LayerNorm(256)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q = x.view(*x.shape[:2], 2, -1).transpose(1, 2)
        mixed = F.scaled_dot_product_attention(q, q, q).transpose(1, 2).reshape(x.shape)
        return self.norm(F.gelu(self.up(x + mixed))).softmax(-1).sum(1)


STACKS = [name for name in spyre_sim.stack_names() if name != "ideal"]


def plan_of(function, *args: torch.Tensor, stack: str | spyre_sim.Stack = "2026-06") -> ProgramPlan:
    return spyre_sim.compile(function, args, stack=stack).plan()


def only(plan: ProgramPlan, kernel: str) -> PlannedOp:
    (found,) = [op for op in plan.ops if op.kernel == kernel]
    return found


@pytest.mark.parametrize("stack", STACKS)
def test_every_kernel_of_the_report_has_a_row_in_its_bundle(stack: str) -> None:
    compiled = spyre_sim.compile(Block().half(), (half(2, 64, 128),), stack=stack)
    plan = compiled.plan()
    assert (plan.stack, plan.bundles) == (stack, len(compiled.report.bundles))
    for bundle in compiled.report.bundles:
        assert tuple(op.kernel for op in plan.of_bundle(bundle.index)) == bundle.kernels


@pytest.mark.parametrize("stack", STACKS)
def test_cores_are_within_the_device_and_are_what_the_division_multiplies_to(stack: str) -> None:
    for op in plan_of(Block().half(), half(2, 64, 128), stack=stack).ops:
        if op.bundle >= 0:
            assert 1 <= op.cores == math.prod(op.division.values()) <= 32
            assert not op.overflowing and 0 < op.span_bytes <= 1 << 28
        else:
            assert (op.cores, dict(op.division), op.span_bytes) == (0, {}, 0)


def test_layouts_are_the_default_ones() -> None:
    found = only(plan_of(lambda x: x + x, half(512, 8, 240)), "add")
    assert (found.shape, found.device_size, found.stick_dim) == ((512, 8, 240), (8, 4, 512, 64), 2)  # L11
    assert found.device_bytes == 128 * 8 * 4 * 512
    assert only(plan_of(lambda x: x.sum(-1), half(4, 128)), "sum").device_size[-1] == 64


def test_a_matmul_is_divided_as_the_cost_has_it() -> None:
    compiled = spyre_sim.compile(torch.matmul, (half(1024, 4096), half(4096, 12800)))
    found = only(compiled.plan(), "batchmatmul")
    chosen = spyre_sim.cost.divide_matmul(1, 1024, 12800, 4096)
    assert dict(found.division) == {name: getattr(chosen, name) for name in "bmnk"}  # W4


def test_outputs_are_split_by_decreasing_extent() -> None:
    found = only(plan_of(lambda x: x + x, half(8, 12 * 64)), "add")
    assert dict(found.division) == {"d1": 12, "d0": 2}  # W5


def test_a_span_beyond_the_limit_is_named() -> None:
    small = dataclasses.replace(spyre_sim.load_stack("2026-06").constants, max_span_bytes=1024)
    stack = dataclasses.replace(spyre_sim.load_stack("2026-06"), name="small", constants=small)
    found = only(plan_of(lambda x: x + x, half(37, 64 * 37), stack=stack), "add")
    assert found.overflowing and found.span_bytes > 1024  # S29: it goes on nevertheless
    assert " over" in str(plan_of(lambda x: x + x, half(37, 64 * 37), stack=stack))


def test_what_stays_in_the_scratchpad_is_told_from_what_does_not() -> None:
    ops = {op.kernel: op for op in plan_of(lambda x: (x * x).exp() + 1, half(4, 64), stack="2026-09").ops}
    lx = spyre_sim.load_stack("2026-09").constants.lx_planning
    assert (ops["mul"].placement, ops["add"].placement) == ("LX" if lx else "HBM", "HBM")  # Q8: results go out


def test_what_runs_on_the_host_has_a_row_without_cores() -> None:
    plan = plan_of(lambda x: torch.cumsum(x, -1), half(4, 64))
    if hosts := [op for op in plan.ops if op.kernel == "host"]:
        assert all((op.placement, op.cores, op.device_size) == ("host", 0, ()) for op in hosts)
    assert any(op.placement == "host" for op in plan.ops)


def test_the_plan_is_data_and_a_table() -> None:
    plan = plan_of(Block().half(), half(2, 64, 128))
    rows = json.loads(json.dumps(plan.rows()))
    assert [row["kernel"] for row in rows] == [op.kernel for op in plan.ops]
    head, *lines = str(plan).splitlines()
    assert head.split()[:4] == ["bundle", "op", "kernel", "module_path"]
    assert len(lines) == len(rows)
    assert all(op.module_path == "up" for op in plan.of_module("up")) and plan.of_module("up")


def test_ranks_and_sizes_without_a_stick_have_a_plan() -> None:
    for shape in ((), (1,), (4, 1), (2, 1, 1, 3, 1, 65)):
        plan = plan_of(lambda x: (x + x).sum(), half(*shape))
        assert str(plan) and all(op.cores >= 1 for op in plan.ops if op.bundle >= 0)
