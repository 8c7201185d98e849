"""Ops that write into their arguments.

Patterns see every op as a function. Where a graph writes in place, three things keep that honest: the written FX
node stands for the new value from there on; whatever may share memory with it becomes ``changed``, which no pattern
can name; and the old value remembers when it was overwritten (``Node.changed_at``), so that no rewrite reads it late.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from spyre_dsl.graphs.node import Node, Value, nodes_in
from spyre_dsl.graphs.sharing import Sharing, writes_in_place, written_by


class Mutations:
    """What writes change. Costs nothing in a graph that does not write in place."""

    def __init__(self, graph: torch.fx.Graph, values: dict[torch.fx.Node, Value]) -> None:
        self._values = values
        self._sharing = Sharing(graph.nodes)
        self._ever_written = self._sharing.written()
        self.possible = bool(self._ever_written)

    def is_ever_written(self, fx: torch.fx.Node) -> bool:
        """Whether something in the graph, maybe later on, may write to the memory of ``fx``."""
        return fx in self._ever_written

    def written(self, node: Node) -> Iterator[tuple[torch.fx.Node, Value]]:
        """What else changes when ``node`` writes: FX nodes and the values they had.

        The arguments themselves now stand for ``node``, if it is an op that gives what it wrote.
        """
        targets = list(written_by(node.fx))
        gives = len(targets) == 1 and writes_in_place(node.fx)
        for member in dict.fromkeys(member for target in targets for member in self._sharing.family(target)):
            old = self._values.get(member)
            if member is node.fx or old is None:
                continue
            for each in nodes_in(old):
                each.changed_at = node.position if each.changed_at is None else each.changed_at
            if gives and member is targets[0]:
                self._values[member] = node
            else:
                yield member, old
