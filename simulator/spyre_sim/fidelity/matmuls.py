"""Figures on products."""

from __future__ import annotations

import torch

from ..stacks import Stack
from .device import cosine, largest_difference, normal, on_device
from .figure import factor, family, near, within

MATMULS = family("Products")


@MATMULS.figure(
    "A6", "elementwise product of two randn in float16: largest difference", published=2.0**-6, source="#1990",
    criterion=factor(2), stack="2026-04", note="the input is not published; randn(1024, 1024) here",
)  # fmt: skip
def elementwise(stack: Stack) -> float:
    x, y = normal(1024, 1024), normal(1024, 1024, seed=1)
    return largest_difference(on_device(torch.mul, x, y, stack=stack), x * y)


def deep_product(stack: Stack) -> float:
    """The relative error of the element that is off most, of 140800, after 32768 products each."""
    x, y = normal(275, 32768), normal(32768, 512, seed=1)
    exact = x.float() @ y.float()
    error = (on_device(torch.matmul, x, y, stack=stack).float() - exact).abs()
    worst = error.argmax()
    return float(error.flatten()[worst] / exact.abs().flatten()[worst])


DEEP = "K = 32768, relative error where the difference is largest"
MATMULS.figure(
    "A3", DEEP, published=0.0064, source="#1970", criterion=factor(2), stack="2026-04",
    note="randn(275, 32768) @ randn(32768, 512) for weights not published; rounded after every 1024 products (U1)",
)(deep_product)  # fmt: skip


@MATMULS.figure("A3", "K = 32768, small integers: elements that are wrong", published=0, source="D6", stack="2026-04")
def deep_product_of_integers(stack: Stack) -> int:
    x, y = torch.ones(4, 32768).half(), (torch.arange(32768)[:, None] % 64 == 0).half().expand(32768, 64).contiguous()
    return int((on_device(torch.matmul, x, y, stack=stack) != 512).sum())


def unit_batch(stack: Stack) -> tuple[torch.Tensor, torch.Tensor]:
    """[1, 256, 1024] @ [1024, 1024]: the device's and the exact product."""
    x, w = normal(1, 256, 1024), normal(1024, 1024, seed=1)
    return on_device(torch.matmul, x, w, stack=stack).float(), x.float() @ w.float()


WHILE_BROKEN, AFTER = "2026-08", "2026-09"
S30 = "[1, 256, 1024] @ [1024, 1024]"


@MATMULS.figure("S30", f"{S30}: cosine", published=0.0026, source="#4155", criterion=near(0.01), stack=WHILE_BROKEN)
def unit_batch_cosine(stack: Stack) -> float:
    return cosine(*unit_batch(stack))


@MATMULS.figure(
    "S30", f"{S30}: relative difference", published=1.41, source="#4155", criterion=within(0.03), stack=WHILE_BROKEN
)
def unit_batch_difference(stack: Stack) -> float:
    mine, exact = unit_batch(stack)
    return float((mine - exact).norm() / exact.norm())


@MATMULS.figure(
    "S30", f"{S30}: cosine since 2026-09-01", published=1.0, source="#4192", criterion=near(1e-4), stack=AFTER
)
def unit_batch_repaired(stack: Stack) -> float:
    return cosine(*unit_batch(stack))
