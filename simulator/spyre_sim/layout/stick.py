"""Stick expressions: which lane of a stick an op touches when it walks a view (facts E1-E14, L40, O14).

The stack writes the place of an element within its stick as an expression in the op's loop variables d0, d1, ... It
can lower `Mod(d3, 64)`, a bare `d3` and `0`, the first two with a constant offset as well. Anything else it refuses:
the `32*d2 + d3` of heads narrower than a stick, the `2*(Mod(d1, 32))` of every other element, the `3` of a single
element (E10). A view is sizes, strides and an offset in host elements of the buffer it looks at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .default import contiguous_stride

StickKind = Literal["mod", "variable", "zero", "unexpected"]


@dataclass(frozen=True)
class StickAxis:
    """The dim of a buffer that is divided into sticks, in elements of the buffer.

    `step`: its stride; `outer`: the stride of the next coarser dim, where the coordinate along it starts again;
    `lanes`: elements per stick (N33).
    """

    step: int
    outer: int
    lanes: int = 64

    @property
    def row(self) -> int:
        """Elements of the dim before it starts again."""
        return self.outer // self.step

    @property
    def whole(self) -> bool:
        """Whether every row ends with a stick, so that the lanes run on from one row into the next."""
        return self.row % self.lanes == 0


@dataclass(frozen=True)
class StickExpression:
    """What the stack would print, and what it is.

    `kind`: "mod" and "variable" walk the stick along dim `variable` of the view, over more than one stick or within
    one; "zero" stays on lane 0 (a broadcast); "unexpected" has no lowering. `bare`: the text without its offset.
    `offset`: the constant lane it starts at; `start`: the element of the stick dim it starts at, so that
    `start % lanes == offset`.
    """

    kind: StickKind
    bare: str
    variable: int | None = None
    offset: int = 0
    start: int = 0

    @property
    def text(self) -> str:
        """The expression of the lane."""
        return _shifted(self.bare, self.offset)

    @property
    def from_start(self) -> str:
        """The expression with the whole offset along the stick dim, as E3 speaks of slices."""
        return _shifted(self.bare, self.start)

    @property
    def supported(self) -> bool:
        """Whether the stack can lower it at all; an offset may still be refused by ops of fixed layout (E3)."""
        return self.kind != "unexpected"

    @property
    def moves(self) -> bool:
        """Supported, and running along the stick: not a broadcast."""
        return self.variable is not None

    @property
    def aligned(self) -> bool:
        """Supported, and starting on a stick boundary (O14)."""
        return self.supported and self.offset == 0


def stick_expression(
    size: Sequence[int],
    stride: Sequence[int],
    offset: int = 0,
    *,
    base_size: Sequence[int],
    base_stride: Sequence[int] | None = None,
    stick_dim: int = -1,
    lanes: int = 64,
) -> StickExpression:
    """The stick expression of a view of a buffer.

    `size`, `stride`, `offset`: the view in host elements of the buffer. `base_size`, `base_stride`: the buffer as it
    was laid out; `stick_dim`: its dim that lies along the stick, so a permuted layout passes its own. `lanes`:
    elements of a stick. A 0-d buffer or a stick dim of size 1 gives `0`.

        >>> stick_expression([4, 12, 32], [384, 32, 1], base_size=[4, 384]).text
        '32*d1 + d2'
    """
    strides = contiguous_stride(base_size) if base_stride is None else tuple(base_stride)
    if not base_size or base_size[stick_dim] == 1:
        return StickExpression("zero", "0")
    step, extent = strides[stick_dim], base_size[stick_dim]
    coarser = (s for s, n in zip(strides, base_size, strict=True) if s > step and n > 1)
    return expression_along(StickAxis(step, min(coarser, default=step * extent), lanes), size, stride, offset)


def expression_along(axis: StickAxis, size: Sequence[int], stride: Sequence[int], offset: int) -> StickExpression:
    """The one decision: the stick expression of a view along `axis` of its buffer.

    An element's coordinate is `(place % outer) // step`, its lane the coordinate modulo the stick. The lane is regular
    if one variable of the view counts it up one by one and all others leave it alone.
    """
    start = offset % axis.outer // axis.step
    lane = start % axis.lanes
    terms = [term for d, (n, s) in enumerate(zip(size, stride, strict=True)) if (term := _term(axis, d, n, s))]
    if _carries(axis, size, stride, offset):
        parts = " + ".join(_product(s, d) for d, (n, s) in enumerate(zip(size, stride, strict=True)) if n > 1 and s)
        return StickExpression("unexpected", f"floor(({parts})/{axis.step})", None, lane, start)
    if not axis.whole and _leaves_row(axis, terms, start):
        inner = _shifted(" + ".join(_product(term.scale, term.variable) for term in terms), start)
        return StickExpression("unexpected", f"Mod({inner}, {axis.row})", None, 0, start)
    return _simplest(axis, [term for term in terms if term.scale % axis.lanes], lane, start)


@dataclass(frozen=True)
class _Term:
    """`scale * variable`: what one loop variable adds to the coordinate; `extent`: its size."""

    variable: int
    extent: int
    scale: int


def _term(axis: StickAxis, variable: int, extent: int, stride: int) -> _Term | None:
    scale = stride % axis.outer // axis.step
    return _Term(variable, extent, scale) if extent > 1 and scale else None


def _carries(axis: StickAxis, size: Sequence[int], stride: Sequence[int], offset: int) -> bool:
    """Whether steps in dims finer than the stick's add up to a step along it: a buffer flattened across its sticks."""
    reach = sum((n - 1) * (s % axis.step) for n, s in zip(size, stride, strict=True) if n > 1)
    return offset % axis.step + reach >= axis.step


def _leaves_row(axis: StickAxis, terms: Sequence[_Term], start: int) -> bool:
    """Whether the view runs on into the next row; where rows end inside a stick, its lanes then start again."""
    return start + sum(term.scale * (term.extent - 1) for term in terms) >= axis.row


def _simplest(axis: StickAxis, moving: Sequence[_Term], lane: int, start: int) -> StickExpression:
    """The expression of the terms that change the lane."""
    if not moving:
        if lane:
            return StickExpression("unexpected", str(lane), None, 0, start)
        return StickExpression("zero", "0", None, 0, start)
    if len(moving) == 1 and moving[0].scale == 1:
        variable, extent = moving[0].variable, moving[0].extent
        if extent <= axis.lanes:
            return StickExpression("variable", f"d{variable}", variable, lane, start)
        return StickExpression("mod", f"Mod(d{variable}, {axis.lanes})", variable, lane, start)
    return StickExpression("unexpected", _sum(axis, moving), None, lane, start)


def _sum(axis: StickAxis, moving: Sequence[_Term]) -> str:
    if len(moving) > 1:
        return " + ".join(_product(_shown(axis, term.scale), term.variable) for term in moving)
    scale, name = _shown(axis, moving[0].scale), f"d{moving[0].variable}"
    if axis.lanes % scale == 0 and scale * moving[0].extent > axis.lanes:
        return f"{scale}*(Mod({name}, {axis.lanes // scale}))"
    return f"{scale}*{name}"


def _shown(axis: StickAxis, scale: int) -> int:
    """A coefficient modulo the stick, as the lane has it; as it is where that would look like a bare variable."""
    reduced = scale % axis.lanes
    return reduced if axis.whole and reduced > 1 else scale


def _product(coefficient: int, variable: int) -> str:
    return f"d{variable}" if coefficient == 1 else f"{coefficient}*d{variable}"


def _shifted(text: str, offset: int) -> str:
    return f"{text} + {offset}" if offset else text
