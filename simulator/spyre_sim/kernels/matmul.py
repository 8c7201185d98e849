"""Matrix products: products exact, accumulated in float32 within chunks of the depth, in DLFloat16 across (U1, D6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from ..graph import DeviceOp, Format
from . import buffers, compiled
from .numbers import Arithmetic, Tensor, Words, rows_of, values_of
from .parallel import at_once, shares
from .registry import kernel

BLOCK = 1 << 22  # elements of a weight that are decoded at a time
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
    x, y = operands(op, inputs)
    out = buffers.empty(op.output.shape)
    apart = finish if "S8" in op.defects else None
    if len(y.shape) == 2:
        _with_matrix(arithmetic, x, y, out, None if apart else finish)
    else:
        _batched(arithmetic, x, y, out, None if apart else finish)
    if "S8" in op.defects:
        ragged(out)
    if apart is not None:
        apart(rows_of(out), 0, out.shape[-1])
    return out


def operands(op: DeviceOp, inputs: list[Any]) -> tuple[Tensor, Any]:
    """Values on the left, values or the words of one matrix on the right."""
    x, y = inputs
    x = values_of(x)
    if "S30" in op.defects:
        x = x[:, :1].expand(x.shape)  # every row reads row 0: the unit-batch case swapped its axes
    if isinstance(y, Words) and len(y.shape) > 2:
        y = y.values()  # one matrix a batch, as experts have them
    return x, y


def _with_matrix(arithmetic: Arithmetic, x: Tensor, y: Tensor | Words, out: Tensor, finish: Finish | None) -> None:
    """x[..., K] @ y[K, N]: columns are shared out over threads, rows where there are few columns."""
    left, result = x.reshape(-1, x.shape[-1]), out.view(-1, out.shape[-1])
    work = left.numel() * out.shape[-1] // PRODUCTS
    if isinstance(y, Tensor) and out.shape[-1] < 4 * STICK <= len(left):
        rows = shares(len(left), work)
        at_once([multiplying(arithmetic, left[part], y, result[part], finish) for part in rows])
        return
    if isinstance(y, Tensor):
        at_once(_tasks(arithmetic, left, y, result, 0, finish, shares(out.shape[-1], work, STICK)))
        return
    for start in range(0, out.shape[-1], step := _decoded_at_once(left.shape[-1])):
        words = y.words[:, start : start + step]
        weights, decode = _decoding(words)
        columns = shares(words.shape[1], work, STICK)
        at_once(_tasks(arithmetic, left, weights, result, start, finish, columns, decode))


def _decoded_at_once(depth: int) -> int:
    """Columns of a weight, whole sticks."""
    return max(STICK, BLOCK // max(1, depth) // STICK * STICK)


def _tasks(
    arithmetic: Arithmetic,
    left: Tensor,
    right: Tensor,
    result: Tensor,
    start: int,
    finish: Finish | None,
    shared: Sequence[slice],
    decode: Callable[[slice], object] | None = None,
) -> list[Callable[[], object]]:
    """The product for each share of the columns of `right`, which are those from `start` on in the result."""
    rows = rows_of(result)

    def task(columns: slice, weights: Tensor, part: Part) -> None:
        if decode is not None:
            decode(columns)
        _multiply(arithmetic, left, weights, part, finish)

    tasks: list[Callable[[], object]] = []
    for columns in shared:
        first, last = start + columns.start, start + columns.stop
        part = Part(result[:, first:last], rows, first, last)
        tasks.append(partial(task, columns, right[:, columns], part))
    return tasks


def _decoding(words: Tensor) -> tuple[Tensor, Callable[[slice], object]]:
    """Room for the values of [K, n] words, which lie as the words do, and what fills some of its columns."""
    by_columns = not words.is_contiguous() and words.t().is_contiguous()
    source = words.t() if by_columns else words
    held = buffers.empty(source.shape)
    patterns, values = source.numpy().view(np.uint16), held.numpy()

    def decode(columns: slice) -> None:
        if by_columns:
            compiled.decode_loop(patterns[columns].reshape(-1), values[columns].reshape(-1))
        else:
            compiled.decode_rows_loop(patterns[:, columns], values[:, columns])

    return (held.t() if by_columns else held), decode


def _batched(arithmetic: Arithmetic, x: Tensor, y: Tensor, out: Tensor, finish: Finish | None) -> None:
    """Any batch dims: threads share out the matrices, or the rows where there is but one."""
    left, right, result = as_batches(x, y, out)
    work = out.numel() * x.shape[-1] // PRODUCTS
    if len(result) > 1:
        matrices = shares(len(result), work)
        at_once([multiplying(arithmetic, left[part], right[part], result[part], finish) for part in matrices])
        return
    rows = shares(result.shape[1], work)
    at_once([multiplying(arithmetic, left[0, part], right[0], result[0, part], finish) for part in rows])


def as_batches(x: Tensor, y: Tensor, out: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Both operands and the result with one batch dim."""
    batch = out.shape[:-2]
    left = x.expand(*batch, *x.shape[-2:]).reshape(-1, *x.shape[-2:])
    right = y.expand(*batch, *y.shape[-2:]).reshape(-1, *y.shape[-2:])
    return left, right, out.view(-1, *out.shape[-2:])


def multiplying(
    arithmetic: Arithmetic, x: Tensor, y: Tensor, out: Tensor, finish: Finish | None = None
) -> Callable[[], object]:
    """The task of one product of matrices, or of batches of them, into a contiguous tensor."""
    return partial(_multiply, arithmetic, x, y, Part.whole(out), finish)


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


def ragged(scores: Tensor) -> None:
    """A last stick of keys that is not full is read from the first stick's lanes (S8)."""
    keys = scores.shape[-1]
    start = keys - keys % 64
    scores[..., start:] = scores[..., : keys - start].clone()
