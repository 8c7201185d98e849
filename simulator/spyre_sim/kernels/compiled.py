"""Compiled loops that fuse arithmetic with rounding to the DLFloat16 grid; each handles whole rows.

All arrays are C-contiguous float32 (words: uint16). The loops release the interpreter's lock and are called on blocks
of rows from two threads or more by `parallel`. Rounding is `formats.compiled.round_bits`, the device's only mode (N2).
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ..formats.compiled import decode_loop, decode_rows_loop, look_up_loop, plain_sum_row, rounded, sum_rows_loop
from ..formats.dlfloat import DROPPED_BITS, INFINITY_BITS, MAGNITUDE_BITS, MIN_BITS, NAN_WORD, REBIAS, SIGN_BIT

_DROPPED = np.uint32(DROPPED_BITS)
_REBIAS = np.uint32(REBIAS)
_NAN_WORD = np.uint32(NAN_WORD)
_ZERO = np.uint32(0)
_LEAST_FLOAT16 = np.float32(2.0**-14)  # that is not subnormal
_LEAST_FLOAT16_BITS = _LEAST_FLOAT16.view(np.uint32)
_MOST_FLOAT16_BITS = np.float32(65504.0).view(np.uint32)
_FLOAT16_STEPS = np.float32(2.0**24)  # of the subnormals, in 1
_FLOAT16_REBIAS = np.uint32((127 - 15) << 10)
_FLOAT16_INFINITY = np.uint32(0x7C00)
_FLOAT16_NAN = np.uint32(0x7E00)
BLOCK = 1024  # words that are looked up at a time: they stay in the first cache


def jit(function: Any) -> Any:
    """Compile on first call; cache where a folder for it can be written."""
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:
        return numba.njit(nogil=True, error_model="numpy")(function)


@numba.njit(inline="always", error_model="numpy")
def word_of(value: Any) -> Any:
    """The word of a float32 that lies on the grid, as an index 0..65535."""
    bits = np.float32(value).view(np.uint32)
    magnitude = np.uint32(bits & MAGNITUDE_BITS)
    word = np.uint32(np.uint32(magnitude >> _DROPPED) - _REBIAS)
    word = _ZERO if magnitude < MIN_BITS else word
    word = _NAN_WORD if word > _NAN_WORD else word
    return np.uint32(word | np.uint32(np.uint32(bits >> np.uint32(31)) << np.uint32(15)))


@jit
def words_loop(values: Any, words: Any) -> None:
    """words[i] = the word of values[i], uint16; values on the grid. 1-D."""
    for i in range(values.size):
        words[i] = word_of(values[i])


@jit
def table_loop(values: Any, table: Any, out: Any) -> None:
    """out[i] = table[word of values[i]]; values on the grid, a table of float32 or of int16 words. 1-D.

    In blocks, the words first and the look-up after: the one is vector code and the other cannot be, and in one loop
    neither would be.
    """
    words = np.empty(BLOCK, np.uint16)
    for start in range(0, values.size, BLOCK):
        stop = min(start + BLOCK, values.size)
        words_loop(values[start:stop], words)
        look_up_loop(table, words[: stop - start], out[start:stop])


@jit
def float16_loop(values: Any, out: Any) -> None:
    """out[i] = the int16 pattern of values[i] in float16, for a stack that truncates what is subnormal there. 1-D.

    It is arithmetic, so it is vector code; `transfers.down` takes it where it agrees with the stack's table.
    """
    for i in range(values.size):
        bits = np.float32(values[i]).view(np.uint32)
        magnitude = np.uint32(bits & MAGNITUDE_BITS)
        small = min(abs(values[i]), _LEAST_FLOAT16) * _FLOAT16_STEPS
        word = np.uint32(np.uint32(magnitude >> np.uint32(13)) - _FLOAT16_REBIAS)
        word = np.uint32(np.int32(small)) if magnitude < _LEAST_FLOAT16_BITS else word
        word = _FLOAT16_INFINITY if magnitude > _MOST_FLOAT16_BITS else word
        word = np.uint32(word | np.uint32(np.uint32(bits & SIGN_BIT) >> np.uint32(16)))
        out[i] = np.int16(np.uint16(_FLOAT16_NAN if magnitude > INFINITY_BITS else word))


@jit
def round_columns_loop(rows: Any, first: int, last: int) -> None:
    """rows[r, c] = round(rows[r, c]) for columns `first` to `last`, in place."""
    for r in range(rows.shape[0]):
        row = rows[r, first:last]
        for c in range(row.size):
            row[c] = rounded(row[c])


@jit
def add_part_loop(rows: Any, first: int, last: int, part: Any) -> None:
    """As `round_columns_loop`, of round(rows[r, c]) + round(part[r, c - first])."""
    for r in range(rows.shape[0]):
        row, added = rows[r, first:last], part[r]
        for c in range(row.size):
            row[c] = rounded(rounded(row[c]) + rounded(added[c]))


@jit
def bias_loop(rows: Any, first: int, last: int, bias: Any) -> None:
    """As `round_columns_loop`, of round(rows[r, c]) + bias[c]."""
    added = bias[first:last]
    for r in range(rows.shape[0]):
        row = rows[r, first:last]
        for c in range(row.size):
            row[c] = rounded(rounded(row[c]) + added[c])


@jit
def bias_table_loop(rows: Any, first: int, last: int, bias: Any, table: Any) -> None:
    """As `bias_loop`, then through a table."""
    added, words = bias[first:last], np.empty(last - first, np.uint16)
    for r in range(rows.shape[0]):
        row = rows[r, first:last]
        for c in range(row.size):
            words[c] = word_of(rounded(rounded(row[c]) + added[c]))
        look_up_loop(table, words, row)


@jit
def add_loop(x: Any, y: Any, out: Any) -> None:
    """out = round(x + y). 1-D."""
    for i in range(x.size):
        out[i] = rounded(x[i] + y[i])


@jit
def mul_loop(x: Any, y: Any, out: Any) -> None:
    """out = round(x * y). 1-D."""
    for i in range(x.size):
        out[i] = rounded(x[i] * y[i])


@jit
def strided_rows_loop(flat: Any, offset: int, sizes: Any, strides: Any, out: Any, factor: Any, start: int) -> None:
    """out[r] = round(flat row * factor) for the rows `start`.. of a view of three outer dims and a contiguous last.

    A factor of 1 copies: values on the grid stay as they are.
    """
    one, two = sizes[1], sizes[2]
    i, j, k = start // (one * two), start // two % one, start % two
    for r in range(out.shape[0]):
        first = offset + i * strides[0] + j * strides[1] + k * strides[2]
        source, target = flat[first : first + out.shape[1]], out[r]
        for c in range(target.size):
            target[c] = rounded(source[c] * factor)
        k += 1
        if k == two:
            j, k = j + 1, 0
        if j == one:
            i, j = i + 1, 0


@jit
def store_heads_loop(matrices: Any, first: int, out: Any) -> None:
    """Matrices `first` and on of [B * H, rows, columns], rounded, to their places in `out` [B, rows, H, columns]."""
    heads = out.shape[2]
    for n in range(matrices.shape[0]):
        batch, head = (first + n) // heads, (first + n) % heads
        for r in range(matrices.shape[1]):
            row, target = matrices[n, r], out[batch, r, head]
            for c in range(row.size):
                target[c] = rounded(row[c])


@numba.njit(error_model="numpy", nogil=True, cache=True, fastmath={"nnan", "nsz", "reassoc"})
def _top(row: Any) -> Any:
    """The maximum. Where the row holds a NaN it may be any of its elements: the row's sum is NaN in the end anyway."""
    top = row[0]
    for c in range(row.size):
        top = row[c] if row[c] > top else top
    return top


