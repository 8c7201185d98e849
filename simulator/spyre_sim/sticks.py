"""Where the elements of a view lie in sticks: the expressions on which the stack's layout rules speak.

A buffer is row-major in its host order and divided into sticks along one of its dims (L1, L40). A view is sizes,
strides and an offset over such a buffer. The lane of an element is an expression in the view's indices; the stack
accepts a bare variable (mod the stick), 0, or one of those plus a constant (E10).
"""

from __future__ import annotations

from dataclasses import dataclass


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
        return StickView(shape, stride, 0, shape[dim], max(stride[dim], 1), lanes)

    @staticmethod
    def reduced(shape: tuple[int, ...], lanes: int = 64) -> StickView:
        """The sparse result of a reduction over the stick dim: every element in lane 0 of its own stick (L43)."""
        return StickView(shape, contiguous_stride(shape), 0, 1, 1, lanes, sparse=True)

    def terms(self) -> tuple[tuple[int, int], ...]:
        """(dim, coefficient) of the lane expression, without what is a multiple of a whole stick or row."""
        if self.sparse or not self.extent:
            return ()
        found = []
        for dim, (size, stride) in enumerate(zip(self.size, self.stride, strict=True)):
            if size == 1 or stride == 0:
                continue
            coefficient, rest = divmod(stride, self.step)
            if rest or coefficient % self.extent == 0:
                continue  # moves in dims inside or outside the stick dim
            if self.extent % self.lanes == 0:
                coefficient %= self.lanes  # rows are whole sticks: only the lane counts
                if coefficient == 0:
                    continue
            found.append((dim, coefficient))
        return tuple(found)

    def lane_offset(self) -> int:
        """The constant part: the offset of the view along the stick dim, in elements."""
        return 0 if self.sparse or not self.extent else (self.offset // self.step) % self.extent

    def stick_dim(self) -> int | None:
        """The one dim that runs along the sticks, or None for a view that stays in one lane.

        Call `irregular` first: for a view with no regular expression this raises ValueError.
        """
        if self.irregular() is not None:
            raise ValueError(f"no stick dim: {self.irregular()}")
        terms = self.terms()
        return terms[0][0] if terms else None

    def irregular(self) -> str | None:
        """The stick expression where the stack does not accept it, else None (E10)."""
        terms, offset = self.terms(), self.lane_offset()
        if not terms:
            return str(offset) if offset else None  # a single lane that is not lane 0 (E10: `1`, `3`)
        if len(terms) > 1:
            return " + ".join(_product(coefficient, f"d{dim}") for dim, coefficient in terms)
        dim, coefficient = terms[0]
        if coefficient != 1:
            return f"{coefficient}*(Mod(d{dim}, {max(self.lanes // coefficient, 1)}))"
        if self.size[dim] > self.extent and self.extent % self.lanes:
            return f"Mod(d{dim}, {self.extent})"  # rows end inside a stick, the view runs on
        return None

    def expression(self) -> str:
        """The lane expression as the stack prints it."""
        irregular = self.irregular()
        if irregular is not None:
            return irregular
        terms, offset = self.terms(), self.lane_offset()
        if not terms:
            return "0"
        dim = terms[0][0]
        bare = f"Mod(d{dim}, {self.lanes})" if self.size[dim] > self.lanes else f"d{dim}"
        return f"{bare} + {offset}" if offset else bare

    def split_sticks(self) -> bool:
        """Does the view start inside a stick (O14)?"""
        return bool(self.terms()) and self.lane_offset() % self.lanes != 0


def contiguous_stride(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides, as torch gives them."""
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def _product(coefficient: int, variable: str) -> str:
    return variable if coefficient == 1 else f"{coefficient}*{variable}"
