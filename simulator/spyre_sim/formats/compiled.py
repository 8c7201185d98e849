"""Compiled loops over DLFloat16: the hot spot of the simulator, one pass over memory each.

The device's own rounding has loops of its own, written so that the compiler turns them into vector code (they cost
what a copy costs, and in place half of that); every other `Rounding` goes through general ones. `round_bits` is the
device's rule as a scalar, for kernels that fuse arithmetic with rounding. Loops hold no state and release the
interpreter's lock, so that several may run at once. They are compiled when first called and kept in numba's cache.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from .dlfloat import (
    DEVICE_ROUNDING,
    DROPPED_BITS,
    INFINITY_BITS,
    KEPT_BITS,
    MAGNITUDE_BITS,
    MAX_BITS,
    MIN_BITS,
    NAN_BITS,
    NAN_WORD,
    REBIAS,
    SIGN_BIT,
    Rounding,
)

_HALF = np.uint32(1 << (DROPPED_BITS - 1))
_DROPPED = np.uint32(DROPPED_BITS)
_REBIAS = np.uint32(REBIAS)
_NAN_WORD = np.uint32(NAN_WORD)
_ZERO = np.uint32(0)


def _jit(function: Any) -> Any:
    """Compile on first call; cache where the file's folder can be written and compile anew elsewhere."""
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # numba found no folder for its cache: neither the package's nor the user's is writable
        return numba.njit(nogil=True, error_model="numpy")(function)


def round_flat(source: Any, out: Any, rounding: Rounding) -> None:
    """float32 [n] -> float32 [n] on the grid; `out` may be `source`."""
    if rounding != DEVICE_ROUNDING:
        general_round_loop(source, out, *rounding.constants())
    elif source.ctypes.data == out.ctypes.data:
        round_in_place_loop(out)
    else:
        round_loop(source, out)


def encode_flat(source: Any, out: Any, rounding: Rounding) -> None:
    """float32 [n] -> uint16 words [n]."""
    if rounding != DEVICE_ROUNDING:
        source = source.copy()
        general_round_loop(source, source, *rounding.constants())
    encode_loop(source, out)


@numba.njit(inline="always", error_model="numpy")
def round_bits(bits: Any) -> Any:
    """One float32 bit pattern, uint32, rounded as the device rounds; a NaN keeps its sign."""
    magnitude = np.uint32(bits & MAGNITUDE_BITS)
    rounded = np.uint32(np.uint32(magnitude + _HALF) & KEPT_BITS)
    rounded = _ZERO if rounded < MIN_BITS else rounded
    rounded = NAN_BITS if rounded > MAX_BITS else rounded
    return np.uint32(rounded | np.uint32(bits & SIGN_BIT))


@numba.njit(inline="always", error_model="numpy")
def rounded(value: Any) -> Any:
    """One float32 on the grid, for arithmetic in compiled kernels."""
    return round_bits(np.float32(value).view(np.uint32)).view(np.float32)


@numba.njit(inline="always", error_model="numpy")
def add_stick(stick: Any, factor: Any, lanes: Any) -> None:
    """lanes[j] += the pair of elements 2j and 2j + 1 of a stick of 64, each times `factor`, all rounded."""
    for j in range(32):
        pair = rounded(rounded(stick[2 * j] * factor) + stick[2 * j + 1] * factor)
        lanes[j] = rounded(lanes[j] + pair)


@numba.njit(inline="always", error_model="numpy")
def add_plain_stick(stick: Any, lanes: Any) -> None:
    """`add_stick` with a factor of one: what lies on the grid need not be rounded to it."""
    for j in range(32):
        lanes[j] = rounded(lanes[j] + rounded(stick[2 * j] + stick[2 * j + 1]))


@_jit
def sum_row(row: Any, factor: Any, lanes: Any) -> Any:
    """The sum of row[c] * factor as the device adds it; see `sums.sum_rows`.

    float32 [n] on the grid and a float32 factor; `lanes`: float32 [32], scratch.
    """
    lanes[:] = 0
    whole = row.size // 64
    for s in range(whole):
        add_stick(row[64 * s : 64 * s + 64], factor, lanes)
    if row.size % 64:
        add_stick(_last_stick(row), factor, lanes)
    return _halved(lanes)


@_jit
def plain_sum_row(row: Any, lanes: Any) -> Any:
    """`sum_row` with a factor of one."""
    lanes[:] = 0
    whole = row.size // 64
    for s in range(whole):
        add_plain_stick(row[64 * s : 64 * s + 64], lanes)
    if row.size % 64:
        add_plain_stick(_last_stick(row), lanes)
    return _halved(lanes)


