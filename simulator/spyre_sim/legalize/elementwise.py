"""Pointwise ops: one kernel each, or the decomposition into kernels that the stack uses (9.2, Q20)."""

from __future__ import annotations

from typing import Any

import torch

from ..errors import PREFIX
from ..graph import Format, Value
from .builder import Builder, dtype_name
from .conversions import convert
from .pointwise import pointwise
from .refused import Refused, unimplemented
from .registry import lowers

UNARY = {
    "abs": "abs",
    "exp": "exp",
    "log": "log",
    "sqrt": "sqrt",
    "rsqrt": "rsqrt",
    "reciprocal": "reciprocal",
    "relu": "relufwd",
    "tanh": "tanh",
    "sigmoid": "sigmoid",
    "neg": "neg",
    "floor": "floor",
    "silu": "silu",
    "sin": "sin",
    "cos": "cos",
}
BINARY = {"mul": "mul", "maximum": "maximum", "minimum": "minimum"}
COMPARISONS = {
    "eq": "equal",
    "ne": "notequal",
    "lt": "lesserthan",
    "le": "lesserequal",
    "gt": "greaterthan",
    "ge": "greaterequal",
}

COMPARED_CONSTANTS = "2026-05-15"  # `x == 10` is lowered from #2180 on (O17), day approximate


def _unary(name: str, kernel: str) -> None:
    @lowers(name)
    def lower(build: Builder, self: Value) -> Value:
        return pointwise(build, kernel, [_floating(build, self)])


def _binary(name: str, kernel: str) -> None:
    @lowers(name)
    def lower(build: Builder, self: Any, other: Any) -> Value:
        return arithmetic(build, kernel, self, other)


def _comparison(name: str, kernel: str) -> None:
    @lowers(name)
    def lower(build: Builder, self: Any, other: Any) -> Value:
        number = next((item for item in (self, other) if isinstance(item, int | float)), None)
        if number is not None and not build.profile.since(COMPARED_CONSTANTS):
            constant = f"Constant(value={float(number)}, dtype=torch.float16)"
            raise Refused("E18", f"{PREFIX}unexpected argument {constant} to {kernel}")
        return compare(build, kernel, self, other)


for _name, _kernel in UNARY.items():
    _unary(_name, _kernel)
for _name, _kernel in BINARY.items():
    _binary(_name, _kernel)
for _name, _kernel in COMPARISONS.items():
    _comparison(_name, _kernel)


def arithmetic(build: Builder, kernel: str, *operands: Any) -> Value:
    """A pointwise kernel in the dtype that torch gives the result, operands converted to it first."""
    dtype = dtype_name(build.meta.dtype)
    tensors = [item for item in operands if isinstance(item, Value)]
    if not tensors:
        raise Refused("", f"not modelled by the simulator: {build.site.op} of numbers", kind="not_modelled")
    placed = [convert(build, item, dtype) if isinstance(item, Value) and item.numel >= 1 else item for item in operands]
    defects = build.profile.active("S44") if kernel == "add" and dtype == "float32" else ()
    return pointwise(build, kernel, placed, dtype, defects=defects)


def compare(build: Builder, kernel: str, *operands: Any) -> Value:
    """A comparison: bool in the operand's format, and none at all for integers (N35, A8)."""
    tensors = [item for item in operands if isinstance(item, Value)]
    placed = [build.operand(item, position) for position, item in enumerate(operands)]
    if any(isinstance(item, Value) and item.format is Format.INT32 for item in placed):
        raise Refused("N35", _integer_comparison(build, kernel))
    wide = next((item for item in tensors if item.dtype == "float32"), None)
    if wide is not None:
        placed = [convert(build, item, "float32") if isinstance(item, Value) else item for item in placed]
    return pointwise(build, kernel, placed, "bool")


def _integer_comparison(build: Builder, kernel: str) -> str:
    """The words for a comparison of integers: no kernel takes them (A8), in September no format holds the result."""
    limit = build.profile.limit(build.site.op, "no-integer-operands")
    text = limit.text if limit is not None else f"{PREFIX}{{kernel}} on DataFormats.{{format}}"
    return text.format(kernel=kernel, format=Format.INT32.value)


