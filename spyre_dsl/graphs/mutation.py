"""Ops that write into their arguments.

Patterns see every op as a function. Where a graph writes in place, three things keep that honest: the written FX
node stands for the new value from there on; whatever may share memory with it becomes ``changed``, which no pattern
can name; and the old value remembers when it was overwritten (``Node.changed_at``), so that no rewrite reads it late.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from spyre_dsl.graphs.arguments import Binding
from spyre_dsl.graphs.node import Node, Value


class Mutations:
    """Which FX nodes may share memory. Costs nothing in a graph that does not write in place."""

    def __init__(self, graph: torch.fx.Graph, values: dict[torch.fx.Node, Value]) -> None:
        self.possible = any(writes_in_place(fx) for fx in graph.nodes)
        self._values = values
        self._base: dict[torch.fx.Node, torch.fx.Node] = {}
        self._family: dict[torch.fx.Node, list[torch.fx.Node]] = {}

    def alias(self, fx: torch.fx.Node, binding: Binding) -> None:
        """Records that ``fx`` may be a view of its aliased arguments."""
        if self.possible and may_alias(fx):
            for position in binding.aliased:
                self.alias_of(fx, binding.raw(position, fx.args, fx.kwargs))

    def alias_of(self, fx: torch.fx.Node, source: Any) -> None:
        if not self.possible:
            return
        for argument in source if isinstance(source, (list, tuple)) else (source,):
            if isinstance(argument, torch.fx.Node):
                base = self._base.get(argument, argument)
                self._base[fx] = base
                self._family.setdefault(base, [base]).append(fx)

    def written(self, node: Node, binding: Binding) -> Iterator[tuple[torch.fx.Node, Value]]:
        """What else changes when ``node`` writes: FX nodes and the values they had.

        The argument itself now stands for ``node``.
        """
        for position in binding.mutated:
            target = binding.raw(position, node.fx.args, node.fx.kwargs)
            if not isinstance(target, torch.fx.Node):
                continue
            base = self._base.get(target, target)
            for member in self._family.get(base, [base, target]):
                old = self._values.get(member)
                if member is node.fx or old is None:
                    continue
                if isinstance(old, Node) and old.changed_at is None:
                    old.changed_at = node.position
                if member is target:
                    self._values[member] = node
                else:
                    yield member, old


def writes_in_place(fx: torch.fx.Node) -> bool:
    """Whether this call changes the value of one of its arguments (``detach_`` changes gradients only)."""
    target = fx.target
    return (
        isinstance(target, torch._ops.OpOverload)
        and bool(target._schema.is_mutable)
        and target is not torch.ops.aten.detach_.default
    )


def may_alias(fx: torch.fx.Node) -> bool:
    """Whether this call of an overload may give something that shares memory with an argument, as its schema has it."""
    return any(returned.alias_info is not None for returned in fx.target._schema.returns)  # type: ignore[union-attr]
