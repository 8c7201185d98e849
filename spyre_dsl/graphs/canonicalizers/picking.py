"""Ops that pick a part: ``slice``, ``select``."""

from __future__ import annotations

from spyre_dsl.graphs.canonicalizers.registry import Call, canonicalizes
from spyre_dsl.graphs.node import Node, Value

_TO_THE_END = 2**62
"""ATen writes the largest 64-bit integer for an end that is left out."""


@canonicalizes("slice")
def slice_(call: Call) -> Value:
    """Start and end counted from the front and within the size; the whole range is nothing at all."""
    if call.keeps_shape() and call.arguments[4] == 1:
        return call.input
    x, dim, start, end, step = call.arguments
    dim = 0 if dim is None else dim
    size = x.shape[dim] if isinstance(x, Node) and isinstance(dim, int) and dim < x.rank else None
    start, end = _within(0 if start is None else start, size), _within(_TO_THE_END if end is None else end, size)
    call.arguments = [x, dim, start, end, step]
    return None


@canonicalizes("narrow")
def narrow(call: Call) -> Value:
    """``narrow(x, dim, start, length)`` is a slice."""
    if call.keeps_shape():
        return call.input
    x, dim, start, length = call.arguments
    size = x.shape[dim] if isinstance(x, Node) and isinstance(dim, int) and dim < x.rank else None
    start = _within(start, size)
    if not isinstance(start, int) or not isinstance(length, int):
        return None
    return call.become("slice", x, dim, start, start + length, 1)


@canonicalizes("select")
def select(call: Call) -> Value:
    """The index counted from the front."""
    x, dim, index = call.arguments
    if isinstance(x, Node) and isinstance(dim, int) and dim < x.rank:
        call.arguments = [x, dim, _within(index, x.shape[dim])]
    return None


@canonicalizes("aten.__getitem__.t")
def item_of_list(call: Call) -> Value:
    values, index = call.arguments
    return values[index] if isinstance(values, tuple) and isinstance(index, int) else None


def _within(place: Value, size: object) -> Value:
    """``place`` counted from the front, and at most ``size``."""
    if not isinstance(place, int):
        return place
    if place >= _TO_THE_END:
        return size if size is not None else place  # type: ignore[return-value]
    if isinstance(size, int):
        return min(max(place + size, 0), size) if place < 0 else min(place, size)
    return place
