"""One rewritten graph, and the table in which modules of one kind look for the graph of a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from spyre_dsl.patching.autocast import Autocast, autocast_now
from spyre_dsl.patching.export_owner import Source
from spyre_dsl.patching.fold import Fold
from spyre_dsl.patching.open_dimensions import Dimensions, numbers_as_recorded
from spyre_dsl.patching.predicate import SizePredicate
from spyre_dsl.patching.reads import Reads, still_hold
from spyre_dsl.patching.signature import Structure, leaf_kind

Key = tuple[Structure, tuple[Any, ...], Autocast]


@dataclass(frozen=True, eq=False)
class GraphEntry:
    """A rewritten graph for one kind of call.

    ``inputs`` are the sources of the graph's placeholders; ``result`` the structure of what it returns: the forward's
    result and the caches that it changed. ``fired`` names the rules that fired in it (``adapter/rule``), in order.
    ``autocast`` is the state that the call was made under; the graph itself runs without autocast. ``numbers`` are the
    dimensions of its leaves that are numbers in the whole model.
    """

    structure: Structure
    kinds: tuple[Any, ...]
    predicate: SizePredicate
    reads: Reads
    graph_module: torch.fx.GraphModule
    inputs: tuple[Source, ...]
    result: Structure
    folds: tuple[Fold, ...]
    fired: tuple[str, ...]
    example: str = ""
    autocast: Autocast = ()
    numbers: Dimensions = frozenset()

    @property
    def key(self) -> Key:
        return (self.structure, self.kinds, self.autocast)

    @property
    def code(self) -> str:
        """The Python that a module patched with this entry runs."""
        return str(self.graph_module.code)


Builder = Callable[..., GraphEntry]
"""``build(owner, path, forward, structure, leaves, numbers)``: export, rewrite and fold; raises PatchError."""


@dataclass(eq=False)
class GraphTable:
    """The rewritten graphs of all modules of one family (same class, same parameter shapes, same rules in scope).

    Copies of a model share it: entries never change, and which one fits is checked on the module that asks.
    """

    builder: Builder
    entries: dict[Key, list[GraphEntry]] = field(default_factory=dict)

    def find(self, module: torch.nn.Module, structure: Structure, leaves: Sequence[Any]) -> GraphEntry | None:
        """The entry that holds for this call on this module, if there is one."""
        kinds = tuple([leaf_kind(leaf) for leaf in leaves])
        for entry in self.entries.get((structure, kinds, autocast_now()), ()):
            if entry.predicate.holds(leaves) and still_hold(entry.reads, module):
                return entry
        return None

    def add(self, entry: GraphEntry) -> None:
        self.entries.setdefault(entry.key, []).append(entry)

    def numbers(self, structure: Structure) -> Dimensions:
        """The dimensions of a new call's leaves that are numbers in the whole model, as far as earlier calls tell."""
        return numbers_as_recorded([(entry.structure, entry.numbers) for entry in self.all()], structure)

    def all(self) -> list[GraphEntry]:
        """Every entry, oldest first within its signature."""
        return [entry for entries in self.entries.values() for entry in entries]

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphTable:
        return self
