"""How the device adds up a row, as far as published results tell (facts A1, A10, A11, A32).

No source states the order of additions. But issue #2400 publishes a sum and a mean of the squares of one input,
0.001 * randn(4096) of seed 42, for float16 and bfloat16, and they leave little room. Neighbours are added in pairs by
multiply-add, and it is there that a mean's factor 1/N enters, so that a product below the smallest number is lost;
the pairs of each stick are added to those of the sticks before it, lane by lane; last the lanes are halved until one
is left. Every result is rounded. With a copy to the device that truncates, and a readback as it was before June 2026,
all four figures come out to the bit. A single long chain, wider accumulators, a factor applied to the total, or pairs
other than neighbours each miss at least one of them. (Adding the lanes as neighbours instead of halves fits as well.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .dlfloat import Float32Array, as_float32, round_dl16_numpy

LANES = 64


def sum_rows(values: Any, factor: float = 1.0) -> Float32Array:
    """The sums over the last dim of `values` times `factor`, on the DLFloat16 grid.

    `values`: float32 [..., n] on the grid; the result is float32 [...]. A mean passes its rounded 1/N as `factor`: it
    multiplies each element, so what falls below 2^-31 is lost before it is added (S47). n = 0 gives 0. Compiled code
    calls `compiled.sum_row(row, factor, lanes)`.
    """
    from .compiled import sum_rows_loop

    source = as_float32(values)
    out = np.zeros(math.prod(source.shape[:-1]), np.float32)
    rows = np.ascontiguousarray(source).reshape(out.size, source.shape[-1])
    sum_rows_loop(rows, np.float32(factor), out)
    return out.reshape(source.shape[:-1])


def sum_rows_numpy(values: Any, factor: float = 1.0) -> Float32Array:
    """`sum_rows` in plain NumPy expressions: the twin that the compiled loop is tested against."""
    source = as_float32(values)
    sticks = -(-source.shape[-1] // LANES)
    padded = np.zeros((*source.shape[:-1], sticks * LANES), np.float32)
    padded[..., : source.shape[-1]] = source
    products = padded.reshape(*source.shape[:-1], sticks, LANES) * np.float32(factor)
    pairs = round_dl16_numpy(round_dl16_numpy(products[..., 0::2]) + products[..., 1::2])
    lanes = np.zeros((*source.shape[:-1], LANES // 2), np.float32)
    for stick in range(sticks):
        lanes = round_dl16_numpy(lanes + pairs[..., stick, :])
    while lanes.shape[-1] > 1:
        half = lanes.shape[-1] // 2
        lanes = round_dl16_numpy(lanes[..., :half] + lanes[..., half:])
    return np.asarray(lanes[..., 0])
