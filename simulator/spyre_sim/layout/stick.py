"""Stick expressions: which element of a stick an op touches when it walks a view (facts E1-E14, L40, O14).

The stack writes the place of an element within its stick as an expression in the op's loop variables d0, d1, ... It
can lower `Mod(d3, 64)`, a bare `d3`, `0`, and those with a constant offset; anything else, such as the `32*d2 + d3`
of heads narrower than a stick, it refuses. A view is given by its size, stride and offset in host elements of the
buffer it looks at, and the buffer by its own size and stride.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .default import contiguous_stride

StickKind = Literal["mod", "variable", "zero", "unexpected"]


@dataclass(frozen=True)
class StickExpression:
    """What the stack would print, and what it is.

    `kind`: "mod" and "variable" walk the stick along dim `variable` of the view, over more than one stick or within
    one; "zero" stays on one lane (a broadcast); "unexpected" has no lowering. `offset`: the constant lane it starts
    at, 0 to 63. `start`: the element of the stick dim the view starts at, so `start % 64 == offset`.
    """

    kind: StickKind
    text: str
    variable: int | None = None
    offset: int = 0
    start: int = 0

    @property
    def supported(self) -> bool:
        """Whether the stack can lower it at all; an offset may still be refused by ops of fixed layout (E3)."""
        return self.kind != "unexpected"

    @property
    def aligned(self) -> bool:
        """Supported, and starting on a stick boundary (O14)."""
        return self.supported and self.offset == 0


@dataclass(frozen=True)
class _Term:
    """`scale * Mod(floor(variable / floor_by), modulus)`, a part of a coordinate; modulus None: no wrap."""

    variable: int
    extent: int
    scale: int
    floor_by: int = 1
    modulus: int | None = None


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
    outer = min((s for s, n in zip(strides, base_size, strict=True) if s > step and n > 1), default=step * extent)
    start = _coordinate(offset, base_size, strides, stick_dim % len(base_size))
    terms = [term for d, (n, s) in enumerate(zip(size, stride, strict=True)) if (term := _term(d, n, s, step, outer))]
    moving = [term for term in terms if _moves_lane(term, lanes)]
    if _runs_over(terms, start, outer // step, lanes):
        inner = " + ".join(_show(term, lanes, alone=False) for term in terms)
        text = f"Mod({inner}{_tail(start)}, {outer // step})"
        return StickExpression("unexpected", text, None, start % lanes, start)
    return _simplify(moving, start, lanes)


def _coordinate(offset: int, size: Sequence[int], strides: Sequence[int], dim: int) -> int:
    """The coordinate of an element offset along `dim`, dims of greater stride taken out first."""
    rest = offset
    for d in sorted((d for d, n in enumerate(size) if n > 1), key=lambda d: -strides[d]):
        index, rest = (rest // strides[d], rest % strides[d]) if strides[d] else (0, rest)
        if d == dim:
            return index
    return 0


def _term(variable: int, extent: int, stride: int, step: int, outer: int) -> _Term | None:
    """What one loop variable adds to the coordinate of the stick dim, which has `step` and wraps at `outer`."""
    if extent == 1 or stride == 0 or stride % outer == 0:
        return None
    reach = stride * (extent - 1)
    if stride < step:
        if reach < step:
            return None
        return _Term(variable, extent, 1, step // stride, outer // step if reach >= outer else None)
    within = stride % outer
    wraps = reach >= outer
    return _Term(variable, extent, within // step, 1, outer // step if wraps else None)


def _moves_lane(term: _Term, lanes: int) -> bool:
    """Whether the term changes the lane and not only the stick."""
    if term.scale % lanes or term.floor_by != 1:
        return True
    return term.modulus is not None and term.modulus % lanes != 0


def _runs_over(terms: list[_Term], start: int, row: int, lanes: int) -> bool:
    """Whether the view leaves the row it starts in for the next one, where rows do not end with a stick."""
    if not start or row % lanes == 0:
        return False
    if any(term.modulus is not None for term in terms):
        return True
    return start + sum(term.scale * (term.extent - 1) // term.floor_by for term in terms) >= row


def _tail(offset: int) -> str:
    return f" + {offset}" if offset else ""


def _simplify(terms: list[_Term], start: int, lanes: int) -> StickExpression:
    offset = start % lanes
    tail = _tail(offset)
    if not terms:
        return StickExpression("zero", str(offset), offset=offset, start=start)
    if len(terms) == 1 and _is_plain(terms[0], lanes):
        term = terms[0]
        single = term.extent <= lanes
        text = f"d{term.variable}" if single else f"Mod(d{term.variable}, {lanes})"
        return StickExpression("variable" if single else "mod", text + tail, term.variable, offset, start)
    text = " + ".join(_show(term, lanes, alone=len(terms) == 1) for term in terms) + tail
    return StickExpression("unexpected", text, None, offset, start)


def _is_plain(term: _Term, lanes: int) -> bool:
    """A variable that walks the lanes one by one and wraps, if at all, where a stick ends."""
    if term.scale != 1 or term.floor_by != 1:
        return False
    return term.modulus is None or term.modulus % lanes == 0


def _show(term: _Term, lanes: int, *, alone: bool) -> str:
    name = f"d{term.variable}"
    if term.floor_by != 1:
        return f"floor({name}/{term.floor_by})"
    if term.modulus is not None and term.scale == 1:
        return f"Mod({name}, {term.modulus})"
    if term.scale == 1:
        return name if not alone or term.extent <= lanes else f"Mod({name}, {lanes})"
    if alone and lanes % term.scale == 0 and term.scale * term.extent > lanes:
        return f"{term.scale}*(Mod({name}, {lanes // term.scale}))"
    return f"{term.scale}*{name}"