@jit
def _softmax_row(row: Any, out: Any, table: Any, words: Any, lanes: Any) -> None:
    """`out` may be `row`; `words`, uint16 [n], and `lanes`, float32 [32], are scratch."""
    top = _top(row)
    for c in range(row.size):
        words[c] = word_of(rounded(row[c] - top))
    look_up_loop(table, words, out)
    total = plain_sum_row(out, lanes)
    for c in range(out.size):
        out[c] = rounded(out[c] / total)


@jit
def softmax_loop(scores: Any, table: Any) -> None:
    """Rows of scores -> softmax, in place, each of the five kernels rounding its result (A27). `table`: of exp."""
    softmax_into_loop(scores, scores, table)


@jit
def softmax_into_loop(scores: Any, out: Any, table: Any) -> None:
    """As `softmax_loop`, into another array."""
    words, lanes = np.empty(scores.shape[1], np.uint16), np.empty(32, np.float32)
    for r in range(scores.shape[0]):
        _softmax_row(scores[r], out[r], table, words, lanes)


@jit
def masked_softmax_loop(scores: Any, mask: Any, first: int, heads: int, table: Any) -> None:
    """As `softmax_loop` on [n, rows, columns], the scores rounded and a mask added first, rounded too.

    `mask` [batch, 1 or heads, 1 or rows, columns]; the scores are those of matrix `first` of batch x heads and on.
    """
    words, lanes = np.empty(scores.shape[2], np.uint16), np.empty(32, np.float32)
    for n in range(scores.shape[0]):
        matrix = (first + n) % heads if mask.shape[1] > 1 else 0
        extra = mask[(first + n) // heads if mask.shape[0] > 1 else 0, matrix]
        for r in range(scores.shape[1]):
            row, added = scores[n, r], extra[r if extra.shape[0] > 1 else 0]
            for c in range(row.size):
                row[c] = rounded(rounded(row[c]) + added[c])
            _softmax_row(row, row, table, words, lanes)


@jit
def raw_softmax_loop(scores: Any, table: Any) -> None:
    """As `softmax_loop` on [n, rows, columns], the scores rounded first."""
    words, lanes = np.empty(scores.shape[2], np.uint16), np.empty(32, np.float32)
    for n in range(scores.shape[0]):
        for r in range(scores.shape[1]):
            row = scores[n, r]
            for c in range(row.size):
                row[c] = rounded(row[c])
            _softmax_row(row, row, table, words, lanes)


@numba.njit(error_model="numpy", nogil=True, cache=True)
def chunked_sum(row: Any, scratch: Any) -> Any:
    """Another order: chunks of scratch.size elements by halves, chunk totals in order, all rounded (A2)."""
    total = np.float32(0)
    chunk = scratch.size
    for start in range(0, row.size, chunk):
        width = min(chunk, row.size - start)
        scratch[:width] = row[start : start + width]
        while width > 1:
            half = (width + 1) // 2
            for i in range(width - half):
                scratch[i] = rounded(scratch[i] + scratch[half + i])
            width = half
        total = rounded(total + scratch[0])
    return total


@jit
def chunked_sum_loop(rows: Any, chunk: int, out: Any) -> None:
    """out[r] = the sum of rows[r] in DLFloat16, by chunks."""
    scratch = np.empty(chunk, np.float32)
    for r in range(rows.shape[0]):
        out[r] = chunked_sum(rows[r], scratch)


@jit
def float_sum_loop(rows: Any, chunk: int, out: Any) -> None:
    """out[r] = the sum of rows[r], float32 within chunks and DLFloat16 from chunk to chunk."""
    for r in range(rows.shape[0]):
        total = np.float32(0)
        for start in range(0, rows.shape[1], chunk):
            part = np.float32(0)
            for c in range(start, min(start + chunk, rows.shape[1])):
                part += rows[r, c]
            total = rounded(total + rounded(part))
        out[r] = total


__all__ = ["decode_loop", "decode_rows_loop", "sum_rows_loop"]
