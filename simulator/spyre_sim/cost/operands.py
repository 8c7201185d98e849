"""The tensors of a kernel as the divider sees them: device dims by loop variable, outermost first (facts L11, W2)."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import Value
from .division import Operand


def operand(name: str, value: Value, names: Sequence[str], stick: int | None = None) -> Operand:
    """The device dims of a tensor without the stick: of rank 3 and above the first host dim comes last (L11).

    `names`: a loop variable for each host dim; `stick`: the dim along the stick, the value's own by default.
    """
    rank = len(value.shape)
    assert value.layout is not None
    if not rank:
        return Operand(name, (), ())
    along = stick if stick is not None else value.layout.expression.variable
    last = rank - 1 if along is None else along
    rest = [dim for dim in range(rank) if dim != last]
    order = [last, *rest] if rank < 3 else [*rest[1:], last, rest[0]]
    fixed = [value.layout.stride[dim] == 0 or value.shape[dim] == 1 for dim in order]
    variables = tuple("" if still else names[dim] for dim, still in zip(order, fixed, strict=True))
    extents = tuple(1 if still else _extent(value, dim, along) for dim, still in zip(order, fixed, strict=True))
    return Operand(name, variables, extents)


def extent(value: Value, dim: int) -> int:
    """What can be split of a dim: its elements, or its sticks where it lies along them."""
    return _extent(value, dim, None if value.layout is None else value.layout.expression.variable)


def _extent(value: Value, dim: int, along: int | None) -> int:
    if value.layout is None or along != dim:
        return value.shape[dim]
    return -(-value.shape[dim] // value.layout.lanes)
