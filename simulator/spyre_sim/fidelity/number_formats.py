"""Figures on DLFloat16, its conversions from and to the host, and the numbers that are none."""

from __future__ import annotations

import dataclasses
import math

import ml_dtypes
import numpy as np
import torch
from torch.nn import functional as F

from ..formats import decode_dl16, decode_fp8, encode_dl16, encode_fp8, from_host, to_host
from ..stacks import Stack
from .device import on_device
from .figure import PRINTED_DIGITS, family

FORMATS = family("Number formats and copies")
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def round_trip(values: list[float], stack: Stack) -> list[float]:
    """float16 values to the device and back."""
    words = from_host(np.asarray(values, np.float16), stack)
    return [float(value) for value in to_host(words, "float16", stack)]


def row(value: float, dtype: torch.dtype = torch.float16) -> torch.Tensor:
    """One stick of one value."""
    return torch.full((1, 64), value).to(dtype)


@FORMATS.figure("N1", "18.09375 as sign, exponent, fraction", published=(0, 35, 67), source="#2478")
def worked_bits(stack: Stack) -> tuple[int, int, int]:
    word = int(from_host(np.array([18.09375], np.float16), stack)[0])
    return word >> 15, word >> 9 & 63, word & 511


@FORMATS.figure("N10", "floor of -2.002 in float16", published=-2.0, source="#1771", stack="2026-04")
def floor_of_a_truncated_number(stack: Stack) -> float:
    return float(on_device(torch.floor, row(-2.002), stack=stack)[0, 0])


@FORMATS.figure("N11", "-65504 to the device and back", published=-65472.0, source="#2518, after 2026-06-05")
def largest_float16(stack: Stack) -> float:
    return round_trip([-65504.0], stack)[0]


@FORMATS.figure(
    "N11", "the same between two rewrites of the copy", published=-math.inf, source="#2518, before 2026-06-05",
    note="the days between the two rewrites are in no profile; measured with the profile's field host_carry: infinity",
)  # fmt: skip
def largest_float16_before(stack: Stack) -> float:
    numerics = dataclasses.replace(stack.numerics, host_carry="infinity")
    return round_trip([-65504.0], dataclasses.replace(stack, numerics=numerics))[0]


@FORMATS.figure("N11", "infinities to the device and back", published=(-math.inf, math.inf), source="#2518")
def infinities(stack: Stack) -> list[float]:
    return round_trip([-math.inf, math.inf], stack)


@FORMATS.figure("N13", "the word of -inf on the device", published="0xEFFF", source="hf-adapters, hf_common.py")
def word_of_infinity(stack: Stack) -> str:
    return f"0x{int(from_host(np.array([-np.inf], np.float16), stack)[0]):04X}"


@FORMATS.figure("N14", "the number that this word is", published=-33_521_664.0, source="worked out from N1 and N13")
def number_of_infinity(stack: Stack) -> float:
    return float(decode_dl16(from_host(np.array([-np.inf], np.float16), stack))[0])


SUBNORMALS = {
    2.9981e-05: (1.4961e-05, 7.4506e-06, 3.6955e-06),
    1.9550e-05: (9.7752e-06, 4.8876e-06),
    5.96e-08: (0.0,),
}
for start, chain in SUBNORMALS.items():

    @FORMATS.figure(
        "N17", f"{start} in float16, trip after trip", published=chain, source="#4689", criterion=PRINTED_DIGITS,
        stack="2026-09",
    )  # fmt: skip
    def halved(stack: Stack, start: float = start, trips: int = len(chain)) -> list[float]:
        seen = [start]
        for _ in range(trips):
            seen.append(round_trip(seen[-1:], stack)[0])
        return seen[1:]


