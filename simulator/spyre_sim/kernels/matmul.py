"""Matrix products: products exact, accumulated in float32 within chunks, the result rounded (U1, D6)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..formats import decode_dl16
from ..graph import DeviceOp, Format
from .numbers import Arithmetic, Tensor, Words, array
from .parallel import over_rows, threads
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
    rows, result = array(x).reshape(-1, x.shape[-1]), array(out).reshape(-1, out.shape[-1])
    depth, columns = words.shape
    step = max(64, BLOCK // depth)
    for start in range(0, columns, step):
        part = words[:, start : start + step]
        if part.t().is_contiguous():
            weights = _decoded(part.t()).T
        else:
            weights = _decoded(part.contiguous())
        np.matmul(rows, weights, out=result[:, start : start + step])


def _decoded(words: Tensor) -> Any:
    source = words.numpy().view(np.uint16)
    out = np.empty(source.shape, np.float32)

    def block(rows: slice) -> None:
        out[rows] = decode_dl16(source[rows])

    over_rows(source.shape[0], source.size, block)
    return out


def _batched(x: Tensor, y: Tensor, out: Tensor) -> None:
    """Any batch dims; the matrices of a batch are spread over threads."""
    if len(out.shape) == 2 or (x.shape[:-2].numel() == 1 and y.shape[:-2].numel() == 1):
        np.matmul(x.numpy(), y.numpy(), out=out.numpy())
        return
    if len(y.shape) == 2:
        flat = array(x.contiguous()).reshape(-1, x.shape[-1])
        np.matmul(flat, y.numpy(), out=array(out).reshape(-1, out.shape[-1]))
        return
    batch = out.shape[:-2]
    left = x.expand(*batch, *x.shape[-2:])
    right = y.expand(*batch, *y.shape[-2:])
    lead = batch[0]
    if lead < threads():
        np.matmul(left.numpy(), right.numpy(), out=out.numpy())
        return
    a, b, c = left.numpy(), right.numpy(), out.numpy()
    over_rows(lead, c.size, lambda rows: np.matmul(a[rows], b[rows], out=c[rows]))


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
