"""How values lie in memory, of which the canonical graph itself says nothing: copies are no part of a value.

A copy (``contiguous``, ``clone``) stands for its argument, so that patterns match with or without one. Where a rule
needs to know, it asks how the ops that it matched find a value: each FX node knows the strides of what it computes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from spyre_dsl.graphs.node import Node, Value, same_value


@dataclass(frozen=True)
class Readers:
    """The ops of one match, and the canonical value of every FX node of their graph."""

    nodes: Sequence[Node]
    values: Mapping[torch.fx.Node, Value]

    def find_contiguous(self, value: Node) -> bool:
        """Whether all of the ops that read ``value`` find its elements one behind the other, last dim innermost.

        Of what a module is handed that is not known, and the answer is no: the next call may bring it otherwise.
        """
        sources = self._sources(value) or [value.fx]
        return all(_lies_contiguous(source) and not (source is value.fx and value.op == "input") for source in sources)

    def _sources(self, value: Node) -> list[torch.fx.Node]:
        """The FX nodes that the ops read ``value`` from: that which computes it, or copies of it."""
        inputs = (source for node in self.nodes for source in node.fx.all_input_nodes)
        return [source for source in inputs if same_value(self.values.get(source), value)]


def copies_read(node: Node, values: Mapping[torch.fx.Node, Value]) -> tuple[bool, ...]:
    """For each tensor that ``node`` reads, whether it reads it from a copy (or through another op that vanished)."""
    read = ((source, values.get(source)) for source in node.fx.all_input_nodes)
    return tuple(isinstance(value, Node) and value.fx is not source for source, value in read)


def copies_made(made: Sequence[torch.fx.Node], values: Mapping[torch.fx.Node, Value]) -> Iterator[tuple[Node, Node]]:
    """(reader, value) for every op that reads a value through one of the copies in ``made``."""
    for copy in made:
        value = values.get(copy)
        if is_made_contiguous(copy) and isinstance(value, Node):
            for user in copy.users:
                reader = values.get(user)
                if isinstance(reader, Node):
                    yield reader, value


def is_made_contiguous(fx: torch.fx.Node) -> bool:
    """Whether this is a call of ``contiguous``, in either form that tracing gives it."""
    if fx.target is torch.ops.aten.clone.default:
        return fx.kwargs.get("memory_format") is torch.contiguous_format
    return fx.target is torch.ops.aten.contiguous.default


def _lies_contiguous(source: torch.fx.Node) -> bool:
    tensor = source.meta.get("val")
    return isinstance(tensor, torch.Tensor) and is_contiguous(tensor)


def is_contiguous(tensor: torch.Tensor) -> bool:
    """``tensor.is_contiguous()`` where that is certain for all sizes; asking adds no condition on dynamic sizes."""
    expected: int | torch.SymInt = 1
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.stride())):
        if type(size) is int and size == 1:
            continue
        if not statically_known_true(stride == expected):
            return False
        expected = expected * size
    return True
