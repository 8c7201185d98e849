"""Figures on views that lie in memory in another way than their label says: heads, transposes, single rows."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from ..stacks import Stack
from .device import largest_difference, normal, on_device
from .figure import factor, family, within

HEADS = family("Views and heads")
FINDINGS = "spyre-numerical-findings.md"


def split(x: torch.Tensor, width: int) -> torch.Tensor:
    """[B, S, heads * width] as [B, heads, S, width]."""
    return x.view(*x.shape[:2], -1, width).transpose(1, 2)


def norm_of_a_view(stack: Stack) -> torch.Tensor:
    """Differences of rms_norm over a transposed view, [1, 64, 16, 128] seen as [1, 16, 64, 128]."""

    def norm(x: torch.Tensor) -> torch.Tensor:
        return F.rms_norm(x.transpose(1, 2), (128,))

    x = normal(1, 64, 16, 128)
    return (on_device(norm, x, stack=stack).float() - norm(x.float())).abs()


def norm_of_a_tensor(stack: Stack) -> torch.Tensor:
    """The same of contiguous values."""
    x = normal(1, 16, 64, 128)
    return (on_device(lambda x: F.rms_norm(x, (128,)), x, stack=stack).float() - F.rms_norm(x.float(), (128,))).abs()


NOT_GIVEN = "the input is not published; randn [1, 64, 16, 128]"


@HEADS.figure(
    "S12", "RMSNorm of a transposed view: largest difference", published=7.9531, source=f"{FINDINGS}, #1781",
    criterion=factor(1.5), note=NOT_GIVEN,
)  # fmt: skip
def norm_of_a_view_largest(stack: Stack) -> float:
    return float(norm_of_a_view(stack).max())


@HEADS.figure(
    "S12", "RMSNorm of a transposed view: mean difference", published=1.0955, source=f"{FINDINGS}, #1781",
    criterion=factor(1.25), note=NOT_GIVEN,
)  # fmt: skip
def norm_of_a_view_mean(stack: Stack) -> float:
    return float(norm_of_a_view(stack).mean())


@HEADS.figure(
    "S12", "RMSNorm of the same values, contiguous: largest difference", published=0.0312, source=f"{FINDINGS}, #1781",
    criterion=factor(2),
    note="at most 0.004 of an entry is lost; of entries of 8, such as the published input has (a view of it is off by "
    "7.95), that is 0.032, and of the 4.2 at which this randn ends much less",
)  # fmt: skip
def norm_of_a_tensor_largest(stack: Stack) -> float:
    return float(norm_of_a_tensor(stack).max())


@HEADS.figure(
    "S12", "RMSNorm of the same values, contiguous: mean difference", published=0.0015, source=f"{FINDINGS}, #1781",
    criterion=factor(1.25), note="the input is not published; randn [1, 16, 64, 128]",
)  # fmt: skip
def norm_of_a_tensor_mean(stack: Stack) -> float:
    return float(norm_of_a_tensor(stack).mean())


def heads_in_company(stack: Stack, tokens: int) -> float:
    """A projection by the unit matrix, split into heads and used, in one graph."""

    def function(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return split(x @ weight, 64) * 1.0

    x = normal(1, tokens, 128) / 2
    return largest_difference(on_device(function, x, torch.eye(128).half(), stack=stack), split(x, 64))


THROUGH = "randn / 2 through a unit matrix, 2 heads of 64; the input is not published, its size follows from one token"


@HEADS.figure(
    "S13", "view and transpose into heads, 64 tokens: largest difference", published=3.07, source=f"{FINDINGS}, #1783",
    criterion=factor(1.5), stack="2026-04", note=f"2.96 to 3.18; {THROUGH}",
)  # fmt: skip
def heads_of_64_tokens(stack: Stack) -> float:
    return heads_in_company(stack, 64)


@HEADS.figure(
    "S13", "the same with one token: largest difference", published=0.001, source=f"{FINDINGS}, #1783",
    criterion=factor(2), stack="2026-04", note=THROUGH,
)  # fmt: skip
def heads_of_one_token(stack: Stack) -> float:
    return heads_in_company(stack, 1)


@HEADS.figure(
    "S32", "attention of one query row: share of elements wrong", published=0.05, source="#4021", criterion=within(0.2),
    stack="2026-09", note="more than 0.01 off; randn, 2 heads of 64, 64 keys",
)  # fmt: skip
def one_query_row(stack: Stack) -> float:
    def function(x: torch.Tensor, weight: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(split(x @ weight, 64), key, value)

    inputs = (
        normal(8, 1, 128),
        normal(128, 128, seed=1) / 11,
        normal(8, 2, 64, 64, seed=2),
        normal(8, 2, 64, 64, seed=3),
    )
    mine, exact = on_device(function, *inputs, stack=stack).float(), function(*(item.float() for item in inputs))
    return float(((mine - exact).abs() > 0.01).float().mean())
