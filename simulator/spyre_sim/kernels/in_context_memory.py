"""What the bugs of `context_memory.py` make of a kernel: operands read from elsewhere, parts of results overwritten."""

from __future__ import annotations

from typing import Any

import torch

from ..graph import DeviceOp
from ..layout.default import contiguous_stride, default_device_layout
from ..layout.store import read_words, write_words
from .numbers import Arithmetic, Tensor, values_of

INFINITY = 2.0**24  # what a host infinity became is beyond that (N13)


def scratchpad_overlap(arithmetic: Arithmetic, op: DeviceOp, result: Tensor) -> Tensor:
    """S22: the end of every core's part is overwritten; by what is not published, so with zeros."""
    flat = result.reshape(-1)
    part = -(-flat.numel() // op.attributes["cores"])
    lost = torch.arange(flat.numel()) % part >= part * (1.0 - op.attributes["lost_share"])
    return torch.where(lost, 0.0, flat).reshape(result.shape)


def in_memory_order(op: DeviceOp, inputs: list[Any]) -> list[Any]:
    """S24: the words are read in the order they lie in, not in the order of the view."""
    return [_relabelled(inputs[0]), *inputs[1:]]


def views_in_memory_order(op: DeviceOp, inputs: list[Any]) -> list[Any]:
    """S12: as S24, for every operand that is the view."""
    return [_relabelled(item) if i in op.attributes["views"] else item for i, item in enumerate(inputs)]


def _relabelled(item: Any) -> Tensor:
    tensor = values_of(item)
    if 0 in tensor.stride():
        return tensor  # repeated elements lie there once: there is no second order to read them in
    return tensor.as_strided(tensor.shape, contiguous_stride(tensor.shape), tensor.storage_offset())


def result_as_default(arithmetic: Arithmetic, op: DeviceOp, result: Tensor) -> Tensor:
    """S34: the words, in sticks along another dim, are read as if in the default layout; beyond them memory is zero."""
    size = tuple(result.shape)
    order = [dim for dim in range(len(size)) if dim != op.attributes["stick"]] + [op.attributes["stick"]]
    lies = default_device_layout(size, None, "float16", order)
    taken = default_device_layout(size)
    values = result.to(torch.float32).contiguous().numpy()
    words = torch.from_numpy(write_words(values, lies).reshape(-1))
    count = taken.sticks * taken.lanes
    filled = torch.cat([words, torch.zeros(max(count - words.numel(), 0))])[:count]
    return torch.from_numpy(read_words(filled.numpy(), taken, size)).to(result.dtype)


def whole_source(op: DeviceOp, inputs: list[Any]) -> list[Any]:
    """S42: as many rows of the whole source as there is room for."""
    axis, first, last, _ = op.attributes["args"]
    return [inputs[0], values_of(inputs[1]).narrow(axis, 0, last - first)]


def offset_ignored(op: DeviceOp, inputs: list[Any]) -> list[Any]:
    """S65: the view is read from the start of its buffer."""
    narrowed = op.attributes["narrowed"]
    return [_from_start(item) if position in narrowed else item for position, item in enumerate(inputs)]


def _from_start(item: Any) -> Tensor:
    tensor = values_of(item)
    return tensor.as_strided(tensor.shape, tensor.stride(), 0)


def merged_symbol(op: DeviceOp, inputs: list[Any]) -> list[Any]:
    """S61: the sum of two infinities is not-a-number whatever their signs."""
    x, y = map(values_of, inputs)
    both = (x.abs() > INFINITY) & (y.abs() > INFINITY)
    return [torch.where(both, float("nan"), x), y]


BEFORE = {
    "S12": views_in_memory_order,
    "S24": in_memory_order,
    "S42": whole_source,
    "S61": merged_symbol,
    "S65": offset_ignored,
}
AFTER = {"S22": scratchpad_overlap, "S34": result_as_default}
