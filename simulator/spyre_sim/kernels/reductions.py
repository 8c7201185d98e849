"""Reductions: sums in DLFloat16 as published figures tell, mean with a rounded 1/N, extremes exact (A1, A10, A32)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..graph import DeviceOp, Format
from . import compiled
from .numbers import Arithmetic, Tensor, array, contiguous
from .parallel import over_rows
from .registry import kernel


@kernel("sum", "mean")
def sums(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    rows, count = _rows(inputs[0], op.attributes["dims"])
    factor = mean_factor(arithmetic, count, op.output.format) if op.kernel == "mean" else 1.0
    total = dl16_sums(arithmetic, rows, factor) if op.output.format is Format.DL16 else rows.sum(-1) * factor
    if "S48" in op.defects:
        total = total * 0.5  # all dims of a rank-5 tensor: deterministic and wrong (A12); the amount is not published
    if "S46" in op.defects:
        total[64:] = 0.0
    if "S50" in op.defects:
        total[1::2] = _every_other_stick(rows[1::2]).sum(-1) * factor
    return total.reshape(op.output.shape)


def _every_other_stick(rows: Tensor) -> Tensor:
    """[n, width] without the second of each two float32 sticks: half the sum, as 0.4967 and 0.2517 tell (S50)."""
    kept = torch.arange(rows.shape[-1]) % 64 < 32
    return rows * kept


def dl16_sums(arithmetic: Arithmetic, rows: Tensor, factor: float = 1.0) -> Tensor:
    """The sum of each row of a contiguous [rows, n] times a factor, which enters where the profile says (A10)."""
    n = arithmetic.numerics
    source = array(rows)
    out = np.empty(source.shape[0], np.float32)
    inside = factor if n.mean_factor == "element" else 1.0
    if n.sum_order == "pairs":
        number = np.float32(inside)
        over_rows(len(source), source.size, lambda part: compiled.sum_rows_loop(source[part], number, out[part]))
    else:
        if inside != 1.0:
            source = array(arithmetic.round(rows * inside, Format.DL16))
        loop = compiled.chunked_sum_loop if n.sum_within == "dl16" else compiled.float_sum_loop
        over_rows(len(source), source.size, lambda part: loop(source[part], int(n.sum_chunk), out[part]))
    total = torch.from_numpy(out)
    return total if inside == factor else arithmetic.round(total * factor, Format.DL16)


def mean_factor(arithmetic: Arithmetic, count: int, fmt: Format) -> float:
    """1/N as the constant inside the reduction, in the format it is encoded in (A11, A32)."""
    factor = 1.0 / count
    kind = arithmetic.numerics.mean_constant
    if fmt is not Format.DL16 or kind == "float32":
        return float(np.float32(factor))
    if kind == "float16":
        return float(np.float16(factor))
    return arithmetic.number(factor, Format.DL16)


@kernel("prod")
def product(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    """The product of each row, rounded once: how it is accumulated is not published."""
    rows, _ = _rows(inputs[0], op.attributes["dims"])
    return arithmetic.round(rows.prod(-1).reshape(op.output.shape).contiguous(), op.output.format)


@kernel("max", "min")
def extremes(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    rows, _ = _rows(inputs[0], op.attributes["dims"])
    result = rows.amax(-1) if op.kernel == "max" else rows.amin(-1)
    return result.reshape(op.output.shape)


def _rows(tensor: Tensor, dims: Sequence[int]) -> tuple[Tensor, int]:
    """[kept, reduced] contiguous, and how many are reduced."""
    values = contiguous(tensor)
    kept = [dim for dim in range(len(values.shape)) if dim not in dims]
    moved = values.permute([*kept, *dims]) if len(values.shape) else values.reshape(1)
    count = 1
    for dim in dims:
        count *= values.shape[dim]
    return moved.reshape(-1, count).contiguous(), count
