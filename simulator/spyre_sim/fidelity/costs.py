"""Figures on time and traffic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..cost import roofline
from ..cost.program import ProgramCost
from ..stacks import Stack
from .device import compiled_for
from .figure import family, within

COSTS = family("Time and traffic")
LARGE = torch.zeros(4096, 4096, dtype=torch.float16)
MODEL = "cost_model.py, September 2026"


def cost(function: Callable[..., Any], *args: Any, stack: Stack) -> ProgramCost:
    return compiled_for(function, *args, stack=stack).cost()


def rate(function: Callable[..., Any], *args: Any, stack: Stack) -> float:
    """GB/s of the first kernel of a compiled function."""
    kernel = cost(function, *args, stack=stack).kernels[0].cost
    return kernel.bytes / kernel.total_us / 1e3


RATES: dict[str, tuple[float, Callable[..., Any], tuple[Any, ...]]] = {
    "a pointwise op, as much read as written": (105, torch.exp, (LARGE,)),
    "a pointwise op with a broadcast operand": (118, torch.mul, (LARGE, LARGE[0])),
    "a restickify": (116, lambda x, y: x + y.t(), (LARGE, LARGE)),
    "a reduction across rows": (113, lambda x: x.sum(0), (LARGE,)),
    "a product of one row with a weight": (150, torch.matmul, (LARGE[:1].clone(), LARGE)),
}
for what, (published, function, args) in RATES.items():

    @COSTS.figure(
        "4.1" if "restickify" in what or "pointwise" in what else "C3", f"GB/s of {what}", published=published,
        source=MODEL, criterion=within(0.01), stack="2026-09",
    )  # fmt: skip
    def measured_rate(stack: Stack, function: Any = function, args: Any = args) -> float:
        return rate(function, *args, stack=stack)


@COSTS.figure(
    "4.1", "sustained MACs a nanosecond and core of a large product", published=1140.0, source=MODEL,
    criterion=within(0.01), stack="2026-09",
)  # fmt: skip
def sustained(stack: Stack) -> float:
    kernel = cost(torch.matmul, LARGE, LARGE, stack=stack).kernels[0].cost
    return kernel.macs / kernel.compute_us / 1e3 / stack.constants.cores


@COSTS.figure("4.1", "the roofline's MACs a microsecond", published=32 * 1_140_000.0, source=MODEL, stack="2026-09",
    note="the datasheet's 98.304 TFLOP/s, which the planner uses (W4), are 35 % more than what was sustained",
)  # fmt: skip
def roof(stack: Stack) -> float:
    return roofline(stack).macs_per_us


def shared_weight_ms(stack: Stack) -> float:
    x, weight = torch.zeros(2, 512, 4096, dtype=torch.float16), torch.zeros(4096, 12800, dtype=torch.float16)
    return sum(kernel.cost.total_us for kernel in cost(torch.matmul, x, weight, stack=stack).kernels) / 1e3


SHARED = "[2, 512, 4096] @ [4096, 12800], ms"
COSTS.figure(
    "P2", f"{SHARED}, before #4302", published=4.604, source="#4302", criterion=within(0.15), stack="2026-08",
    note="the batch takes 32 cores along its rows; the model prices that split too low (its authors state 6 % for "
    "products whose split is a good one)",
)(shared_weight_ms)  # fmt: skip
COSTS.figure(
    "P2", f"{SHARED}, after it", published=2.196, source="#4302", criterion=within(0.15), stack="2026-09",
    note="the batches count as rows",
)(shared_weight_ms)  # fmt: skip


def softmax_cost(stack: Stack) -> ProgramCost:
    return cost(lambda x: x.softmax(-1), torch.zeros(512, 1024, dtype=torch.float16), stack=stack)


def softmax_traffic(stack: Stack) -> float:
    """Bytes from and to HBM over those of the tensor."""
    return sum(kernel.cost.bytes for kernel in softmax_cost(stack).kernels) / (2 * 512 * 1024)


def softmax_us(stack: Stack) -> float:
    return sum(kernel.cost.total_us for kernel in softmax_cost(stack).kernels)


SOFTMAX, PLANNING = "softmax (512, 1024)", "scratchpad_planning.md"
COSTS.figure(
    "W13", f"{SOFTMAX}, nothing in the scratchpad: traffic over MN", published=8.25, source=PLANNING, stack="2026-04",
    note="8 MN + 4 N; N is 512 sticks of 64, the sparse results of its reductions",
)(softmax_traffic)  # fmt: skip
COSTS.figure(
    "W13", f"{SOFTMAX}, reductions, exp and sub in the scratchpad: traffic over MN", published=3.0, source=PLANNING
)(softmax_traffic)
COSTS.figure(
    "W13", f"{SOFTMAX}, nothing in the scratchpad: us", published=32.51, source=PLANNING, criterion=within(0.15),
    stack="2026-04",
    note="measured on one core, 8.65 MB in 32.51 us: more than the 204.8 GB/s of the memory, so not all of it can have "
    "moved as counted; the cost model charges every byte",
)(softmax_us)  # fmt: skip
COSTS.figure(
    "W13", f"{SOFTMAX}, reductions, exp and sub in the scratchpad: us", published=23.93, source=PLANNING,
    criterion=within(0.15),
)(softmax_us)  # fmt: skip
COSTS.leave_out("P3", "4.6 s a token in the early adapter", "host time of the real stack: launches, copies and Python "
                "have no published price (launch and copy latencies here are placeholders)")  # fmt: skip
