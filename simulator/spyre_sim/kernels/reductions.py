"""Reductions: sums in DLFloat16 by chunks, mean times a rounded 1/N, extremes exact (A1, A2, A32)."""

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
    if op.output.format is Format.DL16:
        total = dl16_sums(arithmetic, rows)
    else:
        total = rows.sum(-1)
    if op.kernel == "mean":
        total = arithmetic.round(total * mean_factor(arithmetic, count, op.output.format), op.output.format)
    if "S48" in op.defects:
        total = total * 0.5  # all dims of a rank-5 tensor: deterministic and wrong (A12); the amount is not published
    return total.reshape(op.output.shape)


def dl16_sums(arithmetic: Arithmetic, rows: Tensor) -> Tensor:
    """The sum of each row of a contiguous [rows, n]."""
    source = array(rows)
    out = np.empty(source.shape[0], np.float32)
    chunk = int(arithmetic.numerics.sum_chunk)
    within = arithmetic.numerics.sum_within
    loop = compiled.row_sum_loop if within == "dl16" else compiled.row_sum_float_loop
    over_rows(source.shape[0], source.size, lambda part: loop(source[part], chunk, out[part]))
    return torch.from_numpy(out)


def mean_factor(arithmetic: Arithmetic, count: int, fmt: Format) -> float:
    """1/N as the constant inside the reduction, in the format it is encoded in (A11, A32)."""
    factor = 1.0 / count
    kind = arithmetic.numerics.mean_constant
    if fmt is not Format.DL16 or kind == "float32":
        return float(np.float32(factor))
    if kind == "float16":
        return float(np.float16(factor))
    return arithmetic.number(factor, Format.DL16)


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
