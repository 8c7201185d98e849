"""Ops that rearrange: ``reshape`` with full sizes, ``transpose``, ``permute``, ``expand``."""

from __future__ import annotations

from spyre_dsl.graphs.canonicalizers.registry import Call, canonicalizes
from spyre_dsl.graphs.node import Node, Value


@canonicalizes("reshape", "flatten", "unflatten", "aten.view_as.default", "aten.reshape_as.default")
def reshape(call: Call) -> Value:
    """Any op that reads the same elements in the same order under other sizes is ``reshape(input, sizes)``."""
    if call.keeps_shape():
        return call.input
    shape = _full_sizes(call)
    if shape is not None:
        return call.become("reshape", call.input, shape)
    return call.become("reshape", *call.arguments[:2]) if call.op == "reshape" else None


@canonicalizes("expand", "expand_as", "aten.broadcast_to.default")
def expand(call: Call) -> Value:
    """Full sizes; nothing at all where the input has them already."""
    if call.keeps_shape():
        return call.input
    shape = _full_sizes(call)
    return call.become("expand", call.input, shape) if shape is not None else None


@canonicalizes("permute", "movedim")
def permute(call: Call) -> Value:
    """A permutation of two dims is ``transpose``; one that moves nothing is nothing."""
    order = _order(call)
    if order is None:
        return None
    moved = [place for place, dim in enumerate(order) if place != dim]
    if not moved:
        return call.input
    if len(moved) == 2:
        return call.become("transpose", call.input, *moved)
    return call.become("permute", call.input, order)


@canonicalizes("transpose")
def transpose(call: Call) -> Value:
    """The smaller dim first: the two may change places."""
    x, left, right = call.arguments
    if isinstance(left, int) and isinstance(right, int):
        if left == right:
            return x
        call.arguments = [x, min(left, right), max(left, right)]
    return None


@canonicalizes("t", "numpy_T", "aten.mT.default", "aten.adjoint.default")
def matrix_transpose(call: Call) -> Value:
    """``x.T`` of a matrix, ``x.mT`` of any rank; ``x.T`` of a higher rank reverses all dims."""
    rank = len(call.result_shape or ())
    if rank < 2:
        return call.input if isinstance(call.result_shape, tuple) else None
    call.dim_rank = rank
    if call.op == "numpy_T" and rank > 2:
        return call.become("permute", call.input, tuple(reversed(range(rank))))
    return call.become("transpose", call.input, rank - 2, rank - 1)


@canonicalizes("squeeze")
def squeeze(call: Call) -> Value:
    """Nothing to squeeze is nothing at all; without a dim, all dims of size 1 are named."""
    if call.keeps_shape():
        return call.input
    x, dims = call.arguments
    if dims is None and isinstance(x, Node):
        call.dim_rank = x.rank
        call.arguments = [x, tuple(place for place, size in enumerate(x.shape) if size == 1)]
    return None


@canonicalizes("repeat", "tile")
def repeat(call: Call) -> Value:
    """Repeating once is nothing at all; dims of size 1 that are repeated stay ``repeat``."""
    return call.input if call.keeps_shape() else None


def _full_sizes(call: Call) -> tuple[Value, ...] | None:
    """The sizes as they are written, and those of the result where -1 is written, or nothing."""
    shape = call.result_shape
    written = call.arguments[1] if call.op in ("reshape", "expand") else None
    if shape is None or not isinstance(written, tuple) or len(written) != len(shape):
        return shape
    return tuple([size if item == -1 else item for item, size in zip(written, shape, strict=True)])


def _order(call: Call) -> tuple[int, ...] | None:
    """For each dim of the result, the dim of the input it is; None if unknown."""
    if call.op == "permute":
        dims = call.arguments[1]
        return dims if isinstance(dims, tuple) and all(type(dim) is int for dim in dims) else None  # type: ignore[return-value]
    x, source, destination = call.arguments
    if not isinstance(x, Node) or not isinstance(source, tuple) or not isinstance(destination, tuple):
        return None
    order = [dim for dim in range(x.rank) if dim not in source]
    for place, dim in sorted(zip(destination, source, strict=True)):
        order.insert(place, dim)  # type: ignore[arg-type]
    return tuple(order)
