"""Pointwise kernels. A function of one DLFloat16 operand has 65,536 cases: it is a table, computed in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch

from ..formats import decode_table, round_dl16
from ..graph import DeviceOp, Format
from . import buffers, compiled
from .numbers import Arithmetic, Tensor, array, contiguous, scaled_copy
from .parallel import over_rows
from .registry import kernel

Function = Callable[[Tensor], Tensor]

FUNCTIONS: dict[str, Function] = {
    "abs": torch.abs,
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal,
    "relufwd": torch.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "neg": torch.neg,
    "sin": torch.sin,
    "cos": torch.cos,
    "floor": torch.floor,
    "silu": torch.nn.functional.silu,
    "gelufwd": torch.nn.functional.gelu,
}
MINUS_ZERO = 0x8000  # its word
APPROXIMATED = frozenset({"exp", "log", "tanh", "sigmoid", "silu", "gelufwd", "rsqrt", "sqrt", "reciprocal"})
COMPARISONS: dict[str, Callable[..., Tensor]] = {
    "equal": torch.eq,
    "notequal": torch.ne,
    "lesserthan": torch.lt,
    "lesserequal": torch.le,
    "greaterthan": torch.gt,
    "greaterequal": torch.ge,
}
BINARY: dict[str, Callable[..., Tensor]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "realdiv": torch.div,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
}


@kernel(*FUNCTIONS)
def unary(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    x = contiguous(inputs[0])
    if op.output.format is not Format.DL16:
        return _in_float32(arithmetic, op.kernel, x)
    return through_table(x, table_of(op.kernel, arithmetic))


def through_table(x: Tensor, table: Any) -> Tensor:
    """A table's entry for every value on the grid."""
    out = buffers.empty_like(x)
    source, target = array(x).reshape(-1), array(out).reshape(-1)
    over_rows(source.size, source.size, lambda rows: compiled.table_loop(source[rows], table, target[rows]))
    return out


def table_of(name: str, arithmetic: Arithmetic) -> Any:
    """The results of a function for all 65,536 words, float32 on the grid."""
    n = arithmetic.numerics
    minus_zero = float(n.floor_of_minus_zero)
    return _table(name, arithmetic.rounding, float(n.function_ulps), float(n.exp_floor), minus_zero)


@cache
def _table(name: str, rounding: Any, ulps: float, exp_floor: float, floor_of_minus_zero: float = -0.0) -> Any:
    exact = FUNCTIONS[name](torch.from_numpy(decode_table().astype(np.float64))).numpy()
    if name in APPROXIMATED and ulps:
        exact = exact * (1 + _deviation(ulps))
    if name == "exp" and exp_floor:
        exact = np.where(exact < exp_floor, exp_floor, exact)  # what leaks from masked positions (A31, U11)
    if name == "floor":
        exact[MINUS_ZERO] = floor_of_minus_zero  # N20
    with np.errstate(over="ignore"):
        return round_dl16(exact, rounding=rounding)


def _deviation(ulps: float) -> Any:
    """The error model of the approximated functions (U3): up to `ulps` DLFloat16 ulps, a fixed pattern by word."""
    phase = (np.arange(1 << 16, dtype=np.uint64) * np.uint64(2654435761)) % np.uint64(1 << 16)
    return (phase.astype(np.float64) / 2**15 - 1) * ulps * 2.0**-9


def _in_float32(arithmetic: Arithmetic, name: str, x: Tensor) -> Tensor:
    out = FUNCTIONS[name](x)
    n = arithmetic.numerics
    if name == "exp" and n.exp_fp32_max is not None:
        out = torch.where(x > n.exp_fp32_max, math.exp(n.exp_fp32_max), out)  # saturates (A13)
    if name == "rsqrt":
        keep = -(1 << (24 - int(n.rsqrt_fp32_bits)))  # an approximation without Newton-Raphson steps (A15)
        out = (out.view(torch.int32) & keep).view(torch.float32)
    return out


