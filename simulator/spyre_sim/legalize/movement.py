"""Ops that move or rename data: views, copies, fills and writes of slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..errors import PREFIX
from ..graph import Format, Value
from .builder import Builder, shadow_of, unexpected_stick
from .conversions import convert
from .pointwise import pointwise
from .refused import Refused
from .registry import lowers

aten = torch.ops.aten

VIEWS: dict[str, Any] = {
    "view": aten.view.default,
    "transpose": aten.transpose.int,
    "permute": aten.permute.default,
    "unsqueeze": aten.unsqueeze.default,
    "expand": aten.expand.default,
    "narrow": aten.narrow.default,
    "t": aten.t.default,
    "numpy_T": aten.numpy_T.default,
    "expand_as": None,
    "unflatten": aten.unflatten.int,
    "movedim": aten.movedim.intlist,
    "diagonal": aten.diagonal.default,
    "swapaxes": aten.swapaxes.default,
}


def _view(name: str, target: Any) -> None:
    @lowers(name)
    def lower(build: Builder, self: Value, **arguments: Any) -> Value:
        arguments.pop("implicit", None)  # of expand: keyword-only and without effect
        return seen_as(build, self, target, *arguments.values())


for _name, _target in VIEWS.items():
    if _target is not None:
        _view(_name, _target)


def seen_as(build: Builder, value: Value, target: Any, *args: Any) -> Value:
    """A view of `value`; where torch would have to copy, a copy to the default layout."""
    value = build.device(value)
    moved = build.try_view(value, target, *args)
    return moved if moved is not None else copied(build, value, target, *args)


@lowers("slice")
def slice_of(build: Builder, self: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Value:
    """A view. With both an offset and a step off the stick dim the offset is dropped (S40)."""
    value = build.device(self)
    first = 0 if start is None else int(start)
    axis = dim % len(value.shape)
    assert value.layout is not None
    regular = value.layout.expression.supported and value.layout.stick_dim != axis
    if step > 1 and first % value.shape[axis] and regular and build.profile.defect("S40"):
        out = seen_as(build, value, aten.slice.Tensor, axis, 0, build.meta.shape[axis] * step, step)
        build.mark("S40")
        return out
    return seen_as(build, value, aten.slice.Tensor, dim, start, end, step)


@lowers("squeeze")
def squeeze(build: Builder, self: Value, dim: Any = None) -> Value:
    value = build.device(self)
    if dim is None:
        return build.view(value, aten.squeeze.default)
    if isinstance(dim, (list, tuple)):
        return build.view(value, aten.squeeze.dims, list(dim))
    return build.view(value, aten.squeeze.dim, dim)


@lowers("reshape", "_unsafe_view", "flatten", "view_as", "reshape_as")
def reshape(build: Builder, self: Value, **rest: Any) -> Value:
    """A view where the strides allow it, else a copy."""
    return seen_as(build, self, aten.reshape.default, list(build.meta.shape))


@lowers("expand_as")
def expand_as(build: Builder, self: Value, other: Value) -> Value:
    return seen_as(build, self, aten.expand.default, list(other.shape))


@lowers("broadcast_tensors")
def broadcast_tensors(build: Builder, tensors: Sequence[Value]) -> list[Value]:
    shape = list(torch.broadcast_shapes(*[tensor.shape for tensor in tensors]))
    return [seen_as(build, tensor, aten.expand.default, shape) for tensor in tensors]


def copied(build: Builder, value: Value, target: Any, *args: Any) -> Value:
    """Reshape by copy: the result's sticks have to be made of whole sticks of the source (E10)."""
    value = build.operand(value)
    layout = value.layout
    assert layout is not None
    shape = tuple(target(torch.empty(value.shape, device="meta"), *args).shape)
    stick = layout.stick_dim
    if stick is not None and stick == len(value.shape) - 1:
        _check_regroup(build, value, shape)
    return build.emit("copy", [value], shape, value.dtype, arrangement=value.arrangement, target=target, args=args)


def _check_regroup(build: Builder, value: Value, shape: Sequence[int]) -> None:
    old, new, lanes = value.shape[-1], (shape[-1] if shape else 1), build.lanes(value.format)
    if old == new or (old % lanes == 0 and new % lanes == 0):
        return
    last = len(shape) - 1
    expression = f"Mod(d{last}, {old})" if new > old else f"{new}*d{last - 1} + d{last}"
    raise Refused("E10", unexpected_stick(expression, lanes), nominal=value.nominal)


@lowers("contiguous", "clone")
def contiguous(build: Builder, self: Value, memory_format: Any = None) -> Value:
    """A copy in the default layout (L46)."""
    value = build.operand(self)
    return build.emit("identity", [value], value.shape, value.dtype, arrangement=value.arrangement)


@lowers("alias", "detach", "detach_", "lift_fresh_copy", "lift_fresh", "dropout", "feature_dropout", "native_dropout")
def unchanged(build: Builder, self: Any = None, input: Any = None, train: bool = False, **rest: Any) -> Value:
    """No-ops in inference."""
    if train:
        raise Refused("T33", f"{PREFIX}dropout in training: bernoulli is not on the device")
    return self if self is not None else input


