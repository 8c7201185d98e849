"""layer_norm's three kernels: exx2, layernormscale, layernormnorm (A20)."""

from __future__ import annotations

from typing import Any

import torch

from ..graph import DeviceOp, Format
from . import buffers, compiled_norms
from .numbers import Arithmetic, Tensor, array, contiguous, rows_of
from .parallel import over_rows
from .registry import kernel


@kernel("exx2")
def exx2(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    """E[x] and E[x^2] of each row."""
    rows = rows_of(contiguous(inputs[0]))
    out = buffers.empty(op.output.shape)
    target = rows_of(out)
    narrow = is_narrow(arithmetic, op.output.format)
    over_rows(len(rows), rows.size, lambda part: compiled_norms.moments_loop(rows[part], narrow, target[part]))
    return out


def is_narrow(arithmetic: Arithmetic, fmt: Format) -> bool:
    """Are the moments kept in DLFloat16 (U2)?"""
    return fmt is Format.DL16 and arithmetic.numerics.norm_moments == "dl16"


@kernel("layernormscale")
def layernormscale(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    moments = rows_of(contiguous(inputs[0]))
    out = buffers.empty(op.output.shape)
    compiled_norms.norm_scale_loop(moments, epsilon(arithmetic, op), array(out).reshape(-1))
    return out


def epsilon(arithmetic: Arithmetic, op: DeviceOp) -> float:
    """eps as the kernel's constant; below the format's smallest number it is gone."""
    return arithmetic.number(op.attributes["eps"], op.output.format)


@kernel("layernormnorm")
def layernormnorm(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    x = contiguous(inputs[0])
    out = buffers.empty_like(x)
    if "S11" in op.defects:
        return out.fill_(arithmetic.number(-0.0013, op.output.format))  # the fused op without its affine operands
    moments, scale = rows_of(contiguous(inputs[1])), array(contiguous(inputs[2])).reshape(-1)
    weight, bias = affine(inputs[3], inputs[4], x.shape[-1])
    rows, target = rows_of(x), rows_of(out)

    def block(part: slice) -> None:
        compiled_norms.norm_loop(rows[part], moments[part], scale[part], weight, bias, target[part])

    over_rows(len(rows), rows.size, block)
    return out


def affine(weight: Any, bias: Any, width: int) -> tuple[Any, Any]:
    """Weight and bias, or ones and zeros (A22)."""
    ones = torch.ones(width) if weight is None else contiguous(weight)
    zeros = torch.zeros(width) if bias is None else contiguous(bias)
    return array(ones.expand(width).contiguous()), array(zeros.expand(width).contiguous())
