"""Figures on single ops: what is refused with which words, and what comes out wrong."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch.nn import functional as F

from ..stacks import Stack
from .device import largest_difference, normal, on_device, refusal
from .figure import AT_MOST, SAME, factor, family, within

OPS = family("Single ops")
TOPK = "#3636, #4716, #452"


def topk(stack: Stack, *shape: int, k: int = 2, dtype: torch.dtype = torch.float16, **options: Any) -> str:
    """The refusal of topk over the last dim, without the stack's prefix."""
    text = refusal(lambda x: x.topk(k, -1, **options), normal(*shape, dtype=dtype), stack=stack)
    return text.removeprefix("Spyre backend does not support: ")


@OPS.figure("O9", "topk with k = 5", published="Topk is not supported for this config", source=TOPK)
def topk_of_five(stack: Stack) -> str:
    return topk(stack, 8, 64, k=5)


@OPS.figure("O9", "topk of rank 3", published="topk only implemented for 2-D tensors", source="#3711")
def topk_of_rank_three(stack: Stack) -> str:
    return topk(stack, 2, 8, 64)


@OPS.figure("O9", "topk of rank 3 since 2026-08-13", published="accepted", source="#3711", stack="2026-08")
def topk_of_rank_three_later(stack: Stack) -> str:
    return topk(stack, 2, 8, 64)


@OPS.figure("O9", "topk of one row", published="AllSameNode.from_args: out_layouts is empty", source=TOPK)
def topk_of_one_row(stack: Stack) -> str:
    return topk(stack, 1, 64)


@OPS.figure("O9", "topk in float32", published="ReStickifyOpHBM on DataFormats.IEEE_FP32", source="#4649")
def topk_in_float32(stack: Stack) -> str:
    return topk(stack, 8, 64, dtype=torch.float32)


@OPS.figure("O9", "topk(largest=False) returns the largest", published=True, source="#3713")
def topk_of_the_smallest(stack: Stack) -> bool:
    x = normal(8, 64)
    return bool(torch.equal(on_device(lambda x: x.topk(2, -1, largest=False)[0], x, stack=stack).sort().values,
                            on_device(lambda x: x.topk(2, -1)[0], x, stack=stack).sort().values))  # fmt: skip


@OPS.figure("O9", "topk(largest=False) since #3713 is refused", published=True, source="#3713", stack="2026-08")
def topk_of_the_smallest_later(stack: Stack) -> bool:
    return topk(stack, 8, 64, largest=False) != "accepted"


@OPS.figure(
    "O9", "topk 128 wide", published="DtException: Incorrect chunk size in bytes (L3DlOpsScheduler.cpp:1714)",
    source=TOPK, note="widths of 2, 4, 8, ... whole sticks",
)  # fmt: skip
def topk_of_two_sticks(stack: Stack) -> str:
    return topk(stack, 8, 128)


@OPS.figure(
    "S53", "the dtype of topk's indices", published="float16", source="#3636",
)  # fmt: skip
def dtype_of_indices(stack: Stack) -> str:
    indices = on_device(lambda x: x.topk(2, -1)[1], normal(8, 64), stack=stack)
    return str(indices.dtype).removeprefix("torch.")


def joined(stack: Stack) -> float:
    x, y = normal(1, 64), normal(3, 64, seed=1)
    return largest_difference(on_device(lambda x, y: torch.cat([x, y]), x, y, stack=stack), torch.cat([x, y]))


CAT, FINDINGS = "cat with an operand of size 1: largest difference", "spyre-numerical-findings.md, #1760"
OPS.figure(
    "S14", CAT, published=4.9248, source=FINDINGS, criterion=factor(1.5), stack="2026-04",
    note="randn(1, 64) and randn(3, 64); which neighbour is read is not published",
)(joined)  # fmt: skip
OPS.figure("S14", f"{CAT}, after the fix", published=0.0020, source=FINDINGS, criterion=AT_MOST)(joined)


@OPS.figure("S44", "share of a float32 sum of ones that is right", published=0.5, source="#165", stack="2025-11")
def float32_lanes(stack: Stack) -> float:
    x = torch.ones(4, 64)
    return float((on_device(torch.add, x, x, stack=stack) == 2).float().mean())


