"""Figures on sums and means."""

from __future__ import annotations

from functools import partial

import torch

from ..stacks import Stack
from .device import on_device
from .figure import PRINTED_DIGITS, factor, family, within

SUMS = family("Sums and means")
BEFORE_THE_REWRITE = "2026-06-01"  # the day of #2400, four days before the copies were rewritten (N11)
RANDOM = torch.rand(11, 4, 2880, generator=torch.Generator().manual_seed(0)).bfloat16()


@SUMS.figure(
    "A1", "integers, [11, 4, 2880].sum(1) in bfloat16: mismatches of 31680", published=0, source="#4232",
    stack="2026-08",
)  # fmt: skip
def integers(stack: Stack) -> int:
    x = torch.randint(-8, 9, (11, 4, 2880), generator=torch.Generator().manual_seed(0)).bfloat16()
    return int((on_device(lambda x: x.sum(1), x, stack=stack) != x.float().sum(1)).sum())


def differences(stack: Stack) -> torch.Tensor:
    """What the device's sums differ by from the CPU's, both in bfloat16."""
    return (on_device(lambda x: x.sum(1), RANDOM, stack=stack).float() - RANDOM.sum(1).float()).abs()


@SUMS.figure(
    "A1", "random bfloat16: largest difference, one ulp in [2, 4)", published=0.015625, source="#4232", stack="2026-08",
    note="rand: that no sum reaches 4, where an ulp is twice as large, rules out randn",
)  # fmt: skip
def largest_difference_of_sums(stack: Stack) -> float:
    return float(differences(stack).max())


@SUMS.figure(
    "A1", "random bfloat16: share of sums that differ", published=0.008, source="#4232", criterion=factor(2),
    stack="2026-08",
    note="even one rounding of the exact sum to nine bits before the readback in seven differs from rounding once in "
    "8 % of these; 0.8 % would take a readback from more than DLFloat16, or counts only what a tolerance lets through",
)  # fmt: skip
def share_off(stack: Stack) -> float:
    return float((differences(stack) > 0).float().mean())


def tiny(dtype: torch.dtype) -> torch.Tensor:
    """The input of #2400: 0.001 * randn(4096) of seed 42."""
    return (torch.randn(4096, generator=torch.Generator().manual_seed(42)) * 0.001).to(dtype)


PROGRAMS = {
    "sum": lambda x: (x * x).sum(),
    "mean": lambda x: (x * x).mean(),
    "sum / 4096": lambda x: (x * x).sum() / 4096,
}


def of_tiny(stack: Stack, program: str, dtype: torch.dtype) -> float:
    return float(on_device(PROGRAMS[program], tiny(dtype), stack=stack))


for program, dtype, value in (
    ("mean", torch.float16, 1.8120e-05),
    ("sum / 4096", torch.float16, 2.6226e-06),
    ("sum", torch.float16, 4.0741e-03),
    ("mean", torch.bfloat16, 6.1467e-07),
    ("sum", torch.bfloat16, 4.0588e-03),
):
    SUMS.figure(
        "A10", f"{program} of the squares of 0.001 * randn(4096), {str(dtype).removeprefix('torch.')}",
        published=value, source="#2400", criterion=PRINTED_DIGITS, stack=BEFORE_THE_REWRITE,
    )(partial(of_tiny, program=program, dtype=dtype))  # fmt: skip


@SUMS.figure(
    "S50", "float32 mean of a row with keepdim over what it should be: 0.2517 / 0.4967", published=0.2517 / 0.4967,
    source="#3087", criterion=within(0.05), note="rows of rand(4, 1024) for an input not published; half of a row is "
    "left out, every second stick of it here: which half is not known",
)  # fmt: skip
def halved_mean(stack: Stack) -> float:
    x = torch.rand(4, 1024, generator=torch.Generator().manual_seed(0))
    return float(on_device(lambda x: x.mean(-1, keepdim=True), x, stack=stack)[1, 0] / x[1].mean())


SUMS.leave_out("S49", "mean(dim=2) of (3, 7, 9): mismatch", "neither the values nor the cause are published")
