"""Compiled loops of layer_norm: moments, scale and result of each row, rounded as its three kernels round (A20)."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ..formats.compiled import rounded
from .compiled import add_loop, jit


@jit
def moments_loop(rows: Any, narrow: bool, out: Any) -> None:
    """out[r] = (E[x], E[x^2]) of rows[r], in DLFloat16 if `narrow` (A20, U2)."""
    for r in range(rows.shape[0]):
        total, squares = _moments(rows[r])
        out[r, 0] = rounded(total) if narrow else total
        out[r, 1] = rounded(squares) if narrow else squares


@numba.njit(error_model="numpy", nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _moments(row: Any) -> Any:
    """E[x] and E[x^2] in float32; the order of a sum in float32 is not modelled, so the compiler may choose it."""
    total, squares = np.float32(0), np.float32(0)
    for c in range(row.size):
        total += row[c]
        squares += row[c] * row[c]
    factor = np.float32(1) / np.float32(row.size)
    return total * factor, squares * factor


@jit
def norm_scale_loop(moments: Any, eps: float, out: Any) -> None:
    """out[r] = round(rsqrt(E[x^2] - E[x]^2 + eps)): what cancels there is gone (A21, S10)."""
    for r in range(moments.shape[0]):
        out[r] = _norm_scale(moments[r, 0], moments[r, 1], eps)


@numba.njit(inline="always", error_model="numpy")
def _norm_scale(mean: Any, square: Any, eps: Any) -> Any:
    variance = np.float32(square - np.float32(mean * mean)) + np.float32(eps)
    return rounded(np.float32(1) / np.sqrt(np.float32(variance)))


@jit
def norm_loop(rows: Any, moments: Any, scale: Any, weight: Any, bias: Any, out: Any) -> None:
    """out = round((x - E[x]) * scale * weight + bias)."""
    for r in range(rows.shape[0]):
        mean, factor = moments[r, 0], scale[r]
        for c in range(rows.shape[1]):
            out[r, c] = rounded((rows[r, c] - mean) * factor * weight[c] + bias[c])


@jit
def _layer_norm_row(row: Any, narrow: bool, eps: float, weight: Any, bias: Any, out: Any) -> None:
    """The three kernels of layer_norm."""
    mean, square = _moments(row)
    mean = rounded(mean) if narrow else mean
    square = rounded(square) if narrow else square
    factor = _norm_scale(mean, square, eps)
    for c in range(row.size):
        out[c] = rounded((row[c] - mean) * factor * weight[c] + bias[c])


@jit
def layer_norm_loop(rows: Any, narrow: bool, eps: float, weight: Any, bias: Any, out: Any) -> None:
    """The three kernels of layer_norm on each row in turn."""
    for r in range(rows.shape[0]):
        _layer_norm_row(rows[r], narrow, eps, weight, bias, out[r])


@jit
def add_and_norm_loop(x: Any, y: Any, narrow: bool, eps: float, weight: Any, bias: Any, out: Any) -> None:
    """As `layer_norm_loop`, of round(x + y).

    The sum has a row of its own, which stays in the first cache: two names for one array stop vectors.
    """
    held = np.empty(out.shape[1], np.float32)
    for r in range(out.shape[0]):
        add_loop(x[r], y[r], held)
        _layer_norm_row(held, narrow, eps, weight, bias, out[r])
