"""Kernels that copy: no arithmetic, so nothing is rounded."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from ..formats import round_dl16
from ..graph import DeviceOp, Format
from ..memory import ALLOCATOR_FILL
from .numbers import Arithmetic, Tensor, Words, array, contiguous, copied_on_grid, values_of
from .registry import kernel

aten = torch.ops.aten


@kernel("restickify")
def restickify(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    """The same values with their sticks along another dim: the order that is simulated is the host's."""
    return values_of(inputs[0])


@kernel("identity")
def identity(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    """A copy in the default layout; a value that lies so already stays where it is."""
    if "S39" in op.defects:
        return torch.full(op.output.shape, ALLOCATOR_FILL, dtype=torch.int32)
    return copied_on_grid(inputs[0]) if op.output.format is Format.DL16 else contiguous(inputs[0])


@kernel("copy")
def copy(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    """A reshape or repeat that moves data."""
    source = values_of(inputs[0])
    return op.attributes["target"](source, *op.attributes["args"]).contiguous()


@kernel("cat")
def cat(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    parts = [contiguous(part) for part in inputs[0]]
    dim = op.attributes["dim"]
    if "S5" in op.defects:
        parts = [-parts[1], parts[1]]  # the offset of the negated half is dropped: it reads the first half
    if "S14" in op.defects:
        parts = _size_one_mishandled(parts, dim)
    return torch.cat(parts, dim)


def _size_one_mishandled(parts: list[Tensor], dim: int) -> list[Tensor]:
    """The operand of size 1 is read from its neighbour (S14); which one is not published."""
    neighbour = next((part for part in parts if part.shape[dim] > 1), parts[0])
    return [neighbour.narrow(dim, 0, 1) if part.shape[dim] == 1 else part for part in parts]


@kernel("pad")
def pad(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    value = arithmetic.number(op.attributes["value"], op.output.format)
    return torch.nn.functional.pad(contiguous(inputs[0]), op.attributes["pad"], value=value)


@kernel("flip")
def flip(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    x = contiguous(inputs[0])
    if "S55" in op.defects:
        return x[-1:].expand(x.shape).contiguous()  # N - 1 - i is folded to a constant
    return x.flip(op.attributes["dims"])


@kernel("slice_scatter")
def slice_scatter(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    target, source = (contiguous(item) for item in inputs)
    return aten.slice_scatter.default(target, source, *op.attributes["args"])


@kernel("index_copy")
def index_copy(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    """Repeated indices: the last writer wins (O13)."""
    target, index, source = inputs
    return contiguous(target).index_copy(op.attributes["dim"], index.to(torch.int64), contiguous(source))


@kernel("gather")
def gather(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    """Rows of a table; a table of words is decoded only where it is read."""
    table, rows = inputs
    index = rows.to(torch.int64)
    if "S58" in op.defects:
        index = torch.zeros_like(index)
    if isinstance(table, Words):
        return Words(table.words[index]).values()
    return table[index].contiguous()


@kernel("dl16tofp32")
def widen(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    """DLFloat16 to float32: exact. Kept in logical order; the element arrangement is a label of the value (N41)."""
    x = contiguous(inputs[0])
    return _unpaired(x) if "S37" in op.defects else x


def _unpaired(x: Tensor) -> Tensor:
    """A last stick whose float32 sticks are no pair: only the first is there, its 16 even elements and zeros.

    Seen as 16 values and 16 zeros (N48) and as a stick that comes back staggered (N49).
    """
    out = x.clone()
    last = out[..., x.shape[-1] // 64 * 64 :]
    even = last[..., 0:32:2].clone()
    last.zero_()
    last[..., : even.shape[-1]] = even
    return out


@kernel("fp32todl16")
def narrow(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    """float32 to DLFloat16, by a rounding of its own (U5)."""
    rounding = dataclasses.replace(arithmetic.rounding, mode=arithmetic.numerics.conversion_rounding)
    return torch.from_numpy(round_dl16(array(contiguous(inputs[0])), rounding=rounding))
