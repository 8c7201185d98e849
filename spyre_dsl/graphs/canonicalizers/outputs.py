"""Ops with several outputs; one output is a ``getitem`` node."""

from __future__ import annotations

from spyre_dsl.graphs.canonicalizers.registry import Call, canonicalizes
from spyre_dsl.graphs.node import Value


@canonicalizes("split", "chunk", "aten.tensor_split.sections", "aten.tensor_split.indices")
def split(call: Call) -> Value:
    """``split(tensor, sections, dim)`` with the size of every section; the whole in one piece is a list of it."""
    dim = call.arguments[2]
    dim = 0 if dim is None else dim
    pieces = call.result
    if not isinstance(pieces, (list, tuple)) or not isinstance(dim, int):
        return None
    call.dim_rank = pieces[0].dim()
    dim = dim + call.dim_rank if dim < 0 else dim
    if len(pieces) == 1:
        return (call.input,)
    return call.become("split", call.input, tuple(call.sizes.of(piece.shape[dim]) for piece in pieces), dim)
