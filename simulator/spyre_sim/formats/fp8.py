"""The two 8-bit formats, 1-4-3 and 1-5-2 (facts N30, N60-N62), on the types of ml_dtypes.

SEN143_FP8 holds float8_e4m3fn of the host and SEN152_FP8 float8_e5m2fnuz. The stack's quantiser clamps to +-448, the
largest value of 1-4-3, before it rounds (N60); a NaN stays NaN.
"""

from __future__ import annotations

from typing import Any, Literal

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from .dlfloat import Float32Array, as_float32

Fp8 = Literal["1-4-3", "1-5-2"]
FP8_E4M3_MAX = 448.0
_TYPES: dict[str, Any] = {"1-4-3": ml_dtypes.float8_e4m3fn, "1-5-2": ml_dtypes.float8_e5m2fnuz}


def encode_fp8(values: Any, kind: Fp8 = "1-4-3") -> NDArray[Any]:
    """Clamp to +-448 and round to nearest even: an ml_dtypes array of the same shape, one byte an element."""
    clamped = np.clip(as_float32(values), -FP8_E4M3_MAX, FP8_E4M3_MAX)
    return np.asarray(clamped.astype(_TYPES[kind]))


def decode_fp8(words: NDArray[Any]) -> Float32Array:
    """The exact float32 values of FP8 `words`. Raises TypeError for any other dtype."""
    if words.dtype not in [np.dtype(kind) for kind in _TYPES.values()]:
        raise TypeError(f"expected float8_e4m3fn or float8_e5m2fnuz, not {words.dtype}")
    return words.astype(np.float32)


def per_token_scale(values: Any) -> Float32Array:
    """max |x| / 448 over the last dim, kept as size 1 (N62), in float32 before the device rounds it."""
    return np.asarray(np.abs(as_float32(values)).max(-1, keepdims=True) / np.float32(FP8_E4M3_MAX))
