"""Ops that write parts into one buffer: concatenation and padding (L50)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..errors import PREFIX
from ..graph import Value
from .builder import Builder, dtype_name
from .conversions import convert
from .refused import Refused
from .registry import lowers


@lowers("cat", "concat", "concatenate")
def cat(build: Builder, tensors: Sequence[Value], dim: int = 0) -> Value:
    """An empty buffer and one slice write per part (L50); along the stick, parts start at whole sticks."""
    dtype = dtype_name(build.meta.dtype)
    parts = [convert(build, part, dtype) for part in tensors if part.numel]  # of nothing there is nothing to write
    parts = [build.operand(part, position) for position, part in enumerate(parts)]
    shape = tuple(build.meta.shape)
    axis = dim % len(shape)
    if axis == len(shape) - 1:
        _check_offsets(build, [part.shape[axis] for part in parts], shape)
    defects = _cat_defects(build, parts, axis)
    arrangement = parts[0].arrangement
    return build.emit("cat", [parts], shape, dtype, defects=defects, arrangement=arrangement, dim=axis)


def _check_offsets(build: Builder, widths: Sequence[int], shape: Sequence[int]) -> None:
    offset = 0
    lanes = build.profile.lanes if build.meta.dtype.itemsize <= 2 else build.profile.lanes // 2
    for width in widths:
        if offset % lanes:
            raise Refused(
                "E13",
                f"{PREFIX}no offset-free alternative stick dim for mutation target (write stick d{len(shape) - 1}"
                f" + {offset}, size={list(shape)})",
            )
        offset += width


def _cat_defects(build: Builder, parts: Sequence[Value], axis: int) -> tuple[str, ...]:
    found = []
    if any(part.shape[axis] == 1 for part in parts) and len(parts) > 1:
        found.append("S14")
    if len(parts) == 2 and axis == len(parts[0].shape) - 1 and _is_rotated_half(build, parts):
        found.append("S5")
    return build.profile.active(*found)


def _is_rotated_half(build: Builder, parts: Sequence[Value]) -> bool:
    """cat([-x[h:], x[:h]]) in one bundle: what rotary embeddings do (S5)."""
    negated, first = (build.producer(part) for part in parts)
    if negated is None or first is None or negated.kernel != "neg" or first.kernel != "view":
        return False
    second = build.producer(negated.inputs[0])
    if second is None or second.kernel != "view" or first.inputs[0] is not second.inputs[0]:
        return False
    front, back = first.output.layout, second.output.layout
    return front is not None and back is not None and front.expression.start == 0 and back.expression.start > 0


@lowers("stack")
def stack(build: Builder, tensors: Sequence[Value], dim: int = 0) -> Value:
    """unsqueeze each and concatenate."""
    rank = len(build.meta.shape)
    parts = [build.view(build.device(part), torch.ops.aten.unsqueeze.default, dim % rank) for part in tensors]
    return cat(build, parts, dim)


@lowers("constant_pad_nd", "pad")
def pad(build: Builder, self: Value, pad: Sequence[int], mode: str = "constant", value: Any = 0.0) -> Value:
    """Fill and one slice write (L50): on the left of the last dim by whole sticks only."""
    if mode != "constant":
        raise Refused("", f"not modelled by the simulator: pad with mode {mode}", kind="not_modelled")
    operand = build.operand(self)
    left, lanes = pad[0], build.lanes(operand.format)
    if left > 0 and left % lanes:
        raise Refused(
            "E13",
            f"{PREFIX}no offset-free alternative stick dim for mutation target (write stick d{len(self.shape) - 1}"
            f" + {left}, size={list(build.meta.shape)})",
            nominal=operand.nominal,
        )
    number = 0.0 if value is None else float(value)
    return build.emit("pad", [operand], build.meta.shape, operand.dtype, pad=list(pad), value=number)