@kernel(*BINARY)
def binary(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    fmt = op.output.format
    if fmt is Format.INT32:
        return _integers(op, inputs)
    x, y = (_operand(arithmetic, item, fmt) for item in inputs)
    if fmt is Format.DL16 and op.kernel in ("add", "mul") and arithmetic.plain and _same(x, y):
        return _fused(op.kernel, x, y)
    if fmt is Format.DL16 and op.kernel == "mul" and arithmetic.plain and isinstance(y, float):
        scaled = scaled_copy(x, y) if isinstance(x, Tensor) and x.shape == op.output.shape else None
        if scaled is not None:
            return scaled
    out = buffers.empty(op.output.shape)
    BINARY[op.kernel](_tensor(x), _tensor(y), out=out)
    if "S44" in op.defects:
        flat = out.view(-1)
        flat[torch.arange(flat.numel()) % 64 >= 32] = 0.0
    return arithmetic.round(out, fmt)


def _same(x: Any, y: Any) -> bool:
    both = isinstance(x, Tensor) and isinstance(y, Tensor)
    return both and x.shape == y.shape and x.is_contiguous() and y.is_contiguous()


def _fused(name: str, x: Tensor, y: Tensor) -> Tensor:
    out = buffers.empty_like(x)
    a, b, c = (array(item).reshape(-1) for item in (x, y, out))
    loop = compiled.add_loop if name == "add" else compiled.mul_loop
    over_rows(a.size, a.size, lambda rows: loop(a[rows], b[rows], c[rows]))
    return out


def _integers(op: DeviceOp, inputs: list[Any]) -> Tensor:
    """The device has no integer arithmetic: through float32, exact up to 2^24 (N36)."""
    x, y = (item.to(torch.float32) if isinstance(item, Tensor) else torch.tensor(float(item)) for item in inputs)
    return BINARY[op.kernel](x, y).to(torch.int32)


def _operand(arithmetic: Arithmetic, item: Any, fmt: Format) -> Any:
    if isinstance(item, (int, float)):
        return arithmetic.number(float(item), fmt)
    return item if isinstance(item, Tensor) else item.values()


def _tensor(item: Any) -> Tensor:
    return item if isinstance(item, Tensor) else torch.tensor(item, dtype=torch.float32)


@kernel(*COMPARISONS)
def comparison(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    """1.0 or 0.0 (N35)."""
    x, y = (_tensor(_operand(arithmetic, item, Format.DL16)) for item in inputs)
    return COMPARISONS[op.kernel](x, y).to(torch.float32)


@kernel("where3")
def where(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    condition, x, y = (_tensor(_operand(arithmetic, item, op.output.format)) for item in inputs)
    return torch.where(condition != 0, x, y).expand(op.output.shape).contiguous()


@kernel("clip")
def clip(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    """NaN becomes the upper bound (N19)."""
    low, high = (arithmetic.number(op.attributes[name], op.output.format) for name in ("low", "high"))
    x = contiguous(inputs[0])
    return torch.where(x.isnan(), high, x.clamp(low, high))


@kernel("softplus")
def softplus(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    """log(1 + exp(beta x)), and the identity beyond the threshold; early ones forget to divide by beta (A14)."""
    x, beta = contiguous(inputs[0]).to(torch.float64), op.attributes["beta"]
    out = torch.nn.functional.softplus(x, beta, op.attributes["threshold"])
    if not arithmetic.numerics.softplus_divides:
        out = torch.where(x * beta > op.attributes["threshold"], x, out * beta)
    return arithmetic.round(out.to(torch.float32), op.output.format)


@kernel("pow")
def power(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    """The silently wrong cube (S51): exp(3 * log|x|), which forgets the sign.

    What is published is a relative error of 1.5 and the suspicion "exp/log or wrong op"; this has the norm of the
    error at the square root of two of the norm of the cube for operands of either sign, and is right for positive ones.
    """
    magnitude = through_table(contiguous(inputs[0]).abs(), table_of("log", arithmetic))
    scaled = arithmetic.round(magnitude * float(inputs[1]), op.output.format)
    return through_table(scaled, _exact_exp(arithmetic))


def _exact_exp(arithmetic: Arithmetic) -> Any:
    return _table("exp", arithmetic.rounding, float(arithmetic.numerics.function_ulps), 0.0)
