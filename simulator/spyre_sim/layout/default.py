"""The layout a tensor gets on the device when nobody says otherwise (facts L1-L19).

A stick is 128 bytes. A layout is `device_size`, row-major on the device with the stick last, and `stride_map`: how
many host elements one step of each device dim is, -1 for a dim that maps to nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, SupportsIndex

BYTES_IN_STICK = 128
MAX_RANK = 6
ELEMENTS_IN_STICK = {
    "float16": 64,
    "bfloat16": 64,
    "bool": 64,
    "int16": 64,
    "float32": 32,
    "int32": 32,
    "int64": 32,  # stored as int32 (N33)
    "uint8": 32,  # stored as SENUINT32 (N30)
    "int8": 128,
    "float8_e4m3fn": 128,
    "float8_e5m2fnuz": 128,
}
Generation = Literal["2026", "2025-11"]


class LayoutError(ValueError):
    """A size, stride or dim order that has no layout; the message is the stack's own where one is public."""


@dataclass(frozen=True)
class DeviceLayout:
    """`device_size` and `stride_map` of equal length, and the host dtype whose words fill a stick."""

    device_size: tuple[int, ...]
    stride_map: tuple[int, ...]
    dtype: str = "float16"

    @property
    def lanes(self) -> int:
        """Elements in a stick."""
        return self.device_size[-1]

    @property
    def sticks(self) -> int:
        return math.prod(self.device_size[:-1])

    @property
    def nbytes(self) -> int:
        """Bytes on the device: 128 a stick (L3)."""
        return BYTES_IN_STICK * self.sticks


def elements_in_stick(dtype: object) -> int:
    """How many elements of a host dtype one stick holds (N33): "float16", or torch's own.

    Raises LayoutError for a dtype without a format.
    """
    name = dtype_name(dtype)
    if name not in ELEMENTS_IN_STICK:
        raise LayoutError(f"Unsupported CPU tensor dtype for DMA transfer: {name}")
    return ELEMENTS_IN_STICK[name]


def dtype_name(dtype: object) -> str:
    """ "float16" for that and for torch.float16, without torch."""
    return str(dtype).removeprefix("torch.")


def contiguous_stride(size: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides in elements; a size of 0 counts as 1, as in torch."""
    strides: list[int] = []
    step = 1
    for extent in reversed(size):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def default_layout(
    size: Sequence[int],
    stride: Sequence[int] | None = None,
    dtype: object = "float16",
    dim_order: Sequence[int] | None = None,
    *,
    generation: Generation = "2026",
) -> tuple[list[int], list[int]]:
    """`(device_size, stride_map)` of a host tensor.

    `size`, `stride`: of the host tensor in elements; without a stride it is contiguous. `dtype`: "float16", or torch's
    own. `dim_order`: a permutation of
    the dims whose last entry is the stick dim; a trailing -1 after it makes the layout sparse, one element a stick.
    `generation`: "2025-11" puts the dims of rank 3 and above in the older order (L15).

        >>> default_layout([512, 8, 240])
        ([8, 4, 512, 64], [240, 64, 1920, 1])

    Raises LayoutError: `Unsupported tensor rank: N` above rank 6, `Incompatible host_size and dim_order` (L10), and
    for a size that is no sequence of whole numbers from 0 on.
    """
    _check_size(size)
    lanes = elements_in_stick(dtype)
    strides = contiguous_stride(size) if stride is None else tuple(stride)
    if len(strides) != len(size):
        raise LayoutError(f"size has {len(size)} dims, stride {len(strides)}")
    if not size:
        return [1, lanes], [-1, -1]
    order = _checked_order(len(size), dim_order)
    dims = _device_dims(order, generation)
    device_size = _device_size(dims, size, lanes)
    return device_size, _stride_map(dims, size, strides, device_size)


def default_device_layout(
    size: Sequence[int],
    stride: Sequence[int] | None = None,
    dtype: object = "float16",
    dim_order: Sequence[int] | None = None,
) -> DeviceLayout:
    """`default_layout` as a DeviceLayout."""
    device_size, stride_map = default_layout(size, stride, dtype, dim_order)
    return DeviceLayout(tuple(device_size), tuple(stride_map), dtype_name(dtype))


def _check_size(size: object) -> None:
    if isinstance(size, str) or not isinstance(size, Sequence):
        raise LayoutError(f"a size is a sequence of whole numbers, not {size!r}; of one dim it is [{size}]")
    for extent in size:
        if isinstance(extent, bool) or not isinstance(extent, SupportsIndex):
            raise LayoutError(f"a size is a sequence of whole numbers, and {extent!r} is none")
        if extent.__index__() < 0:
            raise LayoutError(f"a size has no negative numbers: {list(size)}")


def _checked_order(rank: int, dim_order: Sequence[int] | None) -> tuple[int, ...]:
    order = tuple(range(rank)) if dim_order is None else tuple(dim_order)
    dims = order[:-1] if order and order[-1] == -1 else order
    if sorted(dims) != list(range(rank)):
        raise LayoutError("Incompatible host_size and dim_order")
    if len(order) > MAX_RANK:
        raise LayoutError(f"Unsupported tensor rank: {len(order)}")
    return order


def _device_dims(order: tuple[int, ...], generation: Generation) -> tuple[int, ...]:
    """Which host dim each device dim walks: the stick's dim is there twice, last and where its sticks are counted."""
    if generation == "2025-11" or len(order) < 3:
        return (order[-1], *order)
    return (*order[1:], order[0], order[-1])


def _device_size(dims: tuple[int, ...], size: Sequence[int], lanes: int) -> list[int]:
    stick = dims[-1]
    sticks = 1 if stick == -1 else -(-size[stick] // lanes)
    return [*(sticks if dim == stick else size[dim] for dim in dims[:-1]), lanes]


def _stride_map(
    dims: tuple[int, ...], size: Sequence[int], strides: tuple[int, ...], device_size: list[int]
) -> list[int]:
    found = [-1] * len(dims)
    walked: dict[int, int] = {}  # host dim -> stride of its next, coarser device dim
    for position in reversed(range(len(dims))):
        dim = dims[position]
        if dim == -1 or size[dim] == 1:
            continue
        found[position] = walked.get(dim, strides[dim])
        walked[dim] = found[position] * device_size[position]
    return found