@FORMATS.figure("N17", "float16 values from 6.1035156e-05 on that change", published=0, source="#4689", stack="2026-09")
def normal_values_that_change(stack: Stack) -> int:
    exact = np.array([6.1035156e-05, 1e-3, 1.0, 1024.0], np.float16)
    exact = to_host(encode_dl16(exact.astype(np.float32)), "float16", stack)  # nine bits of fraction, as they arrive
    return sum(a != float(b) for a, b in zip(round_trip(list(exact), stack), exact, strict=True))


@FORMATS.figure("N19", "clamp(NaN, -1, 1)", published=1.0, source="#1829, #1830, #1833")
def clamped_nan(stack: Stack) -> float:
    return float(on_device(lambda x: x.clamp(-1, 1), row(math.nan), stack=stack)[0, 0])


@FORMATS.figure("N19", "silu(-inf)", published=0.0, source="#1831", stack="2026-04")
def silu_of_infinity(stack: Stack) -> float:
    return float(on_device(F.silu, row(-math.inf), stack=stack)[0, 0])


@FORMATS.figure(
    "N20", "floor(-0.0)", published=-1.0, source="#2223", stack="2026-04", note="until deeptools #4313",
)  # fmt: skip
def floor_of_minus_zero(stack: Stack) -> float:
    return float(on_device(torch.floor, row(-0.0), stack=stack)[0, 0])


@FORMATS.figure("N20", "ceil(0.0), which is -floor(-x)", published=1.0, source="#2223", stack="2026-04")
def ceil_of_zero(stack: Stack) -> float:
    return float(on_device(torch.ceil, row(0.0), stack=stack)[0, 0])


@FORMATS.figure("N36", "int64 2^24 - 1, 2^24 and 2^24 + 2, plus 1", published=(2**24, 2**24, 2**24 + 4), source="#2130",
    note="published is the route by float32; these are the sums that follow from it",
)  # fmt: skip
def integers_by_float32(stack: Stack) -> list[int]:
    x = torch.tensor([2**24 - 1, 2**24, 2**24 + 2] + [0] * 61)
    return [int(item) for item in on_device(lambda x: x + 1, x, stack=stack)[:3]]


@FORMATS.figure("N37", "int64 to int32 on the device", published=-1_431_655_766, source="hf-adapters 63de39c, S39")
def cast_to_int32(stack: Stack) -> int:
    return int(on_device(lambda x: x.to(torch.int32), torch.arange(64), stack=stack)[1])


def read_as_bfloat16(stack: Stack) -> float:
    words = from_host(np.array([18.09375], np.float16), stack)
    return float(to_host(words, "bfloat16", stack).astype(np.float32)[0])


FORMATS.figure("N50", "18.09375 read back in bfloat16", published=18.0, source="#2478", stack="2026-04")(
    read_as_bfloat16
)
FORMATS.figure("N50", "the same since 2026-06-11", published=18.125, source="#2478, deeptools #4338")(read_as_bfloat16)


@FORMATS.figure("N50", "1.5078125 * 12 in bfloat16", published=18.0, source="#2479", stack="2026-04")
def bfloat16_product(stack: Stack) -> float:
    product = on_device(torch.mul, row(1.5078125, torch.bfloat16), row(12.0, torch.bfloat16), stack=stack)
    return float(product[0, 0])


@FORMATS.figure(
    "N60", "500, -500 and 1000 in FP8", published=(448.0, -448.0, 448.0), source="spyre-inference, test_fp8.py"
)
def saturated_fp8(stack: Stack) -> list[float]:
    values = np.clip(np.array([500, -500, 1000], np.float32), -448, 448)
    return [float(value) for value in decode_fp8(encode_fp8(values))]


@FORMATS.figure("S61", "-inf + -inf in bfloat16 is NaN", published=True, source="hf-adapters (T25)", stack="2026-08")
def sum_of_infinities(stack: Stack) -> bool:
    mask = row(-math.inf, torch.bfloat16)
    return bool(on_device(torch.add, mask, mask, stack=stack).isnan().all())


FORMATS.leave_out("N18", "infinite constants encoded as the NaN word", "constants are held as numbers (S73)")