def _floating(build: Builder, value: Value) -> Value:
    """Integers become what torch makes of them before a function of real numbers."""
    wanted = dtype_name(build.meta.dtype)
    return value if value.dtype == wanted else convert(build, value, wanted)


@lowers("add")
def add(build: Builder, self: Any, other: Any, alpha: Any = 1) -> Value:
    if alpha != 1:
        other = other * alpha if not isinstance(other, Value) else arithmetic(build, "mul", other, alpha)
    return arithmetic(build, "add", self, other)


@lowers("sub")
def sub(build: Builder, self: Any, other: Any, alpha: Any = 1) -> Value:
    if alpha != 1:
        other = other * alpha if not isinstance(other, Value) else arithmetic(build, "mul", other, alpha)
    return arithmetic(build, "sub", self, other)


@lowers("rsub")
def rsub(build: Builder, self: Any, other: Any, alpha: Any = 1) -> Value:
    return sub(build, other, self, alpha)


@lowers("div", "true_divide")
def div(build: Builder, self: Any, other: Any, rounding_mode: Any = None) -> Value:
    if rounding_mode is not None:
        raise unimplemented("floor_divide", build.profile.text("floor_divide"))  # no kernel of O4 rounds a quotient
    return arithmetic(build, "realdiv", self, other)


@lowers("square")
def square(build: Builder, self: Value) -> Value:
    """Emitted as mul(x, x) (Q20)."""
    return arithmetic(build, "mul", self, self)


@lowers("pow")
def power(build: Builder, self: Any, exponent: Any) -> Value:
    """Through the decomposition table of September 2026 (A33); before that a cube is wrong (S51), the rest absent."""
    if build.profile.kind("pow") in ("decomposed", "native", "custom"):
        return _power_by_table(build, self, exponent)
    if isinstance(self, Value) and not isinstance(exponent, Value) and float(exponent) == 3.0:
        if build.profile.defect("S51"):
            return pointwise(build, "pow", [self, 3.0], defects=("S51",))
        return _product(build, self, 3)
    raise unimplemented("pow")


def _power_by_table(build: Builder, self: Any, exponent: Any) -> Value:
    if isinstance(exponent, Value) or not isinstance(self, Value):
        raise Refused("E24", f"{PREFIX}pow with a tensor exponent")
    number = float(exponent)
    if number == 0.0:
        return pointwise(build, "add", [pointwise(build, "mul", [self, 0.0]), 1.0])
    if number == 1.0:
        return self
    named = {-1.0: "reciprocal", 0.5: "sqrt", -0.5: "rsqrt"}
    if number in named:
        return pointwise(build, named[number], [self])
    if number.is_integer() and 2 <= number <= 8:
        return _product(build, self, int(number))
    return pointwise(build, "exp", [pointwise(build, "mul", [pointwise(build, "log", [self]), number])])


def _product(build: Builder, value: Value, times: int) -> Value:
    result = value
    for _ in range(times - 1):
        result = pointwise(build, "mul", [result, value])
    return result


@lowers("gelu")
def gelu(build: Builder, self: Value, approximate: str = "none") -> Value:
    """The hardware's gelufwd; `approximate` is ignored (A16)."""
    return pointwise(build, "gelufwd", [self])


@lowers("mish")
def mish(build: Builder, self: Value) -> Value:
    """x * tanh(softplus(x))."""
    return pointwise(build, "mul", [self, pointwise(build, "tanh", [softplus(build, self)])])


@lowers("softplus")
def softplus(build: Builder, self: Value, beta: float = 1.0, threshold: float = 20.0) -> Value:
    return pointwise(build, "softplus", [self], beta=float(beta), threshold=float(threshold))


