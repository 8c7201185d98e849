"""Reductions: over the stick the result is sparse, elsewhere it stays dense (L43)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..errors import OP_TABLE, PREFIX
from ..graph import Arrangement, Value
from ..layout.view import StickView
from .builder import Builder, dtype_name
from .conversions import convert
from .elementwise import arithmetic, compare
from .pointwise import pointwise
from .refused import Refused
from .registry import lowers

WIDENED_REDUCTIONS = "2026-07-15"  # a reduction of what dl16tofp32 gave is lowered from then on (A26, #2927)


def reduce(build: Builder, kernel: str, value: Value, dims: Sequence[int], *, keepdim: bool, **more: Any) -> Value:
    """Emit one reduction over `dims` (all if empty)."""
    value = build.operand(value)
    build.check_formats(kernel, [value])
    rank = len(value.shape)
    axes = sorted({dim % rank for dim in dims}) if dims and rank else list(range(rank))
    _check_widened(build, kernel, value)
    layout = value.layout
    assert layout is not None
    stick = layout.stick_dim
    if stick in axes and len(axes) > 1 and not build.profile.since("2026-01-01"):
        raise Refused("L43", f"{PREFIX}reduction on both stick and non-stick dimensions {axes}")
    shape = tuple(1 if dim in axes else size for dim, size in enumerate(value.shape))
    kept = shape if keepdim else tuple(size for dim, size in enumerate(value.shape) if dim not in axes)
    lanes = layout.lanes
    if stick is None or stick in axes:
        out = StickView.reduced(kept, lanes)
    else:
        moved = stick if keepdim else stick - sum(dim < stick for dim in axes)
        out = StickView.dense(kept, lanes, moved)
    defects = _defects(build, kernel, value, axes, keepdim)
    return build.emit(
        kernel, [value], kept, value.dtype, out, dims=tuple(axes), keepdim=keepdim, defects=defects, **more
    )


def _check_widened(build: Builder, kernel: str, value: Value) -> None:
    """Norms that compute in float32: the widened operand of a reduction is not lowered before mid-July 2026."""
    if value.arrangement is Arrangement.DL16_TO_FP32 and not build.profile.since(WIDENED_REDUCTIONS):
        raise Refused("A26", f"{PREFIX}reduction operands: [PointwiseOp(op='dl16tofp32', ...)] of {kernel}")


def _defects(build: Builder, kernel: str, value: Value, axes: Sequence[int], keepdim: bool) -> tuple[str, ...]:
    found: list[str] = []
    if kernel in ("sum", "mean") and len(value.shape) == 5 and len(axes) == 5:
        found.append("S48")
    last = len(value.shape) - 1
    of_rows = list(axes) == [last]
    if kernel == "mean" and of_rows and keepdim and value.dtype == "float32":
        found.append("S50")
    if kernel == "sum" and of_rows and not keepdim and value.shape[last] > build.profile.lanes:
        found.append("S46")  # it is the compaction that goes wrong, and what keeps its dim stays sparse
    return build.profile.active(*found)


def _dims(value: Value, dim: Any) -> list[int]:
    if dim is None:
        return []
    return [int(item) for item in dim] if isinstance(dim, (list, tuple)) else [int(dim)]


@lowers("sum")
def total(build: Builder, self: Value, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Value:
    if dtype is not None:
        self = convert(build, self, dtype_name(dtype))
    _need_numbers(build, self)
    _need_real(build, self)
    return reduce(build, "sum", self, _dims(self, dim), keepdim=keepdim)


@lowers("mean")
def mean(build: Builder, self: Value, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Value:
    """A sum whose result is multiplied by a rounded 1/N inside the kernel (A11, A32)."""
    if dtype is not None:
        self = convert(build, self, dtype_name(dtype))
    _need_real(build, self)
    return reduce(build, "mean", self, _dims(self, dim), keepdim=keepdim)


@lowers("amax")
def amax(build: Builder, self: Value, dim: Any = (), keepdim: bool = False) -> Value:
    return _extreme(build, "max", self, _dims(self, dim), keepdim)


@lowers("amin")
def amin(build: Builder, self: Value, dim: Any = (), keepdim: bool = False) -> Value:
    return _extreme(build, "min", self, _dims(self, dim), keepdim)


def _extreme(build: Builder, kernel: str, value: Value, dims: list[int], keepdim: bool) -> Value:
    _need_real(build, value)
    return reduce(build, kernel, value, dims, keepdim=keepdim)


@lowers("max")
def maximum(build: Builder, self: Value, other: Any = None, dim: Any = None, keepdim: bool = False) -> Any:
    return _with_index(build, "max", self, other, dim, keepdim)


@lowers("min")
def minimum(build: Builder, self: Value, other: Any = None, dim: Any = None, keepdim: bool = False) -> Any:
    return _with_index(build, "min", self, other, dim, keepdim)


def _with_index(build: Builder, kernel: str, value: Value, other: Any, dim: Any, keepdim: bool) -> Any:
    """max.dim is amax and argmax, the latter on the CPU (9.2); max without dim is not lowered (O8)."""
    if other is not None:
        return arithmetic(build, f"{kernel}imum", value, other)
    if dim is None:
        raise Refused("O8", f"{PREFIX}torch.{kernel}() without dim")
    extreme = _extreme(build, kernel, value, [int(dim)], keepdim)
    target = torch.ops.aten.argmax.default if kernel == "max" else torch.ops.aten.argmin.default
    arguments = {"self": value, "dim": int(dim), "keepdim": keepdim}
    index = build.on_host(target, arguments, build.meta[1], through_device=True)
    build.fallback([value], [index])
    return [extreme, index]


@lowers("linalg_vector_norm", "norm")
def vector_norm(
    build: Builder, self: Value, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Value:
    """sqrt(sum(x * x)); no other order is lowered (O8)."""
    if float(ord) != 2.0 or dtype is not None:
        raise Refused("O8", f"{PREFIX}linalg_vector_norm with ord={ord}")
    total = reduce(build, "sum", pointwise(build, "mul", [self, self]), _dims(self, dim), keepdim=keepdim)
    return pointwise(build, "sqrt", [total])


@lowers("prod")
def prod(build: Builder, self: Value, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Value:
    """Over one dim, from August 2026 (section 5)."""
    if dim is None or dtype is not None:
        raise Refused(OP_TABLE, f"{PREFIX}prod without dim")
    _need_numbers(build, self)
    _need_real(build, self)
    return reduce(build, "prod", self, [int(dim)], keepdim=keepdim)


@lowers("any")
def some(build: Builder, self: Value, dim: Any = None, keepdim: bool = False) -> Value:
    """The largest of the booleans, from August 2026 (section 5)."""
    truth = self if self.dtype == "bool" else compare(build, "notequal", self, 0.0)
    return reduce(build, "max", truth, _dims(self, dim), keepdim=keepdim)


@lowers("all", "_is_all_true")
def every(build: Builder, self: Value, dim: Any = None, keepdim: bool = False) -> Value:
    """abs and amin (A34)."""
    return _extreme(build, "min", self, _dims(self, dim), keepdim)


def _need_numbers(build: Builder, value: Value) -> None:
    """Counting booleans is not lowered (R5)."""
    if value.dtype == "bool":
        raise Refused("R5", f"{PREFIX}{build.site.op.removeprefix('aten.')} of torch.bool")


def _need_real(build: Builder, value: Value) -> None:
    if value.dtype in ("int64", "int32", "int16", "int8", "uint8"):
        raise Refused("N36", f"{PREFIX}{build.site.op.removeprefix('aten.')} on DataFormats.IEEE_INT32")
