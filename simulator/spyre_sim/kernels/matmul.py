"""Matrix products: products exact, accumulated in float32 within chunks of the depth, in DLFloat16 across (U1, D6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..graph import DeviceOp, Format
from . import buffers, compiled
from .numbers import Arithmetic, Tensor, Words, rows_of
from .parallel import over_rows
from .registry import kernel

BLOCK = 1 << 20  # elements of a weight that a thread decodes at a time
STICK = 64  # columns that threads share out together
PRODUCTS = 16  # multiplications that take as long as one element of other work

# What is done to the columns `first` to `last` of rows of a result while they are at hand.
Finish = Callable[[Any, int, int], None]


@dataclass(frozen=True)
class Part:
    """Columns `first` to `last` of a result: as a tensor for BLAS, and in the [rows, all columns] of the whole."""

    tensor: Tensor
    rows: Any
    first: int
    last: int

    @staticmethod
    def whole(tensor: Tensor) -> Part:
        """All of a contiguous result."""
        return Part(tensor, rows_of(tensor), 0, tensor.shape[-1])


@kernel("batchmatmul")
def batchmatmul(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    if op.output.format is Format.DL16 and arithmetic.plain and "S8" not in op.defects:
        return product(arithmetic, op, inputs, compiled.round_columns_loop)
    return arithmetic.round(product(arithmetic, op, inputs), op.output.format)


def product(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any], finish: Finish | None = None) -> Tensor:
    """The product before the result is rounded, then `finish` on each part of it, in place, where it was computed."""
    x, y = inputs
    x = x.values() if isinstance(x, Words) else x
    if "S30" in op.defects:
        x = x[:, :1].expand(x.shape)  # every row reads row 0: the unit-batch case swapped its axes
    out = buffers.empty(op.output.shape)
    if isinstance(y, Words) and len(y.shape) > 2:
        y = y.values()  # one matrix a batch, as experts have them
    apart = finish if "S8" in op.defects else None
    if len(y.shape) == 2:
        _with_matrix(arithmetic, x, y, out, None if apart else finish)
    else:
        _batched(arithmetic, x, y, out, None if apart else finish)
    if "S8" in op.defects:
        _ragged(out)
    if apart is not None:
        apart(rows_of(out), 0, out.shape[-1])
    return out


def _with_matrix(arithmetic: Arithmetic, x: Tensor, y: Tensor | Words, out: Tensor, finish: Finish | None) -> None:
    """x[..., K] @ y[K, N]: columns are shared out over threads, rows where there are few columns."""
    left, result = x.reshape(-1, x.shape[-1]), out.view(-1, out.shape[-1])
    work = left.numel() * out.shape[-1] // PRODUCTS
    if isinstance(y, Tensor) and out.shape[-1] < 4 * STICK <= len(left):
        over_rows(len(left), work, lambda rows: _multiply(arithmetic, left[rows], y, Part.whole(result[rows]), finish))
        return
    rows = rows_of(result)

    def block(columns: slice) -> None:
        for first, last in _steps(columns, left.shape[-1] if isinstance(y, Words) else 0):
            weights = _decoded(y.words[:, first:last]) if isinstance(y, Words) else y[:, first:last]
            _multiply(arithmetic, left, weights, Part(result[:, first:last], rows, first, last), finish)

    over_rows(out.shape[-1], work, block, STICK)


def _steps(columns: slice, depth: int) -> list[tuple[int, int]]:
    """Columns in steps of so many that a thread decodes at a time, whole sticks; all at once where depth is 0."""
    count = max(STICK, BLOCK // depth // STICK * STICK) if depth else max(1, columns.stop - columns.start)
    return [(first, min(first + count, columns.stop)) for first in range(columns.start, columns.stop, count)]


def _decoded(words: Tensor) -> Tensor:
    """[K, n] words, whichever way they lie, as values that lie the same way."""
    if not words.is_contiguous() and words.t().is_contiguous():
        return _decoded(words.t()).t()
    source = words.contiguous()
    out = buffers.empty(source.shape)
    compiled.decode_loop(source.numpy().view(np.uint16).reshape(-1), out.numpy().reshape(-1))
    return out


def _batched(arithmetic: Arithmetic, x: Tensor, y: Tensor, out: Tensor, finish: Finish | None) -> None:
    """Any batch dims: threads share out the matrices, or the rows where there is but one."""
    left, right, result = as_batches(x, y, out)
    work = out.numel() * x.shape[-1] // PRODUCTS
    if len(result) > 1:
        over_rows(len(result), work, lambda part: multiply_batches(arithmetic, left, right, result, part, finish))
        return

    def block(rows: slice) -> None:
        _multiply(arithmetic, left[0, rows], right[0], Part.whole(result[0, rows]), finish)

    over_rows(result.shape[1], work, block)


def as_batches(x: Tensor, y: Tensor, out: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Both operands and the result with one batch dim."""
    batch = out.shape[:-2]
    left = x.expand(*batch, *x.shape[-2:]).reshape(-1, *x.shape[-2:])
    right = y.expand(*batch, *y.shape[-2:]).reshape(-1, *y.shape[-2:])
    return left, right, out.view(-1, *out.shape[-2:])


def multiply_batches(
    arithmetic: Arithmetic, left: Tensor, right: Tensor, result: Tensor, part: slice, finish: Finish | None = None
) -> None:
    """The products of some of the matrices of `as_batches`."""
    _multiply(arithmetic, left[part], right[part], Part.whole(result[part]), finish)


def _multiply(arithmetic: Arithmetic, x: Tensor, y: Tensor, out: Part, finish: Finish | None) -> None:
    """x @ y, matrices or batches of them; rounded from chunk to chunk of a depth of more than one (U1)."""
    chunk, depth = int(arithmetic.numerics.matmul_chunk), x.shape[-1]
    multiply: Callable[..., Any] = torch.mm if x.dim() == 2 else torch.bmm
    if depth <= chunk or arithmetic.numerics.matmul_across == "float32":
        multiply(x, y, out=out.tensor)
    else:
        _multiply_chunks(arithmetic, x, y, out, multiply)
    if finish is not None:
        finish(out.rows, out.first, out.last)


def _multiply_chunks(arithmetic: Arithmetic, x: Tensor, y: Tensor, out: Part, multiply: Callable[..., Any]) -> None:
    chunk = int(arithmetic.numerics.matmul_chunk)
    part = buffers.empty(out.tensor.shape)
    for start in range(0, x.shape[-1], chunk):
        factors = x[..., start : start + chunk], y[..., start : start + chunk, :]
        if not start:
            multiply(*factors, out=out.tensor)
        elif arithmetic.plain:
            multiply(*factors, out=part)
            compiled.add_part_loop(out.rows, out.first, out.last, rows_of(part))
        else:
            _add_part(arithmetic, out.tensor, multiply(*factors, out=part))


def _add_part(arithmetic: Arithmetic, total: Tensor, part: Tensor) -> None:
    """total = round(round(total) + round(part)) with a rounding that is not the device's own."""
    held = arithmetic.round(total.contiguous().clone(), Format.DL16)
    total.copy_(arithmetic.round(held.add_(arithmetic.round(part, Format.DL16)), Format.DL16))


def _ragged(scores: Tensor) -> None:
    """A last stick of keys that is not full is read from the first stick's lanes (S8)."""
    keys = scores.shape[-1]
    start = keys - keys % 64
    scores[..., start:] = scores[..., : keys - start].clone()
