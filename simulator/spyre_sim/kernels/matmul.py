"""Matrix products: products exact, accumulated in float32 within chunks, the result rounded (U1, D6)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..graph import DeviceOp, Format
from .compiled import decode_loop
from .numbers import Arithmetic, Tensor, Words
from .parallel import over_rows
from .registry import kernel

BLOCK = 1 << 22  # elements of a weight that are decoded at a time


@kernel("batchmatmul")
def batchmatmul(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    out = raw_product(arithmetic, op, inputs)
    return arithmetic.round(out, op.output.format)


def raw_product(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    """The product before the result is rounded, for kernels that go on with it."""
    x, y = inputs
    x = x.values() if isinstance(x, Words) else x
    if "S30" in op.defects:
        x = x[:, :1].expand(x.shape)  # every row reads row 0: the unit-batch case swapped its axes
    out = torch.empty(op.output.shape, dtype=torch.float32)
    if isinstance(y, Words) and len(y.shape) > 2:
        y = y.values()  # one matrix a batch, as experts have them
    if arithmetic.numerics.matmul_across == "dl16":
        _chunked(arithmetic, x, y.values() if isinstance(y, Words) else y, out)
    elif isinstance(y, Words):
        _with_words(x.contiguous(), y.words, out)
    else:
        _batched(x, y, out)
    if "S8" in op.defects:
        _ragged(out)
    return out


def _with_words(x: Tensor, words: Tensor, out: Tensor) -> None:
    """x[..., K] @ words[K, N]; a block of columns is decoded at a time."""
    rows, result = x.reshape(-1, x.shape[-1]), out.view(-1, out.shape[-1])
    depth, columns = words.shape
    step = max(64, BLOCK // depth)
    for start in range(0, columns, step):
        part = words[:, start : start + step]
        weights = _decoded(part.t()).t() if part.t().is_contiguous() else _decoded(part.contiguous())
        torch.mm(rows, weights, out=result[:, start : start + step])


def _decoded(words: Tensor) -> Tensor:
    source = words.numpy().view(np.uint16)
    out = np.empty(source.shape, np.float32)

    def block(rows: slice) -> None:
        decode_loop(source[rows].reshape(-1), out[rows].reshape(-1))

    over_rows(source.shape[0], source.size, block)
    return torch.from_numpy(out)


def _batched(x: Tensor, y: Tensor, out: Tensor) -> None:
    """Any batch dims. One library, torch's, does all products: it spreads a batch over threads by itself."""
    if len(y.shape) == 2:
        torch.mm(x.reshape(-1, x.shape[-1]), y, out=out.view(-1, out.shape[-1]))
        return
    batch = out.shape[:-2]
    left = x.expand(*batch, *x.shape[-2:]).reshape(-1, *x.shape[-2:])
    right = y.expand(*batch, *y.shape[-2:]).reshape(-1, *y.shape[-2:])
    torch.bmm(left, right, out=out.view(-1, *out.shape[-2:]))


def _chunked(arithmetic: Arithmetic, x: Tensor, y: Tensor, out: Tensor) -> None:
    """DLFloat16 from chunk to chunk of the contraction (U1)."""
    out.zero_()
    chunk = int(arithmetic.numerics.matmul_chunk)
    for start in range(0, x.shape[-1], chunk):
        part = torch.matmul(x[..., start : start + chunk], y[..., start : start + chunk, :])
        out += arithmetic.round(part.contiguous(), Format.DL16)
        arithmetic.round(out, Format.DL16)


def _ragged(scores: Tensor) -> None:
    """A last stick of keys that is not full is read from the first stick's lanes (S8)."""
    keys = scores.shape[-1]
    start = keys - keys % 64
    scores[..., start:] = scores[..., : keys - start].clone()