@lowers("split", "split_with_sizes", "chunk", "unbind", "tensor_split")
def split(build: Builder, self: Value, **arguments: Any) -> list[Value]:
    """Views of the parts."""
    value = build.device(self)
    names = {"split": aten.split.Tensor, "split_with_sizes": aten.split_with_sizes.default}
    names |= {"chunk": aten.chunk.default, "unbind": aten.unbind.int, "tensor_split": aten.tensor_split.sections}
    target = names[build.site.op.removeprefix("aten.")]
    sizes = arguments.get("split_size")
    if isinstance(sizes, (list, tuple)):
        target = aten.split.sizes
    args = list(arguments.values())
    parts = target(shadow_of(value), *args)
    return [build.view_as(value, part, target, args, pick=index) for index, part in enumerate(parts)]


@lowers("repeat")
def repeat(build: Builder, self: Value, repeats: Sequence[int]) -> Value:
    value = build.operand(self)
    if repeats and repeats[-1] != 1 and value.shape and value.shape[-1] % build.lanes(value.format):
        raise Refused("E10", unexpected_stick(f"Mod(d{len(repeats) - 1}, {value.shape[-1]})", build.profile.lanes))
    return build.emit("copy", [value], build.meta.shape, value.dtype, target=aten.repeat.default, args=(list(repeats),))


@lowers("repeat_interleave")
def repeat_interleave(build: Builder, self: Value, repeats: Any, dim: Any = None, output_size: Any = None) -> Value:
    """unsqueeze, expand, and a copy to the flat shape."""
    if dim is None or not isinstance(repeats, int):
        raise Refused("", "not modelled by the simulator: repeat_interleave of a tensor", kind="not_modelled")
    rank = len(self.shape)
    axis = dim % rank
    wide = build.view(build.device(self), aten.unsqueeze.default, axis + 1)
    shape = list(wide.shape)
    shape[axis + 1] = repeats
    return seen_as(build, build.view(wide, aten.expand.default, shape), aten.reshape.default, list(build.meta.shape))


@lowers("triu")
def triu(build: Builder, self: Value, diagonal: int = 0) -> Value:
    """A multiplication with a mask, from August 2026 (A34)."""
    return _triangle(build, self, torch.ones(self.shape[-2:]).triu(diagonal))


@lowers("tril")
def tril(build: Builder, self: Value, diagonal: int = 0) -> Value:
    return _triangle(build, self, torch.ones(self.shape[-2:]).tril(diagonal))


def _triangle(build: Builder, value: Value, mask: torch.Tensor) -> Value:
    data = mask.to(getattr(torch, value.dtype))
    held = Value(tuple(mask.shape), value.dtype, Format.HOST, data=data)
    return pointwise(build, "mul", [value, held])


@lowers("fill")
def fill(build: Builder, self: Value, value: Any) -> Value:
    """A constant in the shape of `self`."""
    if isinstance(value, Value):
        return seen_as(build, convert(build, value, self.dtype), aten.expand.default, list(self.shape))
    data = torch.full(self.shape, value, dtype=getattr(torch, self.dtype))
    return build.device(Value(self.shape, self.dtype, Format.HOST, data=data))


@lowers("zero")
def zero(build: Builder, self: Value) -> Value:
    """What `x.zero_()` is once it is functional: a fill."""
    return fill(build, self, 0)


@lowers("select_scatter")
def select_scatter(build: Builder, self: Value, src: Value, dim: int, index: int) -> Value:
    """A slice write of width one."""
    axis = dim % len(self.shape)
    source = build.view(build.device(src), aten.unsqueeze.default, axis)
    first = index % self.shape[axis]
    return slice_scatter(build, self, source, axis, first, first + 1)


@lowers("flip")
def flip(build: Builder, self: Value, dims: Sequence[int]) -> Value:
    """flip(0) at rank >= 2 silently repeats the last slice (S55); other dims have no lowering (O10)."""
    rank = len(self.shape)
    axes = [dim % rank for dim in dims]
    if axes == [0] and rank >= 2 and build.profile.defect("S55"):
        value = build.operand(self)
        return build.emit("flip", [value], value.shape, value.dtype, dims=axes, defects=("S55",))
    stick = rank - 1 in axes
    if stick or not build.profile.since("2026-08-01"):
        raise Refused(
            "O10",
            f"{PREFIX}{build.site.node} (prims.rev.default): no supported output layout found for any of 1 candidate"
            f" input layouts; output size={list(self.shape)}",
        )
    value = build.operand(self)
    return build.emit("flip", [value], value.shape, value.dtype, dims=axes)


@lowers("copy")
def copy(build: Builder, self: Value, src: Value, non_blocking: bool = False) -> Value:
    """The functional form of copy_: `src` broadcast to the shape of `self`."""
    return seen_as(build, convert(build, src, self.dtype), aten.expand.default, list(self.shape))


@lowers("slice_scatter")
def slice_scatter(
    build: Builder, self: Value, src: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Value:
    """A slice write into a copy."""
    target, source = build.operand(self, 0), build.operand(src, 1)
    axis = dim % len(target.shape)
    first = 0 if start is None else int(start)
    if axis == len(target.shape) - 1 and (first % build.lanes(target.format) or step != 1):
        raise Refused(
            "E13",
            f"{PREFIX}no offset-free alternative stick dim for mutation target (write stick d{axis} + {first},"
            f" size={list(target.shape)})",
        )
    arguments = (axis, start, end, step)
    return build.emit("slice_scatter", [target, source], target.shape, target.dtype, args=arguments)