@OPS.figure(
    "S46", "sum over the stick of (1088, 128) ones: right results", published=64, source="#141", stack="2025-11"
)
def compacted(stack: Stack) -> int:
    x = torch.ones(1088, 128, dtype=torch.float16)
    return int((on_device(lambda x: x.sum(-1), x, stack=stack) == 128).sum())


OPS.leave_out("O9", "topk(k=16): no divisor within 1 cores gives k_per_core <= 4.", "published for one core; the "
              "simulator always has all 32, on which k = 16 is accepted")  # fmt: skip


@OPS.figure("S55", "(4, 64).flip(0), first column of rows 0 to 3", published=(3.0, 3.0, 3.0, 3.0), source="#3558")
def flipped(stack: Stack) -> list[float]:
    x = torch.arange(4.0)[:, None].expand(4, 64).half().contiguous()
    column: list[float] = on_device(lambda x: x.flip(0), x, stack=stack)[:, 0].tolist()
    return column


@OPS.figure("O10", "flip of the last dim is refused for prims.rev.default", published=True, source="#3558")
def flipped_sticks(stack: Stack) -> bool:
    text = refusal(lambda x: x.flip(-1), normal(4, 64), stack=stack)
    return "(prims.rev.default): no supported output layout" in text


@OPS.figure(
    "S51", "x ** 3: relative difference", published=1.5, source="#3179, #1852", criterion=within(0.1),
    note="randn(256, 256); the lost sign makes it the square root of 2",
)  # fmt: skip
def cubed(stack: Stack) -> float:
    x = normal(256, 256)
    exact = x.float() ** 3
    return float((on_device(lambda x: x**3, x, stack=stack).float() - exact).norm() / exact.norm())


@OPS.figure("S40", "rows that t[1::2, :] returns", published=(0.0, 2.0, 4.0, 6.0), source="#2803")
def every_second_row(stack: Stack) -> list[float]:
    x = torch.arange(8.0)[:, None].expand(8, 64).half().contiguous()
    rows: list[float] = on_device(lambda x: x[1::2, :] + 0, x, stack=stack)[:, 0].tolist()
    return rows


@OPS.figure("A13", "exp(30) / exp(25) in float32", published=1.0, source="#612", criterion=SAME, note="saturated at 22")
def saturated_exp(stack: Stack) -> float:
    low, high = on_device(torch.exp, torch.tensor([[25.0, 30.0]]), stack=stack)[0].tolist()
    return float(high / low)


@OPS.figure(
    "A14", "softplus with beta 0.5 on (1, 1, 7, 13, 19): share that differs by more than 0.1", published=1.0,
    source="#1882", criterion=factor(1.25), stack="2026-04",
    note="what the kernel does with beta is not published; both figures fit one that does not divide by it",
)  # fmt: skip
def softplus(stack: Stack, beta: float = 0.5) -> float:
    x = normal(1, 1, 7, 13, 19)
    exact = F.softplus(x.float(), beta)
    mine = on_device(lambda x: F.softplus(x, beta), x, stack=stack).float()
    return float(((mine - exact).abs() > 0.1 + 0.1 * exact.abs()).float().mean())


OPS.figure(
    "A14", "the same with beta 50", published=0.27, source="#1882", criterion=factor(2), stack="2026-04",
    note="randn for an input not published: what lies between 0 and the threshold of 20 / beta is off",
)(partial(softplus, beta=50.0))  # type: ignore[call-arg]  # fmt: skip


TOLERANCES = {
    "gelu": (F.gelu, 0.1),
    "sigmoid": (torch.sigmoid, 0.1),
    "softmax": (lambda x: x.softmax(-1), 0.1),
    "rsqrt": (lambda x: torch.rsqrt(x.abs() + 0.1), 0.1),
}
for name, (function, tolerance) in TOLERANCES.items():

    @OPS.figure(
        "A47", f"{name} of randn(64, 256): largest excess over atol = rtol = 0.1", published=0.0,
        source="utils_inductor.py:620", criterion=AT_MOST, note="the tolerance of the public tests, which pass",
    )  # fmt: skip
    def excess(stack: Stack, function: Any = function, tolerance: float = tolerance) -> float:
        x = normal(64, 256)
        exact = function(x.float())
        over = (on_device(function, x, stack=stack).float() - exact).abs() - tolerance - tolerance * exact.abs()
        return max(0.0, float(over.max()))
