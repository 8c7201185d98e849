"""Memory for results: large, short-lived, and of the same few sizes in every run, so it is kept and lent again.

Fresh memory costs a page fault for each of its pages, which for a pass over a large array is more than the pass. A
buffer comes back when the last tensor on it is gone, views included, so whoever holds a value keeps it.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

LEAST = 1 << 16  # bytes; below, the allocator of the C library is as good
KEPT = 1 << 26  # bytes that are held at most while nobody uses them
ALIGNMENT = 64  # a line of the cache, and what vector code likes best


def empty(shape: Sequence[int], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """A contiguous tensor with anything in it."""
    size = math.prod(shape) * dtype.itemsize
    if size < LEAST:
        return torch.empty(tuple(shape), dtype=dtype)
    return torch.from_numpy(_STORE.lend(size)).view(dtype).view(tuple(shape))


def empty_like(tensor: torch.Tensor) -> torch.Tensor:
    """A contiguous tensor of the same shape and dtype with anything in it."""
    return empty(tensor.shape, tensor.dtype)


class Store:
    """Buffers that nobody uses, uint8 arrays; each is lent through a view whose end brings it back."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._free: list[Any] = []
        self._lock = threading.Lock()  # of those who take; `append` is atomic, and its `back` may run while one takes
        self._lent: dict[int, weakref.ref[Any]] = {}

    def lend(self, size: int) -> Any:
        """uint8 [size], aligned."""
        buffer = self._fitting(size)
        if buffer is None:
            buffer = np.empty(size + ALIGNMENT, np.uint8)
        start = -buffer.ctypes.data % ALIGNMENT
        view = buffer[start : start + size]

        def back(reference: weakref.ref[Any]) -> None:
            self._lent.pop(id(reference))
            if self.held + buffer.nbytes <= self._kept:
                self._free.append(buffer)

        reference = weakref.ref(view, back)
        self._lent[id(reference)] = reference
        return view

    def _fitting(self, size: int) -> Any:
        """The last used, which may still be in a cache, that is large enough and wastes less than half of itself."""
        for buffer in self._free[::-1]:
            if size + ALIGNMENT <= buffer.nbytes <= 2 * (size + ALIGNMENT):
                return self._taken(buffer)
        return None

    def _taken(self, buffer: Any) -> Any:
        """The buffer; None if another thread was faster: between the look and the `pop` positions may shift."""
        with self._lock:
            for position, item in enumerate(self._free):
                if item is buffer:
                    return self._free.pop(position)
        return None

    @property
    def held(self) -> int:
        """Bytes that are free to be lent."""
        return sum(int(buffer.nbytes) for buffer in self._free)


_STORE = Store()
