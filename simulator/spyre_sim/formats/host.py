"""What the copy between host and device does to numbers (facts N10-N17, N30-N33, N50).

The copy is not the identity. Per date it rounds or truncates, writes -inf as the finite word 0xEFFF, halves the
subnormals of float16, and stores int64 as int32. A 16-bit host format has 65,536 words, so each of its conversions is
one table of that length, written down once per set of rules; the rules come from the stack profile.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..stacks import Stack, load_stack
from .dlfloat import Float32Array, Rounding, RoundingMode, decode_dl16, decode_table, encode_dl16, look_up

HOST_DTYPES: dict[str, np.dtype[Any]] = {
    "bool": np.dtype(np.bool_),
    **{name: np.dtype(name) for name in ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")},
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float8_e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "float8_e5m2fnuz": np.dtype(ml_dtypes.float8_e5m2fnuz),
}
# The NumPy type that holds the words of each device format.
WORD_DTYPES: dict[str, np.dtype[Any]] = {
    "SEN169_FP16": np.dtype(np.uint16),
    "BFLOAT16": np.dtype(ml_dtypes.bfloat16),
    "IEEE_FP32": np.dtype(np.float32),
    "IEEE_FP64": np.dtype(np.float64),
    "IEEE_INT64": np.dtype(np.int64),
    "IEEE_INT32": np.dtype(np.int32),
    "SENINT16": np.dtype(np.int16),
    "SENINT8": np.dtype(np.int8),
    "SENUINT32": np.dtype(np.uint32),
    "SEN143_FP8": np.dtype(ml_dtypes.float8_e4m3fn),
    "SEN152_FP8": np.dtype(ml_dtypes.float8_e5m2fnuz),
}
DOWNCAST_WARNING = (
    "Backend Spyre does not support int64; downcasting to int32 may change values outside the 32-bit range. "
    "You can silence this via warnings.filterwarnings(...) or spyre.set_downcast_warning(False) or "
    "TORCH_SPYRE_DOWNCAST_WARN env. variable."
)
_SIGN = np.uint16(0x8000)
_LARGEST_FLOAT16_WORD = np.uint16((15 + 31) << 9 | 511)  # 65472, the greatest value that is finite in float16 (N11)
_FLOAT16_MAX = 65504.0
_FLOAT16_LEAST_NORMAL = 2.0**-14
_FLOAT16_STEP = 2.0**-24


class UnsupportedTransfer(TypeError):
    """The stack has no device format for a host dtype (E21)."""


@dataclass(frozen=True)
class HostRules:
    """The dated behaviour of the copy, as the tables need it.

    `rounding` float16 to DLFloat16; `carry` what a carry out of float16's range does, -65504 being the case (N11);
    `infinity_word` the magnitude that inf, NaN and anything of exponent above 31 becomes (N13, N14);
    `halved` in which direction float16 subnormals lose a factor of two (N17); `subnormals_read` how values below
    2^-14 become float16, where "fraction-kept" sets the exponent field to zero and leaves the fraction as it stands
    (A10); `bfloat16_rounding` of the readback to bfloat16 (N50).
    """

    rounding: RoundingMode
    carry: Literal["saturate", "infinity"]
    infinity_word: int
    halved: Literal["never", "write", "read"]
    subnormals_read: Literal["fraction-kept", "truncate", "nearest"]
    bfloat16_rounding: Literal["ties-even", "truncate"]

    @staticmethod
    def of(stack: Stack) -> HostRules:
        numerics = stack.numerics
        return HostRules(
            rounding=numerics.host_rounding,
            carry=numerics.host_carry,
            infinity_word=numerics.host_infinity_word,
            halved=numerics.subnormals_halved_on if "S35" in stack.defects else "never",
            subnormals_read=numerics.float16_subnormals_read,
            bfloat16_rounding=numerics.bfloat16_readback,
        )


def device_format(dtype: str, stack: Stack | str) -> str:
    """The device format that a host dtype is stored in, by name ("SEN169_FP16"); UnsupportedTransfer if none."""
    stack = _stack(stack)
    found = stack.dtypes.get(dtype)
    if found is None:
        raise UnsupportedTransfer(f"Unsupported CPU tensor dtype for DMA transfer: {dtype}")
    return found


def from_host(array: Any, stack: Stack | str) -> NDArray[Any]:
    """Host to device: the words the device holds, of the same shape, in host element order.

    `array`: NumPy array of a dtype in HOST_DTYPES (bfloat16 and FP8 are those of ml_dtypes). DLFloat16 words come
    back as uint16; every other device format as the NumPy type of WORD_DTYPES. int64 stored as int32 wraps and warns
    (N32). Raises UnsupportedTransfer for a dtype the stack does not map.
    """
    stack = _stack(stack)
    source = np.asarray(array)
    name = dtype_name(source.dtype)
    target = device_format(name, stack)
    if target != "SEN169_FP16":
        if name == "int64" and target == "IEEE_INT32":
            warn_downcast()
        return np.asarray(source.astype(WORD_DTYPES[target]))
    if name == "bool":
        return encode_dl16(source.astype(np.float32))
    if source.dtype.itemsize == 2:
        return look_up(_write_table(name, HostRules.of(stack)), source.view(np.uint16))
    return _write(source.astype(np.float32), HostRules.of(stack))


def to_host(words: Any, dtype: DTypeLike | str, stack: Stack | str) -> NDArray[Any]:
    """Device to host: `words` as `from_host` gives them, back as an array of `dtype`.

    A DLFloat16 value beyond 65504 overflows to inf in float16 (N15, U17); the merged word becomes NaN. Raises
    UnsupportedTransfer for a dtype the stack does not map and TypeError for words of another device format.
    """
    stack = _stack(stack)
    name = dtype if isinstance(dtype, str) else dtype_name(np.dtype(dtype))
    source_format = device_format(name, stack)
    held = np.asarray(words)
    if held.dtype != WORD_DTYPES[source_format]:
        raise TypeError(f"{name} is {source_format} on the device: {WORD_DTYPES[source_format]}, not {held.dtype}")
    if source_format != "SEN169_FP16":
        return np.asarray(held.astype(HOST_DTYPES[name]))
    if name == "bool":
        return np.asarray(decode_dl16(held) != 0)
    if HOST_DTYPES[name].itemsize == 2:
        return look_up(_read_table(name, HostRules.of(stack)), held)
    return np.asarray(decode_dl16(held).astype(HOST_DTYPES[name]))


def values_from_host(array: Any, stack: Stack | str) -> NDArray[Any]:
    """`from_host`, but DLFloat16 comes as float32 values on its grid: what kernels compute on; one table look-up."""
    stack = _stack(stack)
    source = np.asarray(array)
    name = dtype_name(source.dtype)
    if device_format(name, stack) != "SEN169_FP16":
        return from_host(source, stack)
    if source.dtype.itemsize == 2:
        return look_up(_value_table(name, HostRules.of(stack)), source.view(np.uint16))
    return decode_dl16(from_host(source, stack))


def values_to_host(values: Any, dtype: DTypeLike | str, stack: Stack | str) -> NDArray[Any]:
    """`to_host` for float32 values on the DLFloat16 grid (`values_from_host` turned around)."""
    stack = _stack(stack)
    name = dtype if isinstance(dtype, str) else dtype_name(np.dtype(dtype))
    on_grid = device_format(name, stack) == "SEN169_FP16"
    return to_host(encode_dl16(values) if on_grid else values, name, stack)


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The torch-like name of a NumPy dtype: "float16", "bfloat16", "bool"."""
    return dtype.name


