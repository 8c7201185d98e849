"""The one registry of kernels: the stack's kernel name -> what it computes, filled where each is defined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..graph import DeviceOp
from .numbers import Arithmetic

Kernel = Callable[[Arithmetic, DeviceOp, list[Any]], Any]

KERNELS: dict[str, Kernel] = {}


def kernel(*names: str) -> Callable[[Kernel], Kernel]:
    """Register the function that computes these kernels: (arithmetic, op, inputs) -> tensor.

    Inputs are float32 tensors (on the grid for DL16), int32 tensors, `Words`, or numbers; the result is stored in
    the op's output format: rounded for DL16, and contiguous.
    """

    def register(function: Kernel) -> Kernel:
        for name in names:
            if name in KERNELS:
                raise ValueError(f"two kernels named {name}")
            KERNELS[name] = function
        return function

    return register