@_jit
def _last_stick(row: Any) -> Any:
    """What does not fill a stick, with zeros behind it."""
    last = np.zeros(64, np.float32)
    rest = row.size % 64
    last[:rest] = row[row.size - rest :]
    return last


@_jit
def _halved(lanes: Any) -> Any:
    """The lanes added by halves until one is left."""
    for j in range(16):
        lanes[j] = rounded(lanes[j] + lanes[j + 16])
    for j in range(8):
        lanes[j] = rounded(lanes[j] + lanes[j + 8])
    for j in range(4):
        lanes[j] = rounded(lanes[j] + lanes[j + 4])
    for j in range(2):
        lanes[j] = rounded(lanes[j] + lanes[j + 2])
    return rounded(lanes[0] + lanes[1])


@_jit
def sum_rows_loop(rows: Any, factor: Any, out: Any) -> None:
    """float32 [rows, n] on the grid -> float32 [rows]: `sum_row` of each."""
    lanes = np.empty(32, np.float32)
    for r in range(rows.shape[0]):
        out[r] = plain_sum_row(rows[r], lanes) if factor == 1 else sum_row(rows[r], factor, lanes)


@_jit
def round_loop(source: Any, out: Any) -> None:
    """float32 [n] -> float32 [n], as the device rounds; the arrays must not overlap in part."""
    bits, target = source.view(np.uint32), out.view(np.uint32)
    for i in range(bits.size):
        target[i] = round_bits(bits[i])


@_jit
def round_in_place_loop(values: Any) -> None:
    """float32 [n], rounded where it stands; apart from `round_loop` because two names for one array stop vectors."""
    bits = values.view(np.uint32)
    for i in range(bits.size):
        bits[i] = round_bits(bits[i])


@_jit
def general_round_loop(source: Any, out: Any, addend: Any, parity: Any, overflow: Any, least: Any) -> None:
    """float32 [n] -> float32 [n] for any `Rounding`, given its constants."""
    bits, target = source.view(np.uint32), out.view(np.uint32)
    for i in range(bits.size):
        magnitude = np.uint32(bits[i] & MAGNITUDE_BITS)
        odd = np.uint32((magnitude >> _DROPPED) & parity)
        rounded = np.uint32(np.uint32(magnitude + addend + odd) & KEPT_BITS)
        small = MIN_BITS if magnitude >= least else _ZERO
        rounded = small if rounded < MIN_BITS else rounded
        rounded = overflow if rounded > MAX_BITS else rounded
        rounded = NAN_BITS if magnitude > INFINITY_BITS else rounded
        target[i] = np.uint32(rounded | np.uint32(bits[i] & SIGN_BIT))


@_jit
def encode_loop(source: Any, out: Any) -> None:
    """float32 [n] -> uint16 words [n], as the device rounds."""
    bits = source.view(np.uint32)
    for i in range(bits.size):
        rounded = round_bits(bits[i])
        magnitude = np.uint32(rounded & MAGNITUDE_BITS)
        word = np.uint32(np.uint32(magnitude >> _DROPPED) - _REBIAS)
        word = _ZERO if magnitude == _ZERO else word
        word = np.uint32(word | np.uint32(np.uint32(rounded & SIGN_BIT) >> np.uint32(16)))
        word = _NAN_WORD if magnitude == NAN_BITS else word
        out[i] = np.uint16(word)


@_jit
def decode_loop(source: Any, out: Any) -> None:
    """uint16 words [n] -> float32 [n]."""
    target = out.view(np.uint32)
    for i in range(source.size):
        word = np.uint32(source[i])
        magnitude = np.uint32(word & _NAN_WORD)
        bits = np.uint32(np.uint32(magnitude + _REBIAS) << _DROPPED)
        bits = _ZERO if magnitude == _ZERO else bits
        bits = NAN_BITS if magnitude == _NAN_WORD else bits
        target[i] = np.uint32(bits | np.uint32(np.uint32(word >> np.uint32(15)) << np.uint32(31)))


@_jit
def decode_rows_loop(source: Any, out: Any) -> None:
    """As `decode_loop` for [rows, n], of which each row is contiguous."""
    for r in range(source.shape[0]):
        decode_loop(source[r], out[r])


@_jit
def look_up_loop(table: Any, words: Any, out: Any) -> None:
    """out[i] = table[words[i]] for a table of 65,536 entries and uint16 words [n]; `table` and `out` of one dtype."""
    for i in range(words.size):
        out[i] = table[words[i]]
