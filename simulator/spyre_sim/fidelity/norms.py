"""Figures on layer_norm and RMSNorm."""

from __future__ import annotations

from functools import partial

import torch
from torch.nn import functional as F

from ..stacks import Stack
from .device import largest_difference, normal, on_device
from .figure import SAME, factor, family, within

NORMS = family("Norms")
APRIL = "2026-04"


def rms_error(stack: Stack, hidden: int, eps: float) -> float:
    """Mean relative error in percent over 128 rows of 0.02 * randn, without the weight, as decomposed (A25)."""

    def rms_norm(x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps)

    x = (normal(1, 128, hidden, dtype=torch.float32) * 0.02).half()
    exact = rms_norm(x.float())
    error = (on_device(rms_norm, x, stack=stack).float() - exact).abs()
    return 100 * float((error / exact.abs())[exact != 0].mean())


REAL_WEIGHTS = (
    "real weights and activations, not published: there float16 on a GPU is {gpu} % off by itself, and here on 0.02 * "
    "randn 0.03 %. No one scale of randn gives both: at 0.001, where squares lose bits (A10), the device is 1 to 2 % "
    "off, as much as was published beyond the GPU's, and float16 0.1 to 0.4 %"
)
for model, hidden, eps, gpu, device in (
    ("Granite 3.3 8B", 4096, 1e-5, 3.72, 4.99),
    ("Qwen 3 0.6B", 1024, 1e-6, 0.66, 1.73),
    ("Llama 3.2 3B", 3072, 1e-5, 2.47, 3.78),
):
    NORMS.figure(
        "2.3", f"RMSNorm of {model}, hidden {hidden}: mean relative error in %", published=device,
        source="spyre-numerical-findings.md", criterion=factor(1.5), stack=APRIL, note=REAL_WEIGHTS.format(gpu=gpu),
    )(partial(rms_error, hidden=hidden, eps=eps))  # fmt: skip


def near_constant(dtype: torch.dtype) -> torch.Tensor:
    return (100 + 0.5 * torch.rand(64, 128, generator=torch.Generator().manual_seed(0))).to(dtype)


def has_nan(stack: Stack, dtype: torch.dtype) -> bool:
    weight, bias = torch.ones(128).to(dtype), torch.zeros(128).to(dtype)
    norm = lambda x, w, b: F.layer_norm(x, (128,), w, b)  # noqa: E731
    return bool(on_device(norm, near_constant(dtype), weight, bias, stack=stack).isnan().any())


for dtype in (torch.float16, torch.bfloat16):
    NORMS.figure(
        "S10", f"layer_norm of nearly constant rows gives NaN, {str(dtype).removeprefix('torch.')}", published=True,
        source="hf-adapters, hf_gemma4_mm", criterion=SAME, note="no switch: E[x^2] - E[x]^2 in nine bits",
    )(partial(has_nan, dtype=dtype))  # fmt: skip


def without_affine(stack: Stack) -> torch.Tensor:
    result: torch.Tensor = on_device(lambda x: F.layer_norm(x, (1024,)), normal(64, 1024), stack=stack)
    return result


@NORMS.figure(
    "S11", "layer_norm without weight and bias: the one value it gives", published=-0.0013, source="#1980",
    criterion=within(0.01), stack=APRIL,
)  # fmt: skip
def the_constant(stack: Stack) -> float:
    (value,) = without_affine(stack).unique().tolist()
    return float(value)


@NORMS.figure(
    "A22", "the same: largest difference", published=3.57, source="#1980", criterion=factor(1.5), stack=APRIL,
    note="the largest entry of the input, which is not published; randn(64, 1024) here",
)  # fmt: skip
def without_affine_difference(stack: Stack) -> float:
    return largest_difference(without_affine(stack), F.layer_norm(normal(64, 1024).float(), (1024,)))


@NORMS.figure(
    "A22", "layer_norm with weight and bias: largest difference", published=0.008, source="#1980",
    criterion=factor(1.5), stack=APRIL, note="randn(64, 1024)",
)  # fmt: skip
def with_affine_difference(stack: Stack) -> float:
    x, weight, bias = normal(64, 1024), torch.ones(1024).half(), torch.zeros(1024).half()
    mine = on_device(lambda x, w, b: F.layer_norm(x, (1024,), w, b), x, weight, bias, stack=stack)
    return largest_difference(mine, F.layer_norm(x.float(), (1024,)))


@NORMS.figure(
    "A24", "layer_norm over 10 elements: share beyond 0.1", published=0.85, source="#1888", criterion=factor(1.5),
    stack=APRIL, note="published for the s390x build, cause unknown; masked tail lanes give right moments here",
)  # fmt: skip
def unaligned(stack: Stack) -> float:
    x, weight, bias = normal(64, 10), torch.ones(10).half(), torch.zeros(10).half()
    mine = on_device(lambda x, w, b: F.layer_norm(x, (10,), w, b), x, weight, bias, stack=stack).float()
    exact = F.layer_norm(x.float(), (10,))
    return float(((mine - exact).abs() > 0.1 + 0.1 * exact.abs()).float().mean())


NORMS.leave_out("2.3", "tokens of Qwen3-0.6B and logit differences of 12 to 18.5 in decoding", "a whole model with its "
                "weights, and the unknown cause of the single-token defect S16")  # fmt: skip
