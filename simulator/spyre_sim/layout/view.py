"""Where the elements of a value lie in sticks, for the values of a device graph (facts L1, L40, L43).

A buffer is row-major in its host order and divided into sticks along one of its dims; a view is sizes, strides and an
offset over such a buffer. What the stack makes of it is decided in `stick.expression_along`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .default import contiguous_stride
from .stick import StickAxis, StickExpression, expression_along


@dataclass(frozen=True)
class StickView:
    """A view of one buffer. All numbers are elements of the buffer.

    `extent`: size of the buffer's dim that is divided into sticks; `step`: its stride; `lanes`: elements per stick
    (64 for 16 bits, 32 for 32 bits, N33); `sparse`: one valid lane a stick, the result of a stick reduction (L43).
    """

    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    extent: int
    step: int = 1
    lanes: int = 64
    sparse: bool = False

    @staticmethod
    def dense(shape: tuple[int, ...], lanes: int = 64, stick_dim: int = -1) -> StickView:
        """A fresh contiguous buffer with its stick on `stick_dim` (the default layout: the last dim, L11)."""
        stride = contiguous_stride(shape)
        if not shape:
            return StickView((), (), 0, 1, 1, lanes)
        dim = stick_dim % len(shape)
        return StickView(shape, stride, 0, shape[dim], stride[dim], lanes)

    @staticmethod
    def reduced(shape: tuple[int, ...], lanes: int = 64) -> StickView:
        """The sparse result of a reduction over the stick dim: every element in lane 0 of its own stick (L43)."""
        return StickView(shape, contiguous_stride(shape), 0, 1, 1, lanes, sparse=True)

    @cached_property
    def expression(self) -> StickExpression:
        """The stick expression of the view; `0` for a sparse one and where the stick dim has one element."""
        if self.sparse or self.extent <= 1:
            return StickExpression("zero", "0")
        axis = StickAxis(self.step, self.step * self.extent, self.lanes)
        return expression_along(axis, self.size, self.stride, self.offset)

    @property
    def spread(self) -> bool:
        """Does the view run along its sticks? One that does not is a broadcast to any other (L19, N53)."""
        return self.expression.moves

    @property
    def stick_dim(self) -> int | None:
        """The one dim that runs along the sticks, or None for a view that stays on lane 0.

        Raises ValueError for a view without a regular expression: ask `expression.supported` first.
        """
        if not self.expression.supported:
            raise ValueError(f"no stick dim: {self.expression.text}")
        return self.expression.variable
