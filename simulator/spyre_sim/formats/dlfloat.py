"""DLFloat16: the 16-bit number format of the device, called SEN169_FP16 by its stack.

One sign, six exponent and nine fraction bits, bias 31 (N1, N4). A word is (-1)^s * 2^(e-31) * (1 + f/512) except
that e=0, f=0 is zero and e=63, f=511 is one merged NaN/infinity symbol; there are no subnormals (N2). Every value of
the format is exact in float32, so the simulator computes on float32 arrays that lie on this grid and keeps uint16
words only where the device keeps words.

Each public function has a compiled loop (`compiled.py`) and the NumPy twin in this file, and the tests hold the two
equal word for word.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Float32Array = NDArray[np.float32]
WordArray = NDArray[np.uint16]

RoundingMode = Literal["ties-up", "ties-even", "truncate"]
Overflow = Literal["infinity", "saturate"]
Underflow = Literal["zero", "nearest", "smallest"]

EXPONENT_BIAS = 31
FRACTION_BITS = 9
NAN_WORD = 0x7FFF
MAX_WORD = 0x7FFE
MIN_WORD = 0x0001
MAX_FINITE = 2.0**32 * (1 + 510 / 512)  # N5
MIN_POSITIVE = 2.0**-31 * (1 + 1 / 512)  # N5
EPSILON = 2.0**-9

# The same limits as bit patterns of float32, on which the loops work.
DROPPED_BITS = 23 - FRACTION_BITS
SIGN_BIT = np.uint32(0x8000_0000)
MAGNITUDE_BITS = np.uint32(0x7FFF_FFFF)
KEPT_BITS = np.uint32(0xFFFF_FFFF << DROPPED_BITS & 0xFFFF_FFFF)
REBIAS = (127 - EXPONENT_BIAS) << FRACTION_BITS
MIN_BITS = np.float32(MIN_POSITIVE).view(np.uint32)
MAX_BITS = np.float32(MAX_FINITE).view(np.uint32)
INFINITY_BITS = np.uint32(0x7F80_0000)
NAN_BITS = np.uint32(0x7FC0_0000)


@dataclass(frozen=True)
class Rounding:
    """How a value off the grid gets onto it; the defaults are what the format's patent says (N2).

    `mode`: "ties-up" is the device's only mode: to nearest, a tie away from zero, since sign and magnitude are kept
    apart. The other two exist for the conversions whose mode is not published (U5).
    `overflow`: above 0x7FFE, "infinity" gives the merged NaN/infinity word and "saturate" gives 0x7FFE (D2). NaN is
    the merged word either way.
    `underflow`: what rounds to less than 0x0001 becomes zero, the nearer of zero and 0x0001, or 0x0001 (D2).
    """

    mode: RoundingMode = "ties-up"
    overflow: Overflow = "infinity"
    underflow: Underflow = "zero"

    def constants(self) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
        """The four numbers the loops need: addend, parity mask, overflow pattern, least magnitude kept from zero."""
        return _constants(self)


@cache
def _constants(rounding: Rounding) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
    half = 1 << (DROPPED_BITS - 1)
    addend, parity = {"ties-up": (half, 0), "ties-even": (half - 1, 1), "truncate": (0, 0)}[rounding.mode]
    overflow = {"infinity": NAN_BITS, "saturate": MAX_BITS}[rounding.overflow]
    half_of_smallest = np.float32(MIN_POSITIVE / 2).view(np.uint32)
    least = {"zero": MAGNITUDE_BITS, "nearest": half_of_smallest, "smallest": np.uint32(1)}[rounding.underflow]
    return np.uint32(addend), np.uint32(parity), np.uint32(overflow), np.uint32(least)


DEVICE_ROUNDING = Rounding()


def round_dl16(
    values: Any, out: Float32Array | None = None, *, rounding: Rounding = DEVICE_ROUNDING
) -> Float32Array:
    """Round to the DLFloat16 grid and stay in float32; the merged NaN/infinity word shows as NaN.

    `values`: array of any shape, float32 (other floating types are converted without double rounding).
    `out`: a float32 array of the same shape to write into, which may be `values` itself: rounding in place costs
    about one pass over memory. Raises TypeError for an `out` of another dtype and ValueError for another shape.
    """
    source = as_float32(values)
    if out is None:
        out = np.empty(source.shape, np.float32)
    _check_out(out, source)
    if out.flags.c_contiguous and source.flags.c_contiguous:
        _compiled().round_flat(source.reshape(-1), out.reshape(-1), rounding)
    else:
        out[...] = round_dl16(np.ascontiguousarray(source).reshape(source.shape), rounding=rounding)
    return out


def encode_dl16(values: Any, *, rounding: Rounding = DEVICE_ROUNDING) -> WordArray:
    """The DLFloat16 words, uint16 and of the same shape, nearest to `values` (see `round_dl16`).

    NaN gives 0x7FFF; the sign of a zero is kept (U8).
    """
    source = np.ascontiguousarray(as_float32(values)).reshape(np.shape(values))
    out = np.empty(source.shape, np.uint16)
    _compiled().encode_flat(source.reshape(-1), out.reshape(-1), rounding)
    return out


def decode_dl16(words: Any) -> Float32Array:
    """The exact float32 values of uint16 `words`, of the same shape; 0x7FFF and 0xFFFF are NaN (N2, N6)."""
    source = np.asarray(words)
    if source.dtype != np.uint16:
        raise TypeError(f"DLFloat16 words are uint16, not {source.dtype}")
    contiguous = np.ascontiguousarray(source).reshape(source.shape)
    out = np.empty(source.shape, np.float32)
    _compiled().decode_loop(contiguous.reshape(-1), out.reshape(-1))
    return out


@cache
def decode_table() -> Float32Array:
    """The values of all 65,536 words, written down from N4 rather than by bit tricks; read-only, float32 [65536]."""
    words = np.arange(1 << 16)
    sign, exponent, fraction = words >> 15, (words >> FRACTION_BITS) & 63, words & 511
    values = np.exp2(exponent - EXPONENT_BIAS) * (1 + fraction / 512)
    values[(exponent == 0) & (fraction == 0)] = 0.0
    values[(exponent == 63) & (fraction == 511)] = np.nan
    values = np.copysign(values, np.where(sign == 1, -1.0, 1.0))
    table = np.asarray(values, np.float32)
    table.flags.writeable = False
    return table


def look_up(table: NDArray[Any], words: NDArray[np.uint16]) -> NDArray[Any]:
    """`table[words]` for a table with an entry for each of the 65,536 words, several times as fast as indexing."""
    unsigned = np.dtype(f"u{table.dtype.itemsize}")
    flat = np.ascontiguousarray(words).reshape(-1)
    out = np.empty(flat.shape, table.dtype)
    _compiled().look_up_loop(table.view(unsigned), flat, out.view(unsigned))
    return out.reshape(words.shape)


def round_bits_numpy(bits: NDArray[np.uint32], rounding: Rounding = DEVICE_ROUNDING) -> NDArray[np.uint32]:
    """The NumPy twin of the compiled rounding: float32 bit patterns in, float32 bit patterns on the grid out."""
    addend, parity, overflow, least = rounding.constants()
    sign, magnitude = bits & SIGN_BIT, bits & MAGNITUDE_BITS
    rounded = (magnitude + addend + ((magnitude >> np.uint32(DROPPED_BITS)) & parity)) & KEPT_BITS
    small = np.where(magnitude >= least, MIN_BITS, np.uint32(0))
    rounded = np.where(rounded < MIN_BITS, small, rounded)
    rounded = np.where(rounded > MAX_BITS, overflow, rounded)
    rounded = np.where(magnitude > INFINITY_BITS, NAN_BITS, rounded)
    return np.asarray(rounded | sign)


def round_dl16_numpy(values: Any, *, rounding: Rounding = DEVICE_ROUNDING) -> Float32Array:
    """`round_dl16` in plain NumPy expressions: the twin that the compiled loop is tested against."""
    return np.asarray(round_bits_numpy(as_float32(values).view(np.uint32), rounding).view(np.float32))


def encode_dl16_numpy(values: Any, *, rounding: Rounding = DEVICE_ROUNDING) -> WordArray:
    """`encode_dl16` in plain NumPy expressions."""
    bits = round_bits_numpy(as_float32(values).view(np.uint32), rounding)
    magnitude = bits & MAGNITUDE_BITS
    word = np.where(magnitude == 0, 0, (magnitude >> np.uint32(DROPPED_BITS)).astype(np.int64) - REBIAS)
    word = np.where(magnitude == NAN_BITS, NAN_WORD, word | (bits >> np.uint32(31)).astype(np.int64) << 15)
    return word.astype(np.uint16)


def decode_dl16_numpy(words: WordArray) -> Float32Array:
    """`decode_dl16` by looking words up in the table."""
    return decode_table()[words]


def as_float32(values: Any) -> Float32Array:
    """`values` as a float32 array without double rounding on the way to DLFloat16.

    float64 is rounded to odd: its last bit remembers that something was lost, so that a value close to a tie of the
    narrower format stays on its own side of it. Raises TypeError for integers, bool and complex.
    """
    array = np.asarray(values)
    if array.dtype == np.float32:
        return array
    if array.dtype != np.float64:
        if array.dtype.kind not in "fV":
            raise TypeError(f"expected floating values, not {array.dtype}")
        return np.asarray(array, np.float32)
    with np.errstate(over="ignore"):
        nearest = np.asarray(array.astype(np.float32))
    inexact = np.isfinite(nearest) & (nearest != array) & (nearest.view(np.uint32) & np.uint32(1) == 0)
    toward = np.nextafter(nearest, np.where(array > nearest, np.inf, -np.inf).astype(np.float32))
    return np.asarray(np.where(inexact, toward, nearest), np.float32)


def _check_out(out: Float32Array, source: Float32Array) -> None:
    if out.dtype != np.float32:
        raise TypeError(f"out must be float32, not {out.dtype}")
    if out.shape != source.shape:
        raise ValueError(f"out has shape {out.shape}, values have {source.shape}")


@cache
def _compiled() -> Any:
    """The compiled loops, imported on first use: numba takes a third of a second to load."""
    from . import compiled

    return compiled
