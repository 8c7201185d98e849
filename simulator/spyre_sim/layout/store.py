"""Words in device order: what a layout does to a host array on its way to the device and back (facts L2, L4, L16).

Layouts may hold a host element in several slots (expanded, overlapping) and slots that hold none (the lanes beyond
the host size, rows of an oversized dim). So the device keeps words and not a host array: writing follows every slot
to its host element, and reading takes any one slot of each element.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .default import DeviceLayout, LayoutError, contiguous_stride

PADDING = -1
_MISMATCH = "Invalid device sizes and stride map for host sizes and strides"

Walked = dict[int, tuple[int, int]]  # device dim -> the host dim it walks and how many of its elements a step takes


def write_words(
    host: NDArray[Any], layout: DeviceLayout, padding: NDArray[Any] | None = None
) -> NDArray[Any]:
    """Host to device: the elements of `host`, of any strides, in device order; shape `device_size`.

    `padding`, of shape `device_size`, says what the slots hold that no element is written to, zeros if None: the
    device never clears them (L4). Raises LayoutError (E21) if the layout does not hold every element.
    """
    slots = host_elements(layout, host.shape, _element_strides(host))
    out = np.zeros(slots.shape, host.dtype) if padding is None else padding.astype(host.dtype)
    valid = slots != PADDING
    out[valid] = _storage(host, int(slots.max()) + 1)[slots[valid]]
    return out


def read_words(
    words: NDArray[Any], layout: DeviceLayout, size: Sequence[int], stride: Sequence[int] | None = None
) -> NDArray[Any]:
    """Device to host: a dense array of `size` from words in device order.

    `stride` is the one the layout was made for, contiguous if None. Where several slots hold one element the last in
    device order is read. Raises LayoutError (E21) as `write_words` does.
    """
    strides = contiguous_stride(size) if stride is None else tuple(stride)
    slots = host_elements(layout, tuple(size), strides).reshape(-1)
    slot_of = np.zeros(max(int(slots.max()), 0) + 1, np.int64)
    (valid,) = np.nonzero(slots != PADDING)
    slot_of[slots[valid]] = valid
    return np.asarray(words.reshape(-1)[slot_of[_element_offsets(size, strides)]])


@lru_cache(maxsize=256)
def host_elements(layout: DeviceLayout, size: tuple[int, ...], stride: tuple[int, ...]) -> NDArray[np.int64]:
    """For every slot of the device the host element offset it holds, or PADDING; int64 of shape `device_size`.

    A device dim walks the host dim whose stride divides its own, and a slot beyond that dim's size is padding. Where a
    layout folds dims together (L16) the host tensor counts as one flat dim. Raises LayoutError with the stack's text
    (E21) if an element is in no slot.
    """
    walked = _walked_dims(layout, size, stride)
    if walked is None and stride == contiguous_stride(size):
        walked = _walked_dims(layout, (int(np.prod(size)),), (1,))
        slots = None if walked is None else _slots(layout, (int(np.prod(size)),), walked)
    else:
        slots = None if walked is None else _slots(layout, size, walked)
    wanted = np.unique(_element_offsets(size, stride))
    if slots is None or not np.array_equal(np.unique(slots[slots != PADDING]), wanted):
        raise LayoutError(_MISMATCH)
    slots.flags.writeable = False
    return slots


def _walked_dims(layout: DeviceLayout, size: tuple[int, ...], stride: tuple[int, ...]) -> Walked | None:
    """Which host dim each device dim of more than one step walks; None if one walks none."""
    walked: Walked = {}
    for position, (extent, step) in enumerate(zip(layout.device_size, layout.stride_map, strict=True)):
        if extent == 1 or step in (-1, 0):
            continue
        fitting = [
            (s, dim)
            for dim, (n, s) in enumerate(zip(size, stride, strict=True))
            if n > 1 and s > 0 and step % s == 0 and step // s < n
        ]
        if not fitting:
            return None
        coarsest, dim = max(fitting)
        walked[position] = (dim, step // coarsest)
    return walked


def _slots(layout: DeviceLayout, size: tuple[int, ...], walked: Walked) -> NDArray[np.int64]:
    indices = np.indices(layout.device_size, sparse=True)
    offsets = np.zeros(layout.device_size, np.int64)
    valid = np.ones(layout.device_size, bool)
    coordinates: dict[int, Any] = {}
    for position, (extent, step) in enumerate(zip(layout.device_size, layout.stride_map, strict=True)):
        if step == -1:
            valid &= indices[position] == 0  # maps to nothing: one valid lane (L43)
        elif extent > 1 and step:
            offsets = offsets + indices[position] * step
            dim, elements = walked[position]
            coordinates[dim] = coordinates.get(dim, 0) + indices[position] * elements
    for dim, coordinate in coordinates.items():
        valid &= coordinate < size[dim]
    return np.where(valid, offsets, PADDING)


def _element_strides(host: NDArray[Any]) -> tuple[int, ...]:
    return tuple(step // host.itemsize for step in host.strides)


def _element_offsets(size: Sequence[int], stride: Sequence[int]) -> NDArray[np.int64]:
    offsets = np.zeros(tuple(size), np.int64)
    for position, index in enumerate(np.indices(tuple(size), sparse=True)):
        offsets = offsets + index * stride[position]
    return offsets


def _storage(host: NDArray[Any], length: int) -> NDArray[Any]:
    """The elements in memory from the first one on, which slot offsets count from."""
    return np.lib.stride_tricks.as_strided(host, (length,), (host.itemsize,), writeable=False)
