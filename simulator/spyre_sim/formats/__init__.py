"""Number formats of the device and the conversions between them and the host's.

Arrays in, arrays out; torch is not needed here. `round_dl16(x, out=x)` is the call that kernels make after every op.
"""

from __future__ import annotations

from .arrangement import ElementArrangement, arrangement_after, stagger, stagger_sticks, unstagger
from .dlfloat import (
    DEVICE_ROUNDING,
    EPSILON,
    MAX_FINITE,
    MIN_POSITIVE,
    NAN_WORD,
    Rounding,
    decode_dl16,
    decode_table,
    encode_dl16,
    round_dl16,
)
from .fp8 import FP8_E4M3_MAX, decode_fp8, encode_fp8, per_token_scale
from .host import (
    HOST_DTYPES,
    WORD_DTYPES,
    HostRules,
    UnsupportedTransfer,
    device_format,
    from_host,
    set_downcast_warning,
    to_host,
    values_from_host,
    values_to_host,
)
from .sums import sum_rows

__all__ = [
    "DEVICE_ROUNDING",
    "EPSILON",
    "FP8_E4M3_MAX",
    "HOST_DTYPES",
    "MAX_FINITE",
    "MIN_POSITIVE",
    "NAN_WORD",
    "WORD_DTYPES",
    "ElementArrangement",
    "HostRules",
    "Rounding",
    "UnsupportedTransfer",
    "arrangement_after",
    "decode_dl16",
    "decode_fp8",
    "decode_table",
    "device_format",
    "encode_dl16",
    "encode_fp8",
    "from_host",
    "per_token_scale",
    "round_dl16",
    "set_downcast_warning",
    "stagger",
    "stagger_sticks",
    "sum_rows",
    "to_host",
    "unstagger",
    "values_from_host",
    "values_to_host",
]
