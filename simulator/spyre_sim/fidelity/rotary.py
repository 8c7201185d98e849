"""Figures on rotary embeddings: the slice form that is lowered wrongly, and the product that is not."""

from __future__ import annotations

from functools import cache

import torch

from ..stacks import Stack
from .device import largest_difference, normal, on_device
from .figure import factor, family

ROTARY = family("Rotary embedding")
HEADS, LENGTH, WIDTH = 16, 128, 128
NOT_GIVEN = "the input is not published; randn, base 10000. The error is a difference of two entries of the query"


@cache
def angles() -> torch.Tensor:
    """[LENGTH, WIDTH / 2], float32."""
    frequencies = 1 / 10000 ** (torch.arange(0, WIDTH, 2) / WIDTH)
    return torch.outer(torch.arange(float(LENGTH)), frequencies)


def by_slices(q: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    half = WIDTH // 2
    return q * cos + torch.cat([-q[..., half:], q[..., :half]], -1) * sin


def by_product(q: torch.Tensor, rotation: torch.Tensor) -> torch.Tensor:
    """Pairs times [[cos, -sin], [sin, cos]]: the form of the public adapters (T2)."""
    pairs = q.view(1, HEADS, LENGTH, 1, 2, WIDTH // 2)
    return (rotation * pairs).sum(-2).reshape(1, HEADS, LENGTH, WIDTH)


def exact() -> torch.Tensor:
    both = torch.cat([angles(), angles()], -1)
    return by_slices(normal(1, HEADS, LENGTH, WIDTH).float(), both.cos().half().float(), both.sin().half().float())


@ROTARY.figure(
    "A42", "slice form, [1, 16, 128, 128]: largest difference", published=5.22, source="#3133", criterion=factor(1.25),
    stack="2026-08", note=NOT_GIVEN,
)  # fmt: skip
def slice_form(stack: Stack) -> float:
    both = torch.cat([angles(), angles()], -1)
    mine = on_device(by_slices, normal(1, HEADS, LENGTH, WIDTH), both.cos().half(), both.sin().half(), stack=stack)
    return largest_difference(mine, exact())


@ROTARY.figure(
    "A42", "product form, [1, 16, 128, 128]: largest difference", published=0.0095, source="#3133",
    criterion=factor(1.25), stack="2026-08", note=NOT_GIVEN,
)  # fmt: skip
def product_form(stack: Stack) -> float:
    cos, sin = angles().cos(), angles().sin()
    rotation = torch.stack([torch.stack([cos, -sin], -2), torch.stack([sin, cos], -2)], -3).half()
    return largest_difference(on_device(by_product, normal(1, HEADS, LENGTH, WIDTH), rotation, stack=stack), exact())


ROTARY.figure(
    "S5", "the slice form when it is fused: largest difference", published=5.22, source="#3133", criterion=factor(1.25),
    stack="2026-08", note="the same figure, as section 6 has it; alone, each of slice, neg and cat is right",
)(slice_form)  # fmt: skip
