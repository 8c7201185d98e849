"""Changes of dtype: identity, the two conversion kernels with their element order, or the host (N34, N40-N46)."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..graph import Arrangement, Format, Site, Value
from .builder import Builder, dtype_name, format_of
from .registry import lowers

DEVICE_CONVERSIONS = "2026-05-29"  # the kernels dl16tofp32 and fp32todl16 exist (timeline, #1153)


def convert(build: Builder, value: Value, dtype: str) -> Value:
    """`value` in another dtype, on the device where the stack has the conversion (N40)."""
    if value.dtype == dtype:
        return value
    value = build.device(value)
    source, target = value.format, format_of(dtype)
    if source is target and target is not Format.INT32:
        return relabel(build, value, dtype)
    if {source, target} == {Format.DL16, Format.FP32} and value.dtype != "bool" and dtype != "bool":
        if build.profile.since(DEVICE_CONVERSIONS):
            return _between_floats(build, value, dtype, target)
        if not build.profile.since("2026-01-01"):
            return relabel(build, value, dtype)  # the compiler drops every conversion (N34)
    if (value.dtype, dtype) == ("int64", "int32") and build.profile.defect("S39"):
        return build.emit("identity", [value], value.shape, dtype, defects=build.profile.active("S39"))
    return on_host(build, value, dtype)


def relabel(build: Builder, value: Value, dtype: str) -> Value:
    """The same words under another name: fp16, bf16 and bool share one device format (N30)."""
    layout = value.layout
    assert layout is not None
    return build.emit("identity", [value], value.shape, dtype, layout, arrangement=value.arrangement, alias=True)


def _between_floats(build: Builder, value: Value, dtype: str, target: Format) -> Value:
    value = build.operand(value)
    layout = value.layout
    assert layout is not None
    kernel = "dl16tofp32" if target is Format.FP32 else "fp32todl16"
    spread = layout.spread  # a sparse or broadcast value has one element a stick: nothing to reorder (N53)
    order = Arrangement.STANDARD
    if spread and kernel == "dl16tofp32":
        order = Arrangement.DL16_TO_FP32
    elif spread and value.arrangement is Arrangement.STANDARD:
        order = Arrangement.FP32_TO_DL16
    out = type(layout).reduced(value.shape, build.lanes(target)) if layout.sparse else None
    stick = layout.stick_dim
    if out is None and stick is not None:
        out = type(layout).dense(value.shape, build.lanes(target), stick)
    unpaired = kernel == "dl16tofp32" and stick == len(value.shape) - 1 and _unpaired(value.shape[-1], build)
    defects = build.profile.active("S37") if unpaired else ()
    return build.emit(kernel, [value], value.shape, dtype, out, arrangement=order, defects=defects)


def _unpaired(width: int, build: Builder) -> bool:
    """Whether the float32 sticks of a row are no whole pairs: narrower than a stick, or an odd number (N48, N49)."""
    lanes = build.profile.lanes
    return width < lanes or math.ceil(width / (lanes // 2)) % 2 == 1


def on_host(build: Builder, value: Value, dtype: str) -> Value:
    """`spyre::to_dtype_cpu`: down, convert, and up again when it is next needed (N40)."""
    site = build.site
    build.site = Site(site.node, "spyre.to_dtype_cpu", site.module_path, site.source_line)
    meta = torch.empty(value.shape, device="meta", dtype=getattr(torch, dtype))
    arguments: dict[str, Any] = {"self": value, "dtype": getattr(torch, dtype)}
    out = build.on_host(torch.ops.aten.to.dtype, arguments, meta, through_device=True)
    build.fallback([value], [out])
    build.site = site
    return out


@lowers("to", "_to_copy")
def to(build: Builder, self: Any, dtype: Any = None, **rest: Any) -> Any:
    """A change of dtype; of device and memory format nothing is left in the graph."""
    if "other" in rest and rest["other"] is not None:
        dtype = getattr(torch, rest["other"].dtype)
    if dtype is None:
        return self
    return convert(build, self, dtype_name(dtype))


@lowers("type_as")
def type_as(build: Builder, self: Any, other: Any) -> Any:
    return convert(build, self, other.dtype)