@lowers("clamp", "clip")
def clamp(build: Builder, self: Value, min: Any = None, max: Any = None) -> Value:
    """clip with the fp16 range for a missing bound (A16)."""
    low = -65504.0 if min is None else min
    high = 65504.0 if max is None else max
    if isinstance(low, Value) or isinstance(high, Value):
        return arithmetic(build, "minimum", arithmetic(build, "maximum", self, low), high)
    return pointwise(build, "clip", [self], low=float(low), high=float(high))


@lowers("clamp_min")
def clamp_min(build: Builder, self: Value, min: Any) -> Value:
    return clamp(build, self, min, None)


@lowers("clamp_max")
def clamp_max(build: Builder, self: Value, max: Any) -> Value:
    return clamp(build, self, None, max)


@lowers("ceil")
def ceil(build: Builder, self: Value) -> Value:
    return pointwise(build, "neg", [pointwise(build, "floor", [pointwise(build, "neg", [self])])])


@lowers("sign")
def sign(build: Builder, self: Value) -> Value:
    negative = pointwise(build, "where3", [pointwise(build, "lesserthan", [self, 0.0], "bool"), -1.0, 0.0], self.dtype)
    positive = pointwise(build, "greaterthan", [self, 0.0], "bool")
    return pointwise(build, "where3", [positive, 1.0, negative], self.dtype)


@lowers("where")
def where(build: Builder, condition: Value, self: Any, other: Any) -> Value:
    """where3; scalar branches become fp16 tensors, always (9.2)."""
    dtype = dtype_name(build.meta.dtype)
    branches = [item for item in (self, other) if isinstance(item, Value)]
    placed = [convert(build, item, dtype) if isinstance(item, Value) else item for item in (self, other)]
    return pointwise(build, "where3", [condition, *placed], dtype if branches else "float16")


@lowers("masked_fill")
def masked_fill(build: Builder, self: Value, mask: Value, value: Any) -> Value:
    """where(mask, value, self)."""
    return where(build, mask, value, self)


@lowers("logical_not")
def logical_not(build: Builder, self: Value) -> Value:
    if self.dtype == "bool":
        false = compare(build, "notequal", self, self)
        return compare(build, "equal", self, false)
    return compare(build, "equal", self, 0.0)


@lowers("logical_and")
def logical_and(build: Builder, self: Value, other: Value) -> Value:
    """mul(x, y) (A34)."""
    return pointwise(build, "mul", [self, other], "bool")


@lowers("bitwise_and")
def bitwise_and(build: Builder, self: Any, other: Any) -> Value:
    if dtype_name(build.meta.dtype) == "bool" and isinstance(self, Value) and isinstance(other, Value):
        return logical_and(build, self, other)
    if not isinstance(self, Value) or not isinstance(other, Value):
        raise Refused("", "not modelled by the simulator: bitwise_and of an integer and a number", kind="not_modelled")
    either = on_cpu(build, "bitwise_or", inverted(build, self), inverted(build, other))
    return inverted(build, either)


@lowers("bitwise_not")
def bitwise_not(build: Builder, self: Value) -> Value:
    if self.dtype == "bool":
        return logical_not(build, self)
    return inverted(build, self)


def inverted(build: Builder, value: Value) -> Value:
    """~ of integers: bitwise_xor with -1 on the CPU (9.2)."""
    return on_cpu(build, "bitwise_xor", value)


def on_cpu(build: Builder, name: str, *operands: Value) -> Value:
    """One of the pieces that the bitwise ops of integers are made of, on the host; of one operand it is x ^ -1."""
    target = getattr(torch.ops.aten, name).Tensor if len(operands) > 1 else getattr(torch.ops.aten, name).Scalar
    given = dict(zip(("self", "other"), operands, strict=False)) | ({} if len(operands) > 1 else {"other": -1})
    shape = torch.broadcast_shapes(*[operand.shape for operand in operands])
    meta = torch.empty(shape, device="meta", dtype=build.meta.dtype)
    out: Value = build.on_host(target, given, meta, through_device=True)
    build.fallback(operands, [out])
    return out


def scaled(build: Builder, value: Value, factor: float) -> Value:
    """value * factor, one kernel."""
    return pointwise(build, "mul", [value, float(factor)])