_downcast_warning = True


def set_downcast_warning(enabled: bool) -> None:
    """Switch the int64 warning (N32) on or off for this process."""
    global _downcast_warning
    _downcast_warning = enabled


def warn_downcast() -> None:
    """The stack's warning about int64 (N32), unless it is switched off."""
    if _downcast_warning and os.environ.get("TORCH_SPYRE_DOWNCAST_WARN", "1") not in ("0", "false", "False"):
        warnings.warn(DOWNCAST_WARNING, UserWarning, stacklevel=3)


def _stack(stack: Stack | str) -> Stack:
    return load_stack(stack) if isinstance(stack, str) else stack


@cache
def _write_table(name: str, rules: HostRules) -> NDArray[np.uint16]:
    """What each of the 65,536 host words becomes on the device."""
    with np.errstate(invalid="ignore"):  # signalling NaNs are among all words
        values = _all_words().view(HOST_DTYPES[name]).astype(np.float32)
        if name == "float16" and rules.halved == "write":
            values = np.where(np.abs(values) < _FLOAT16_LEAST_NORMAL, values * np.float32(0.5), values)
    words = _write(values, rules)
    if name == "float16" and rules.carry == "saturate":
        carried = (np.abs(values) <= _FLOAT16_MAX) & (np.abs(decode_table()[words]) > _FLOAT16_MAX)
        words = np.where(carried, words & _SIGN | _LARGEST_FLOAT16_WORD, words)
    return _frozen(words)


@cache
def _value_table(name: str, rules: HostRules) -> Float32Array:
    return _frozen(decode_table()[_write_table(name, rules)])


@cache
def _read_table(name: str, rules: HostRules) -> NDArray[Any]:
    """What each of the 65,536 DLFloat16 words becomes on the host."""
    values = decode_table()
    with np.errstate(over="ignore", invalid="ignore"):
        if name == "bfloat16":
            return _frozen(_to_bfloat16(values, rules.bfloat16_rounding))
        small = np.abs(values) < _FLOAT16_LEAST_NORMAL
        values = np.where(small, _small_values(values, rules), values)
        return _frozen(values.astype(HOST_DTYPES[name]))


def _small_values(values: Float32Array, rules: HostRules) -> Float32Array:
    """What the values of all words below 2^-14 are read as, in steps of float16's subnormals."""
    if rules.subnormals_read == "fraction-kept":
        steps = np.where(values == 0, 0, (_all_words() & np.uint16(511)) << 1).astype(np.float32)
    else:
        halved = np.float32(0.5 if rules.halved == "read" else 1.0)
        steps = np.abs(values * halved / np.float32(_FLOAT16_STEP))
        steps = np.trunc(steps) if rules.subnormals_read == "truncate" else np.rint(steps)
    return np.asarray(np.copysign(steps * np.float32(_FLOAT16_STEP), values), np.float32)


def _write(values: Float32Array, rules: HostRules) -> NDArray[np.uint16]:
    """float32 to words with the branch on the exponent that knows neither inf nor NaN (N13)."""
    words = encode_dl16(values, rounding=Rounding(rules.rounding, "saturate"))
    too_large = ~(np.abs(values) < 2.0**32)
    sign = np.where(np.signbit(values), _SIGN, np.uint16(0))
    return np.where(too_large, sign | np.uint16(rules.infinity_word), words)


def _to_bfloat16(values: Float32Array, rounding: str) -> NDArray[Any]:
    if rounding == "ties-even":
        return values.astype(ml_dtypes.bfloat16)
    truncated = (values.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    return truncated.view(ml_dtypes.bfloat16)


def _all_words() -> NDArray[np.uint16]:
    return np.arange(1 << 16, dtype=np.uint16)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array
