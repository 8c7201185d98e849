"""From sites in the whole model to patched modules: choose the owners and make their rewritten graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from spyre_dsl.language.adapter import AdapterSet
from spyre_dsl.patching.anatomy import anatomy, paths_in_scope
from spyre_dsl.patching.builder import EntryBuilder
from spyre_dsl.patching.eager import family_of
from spyre_dsl.patching.entry import GraphTable
from spyre_dsl.patching.errors import ExportError, RewriteError
from spyre_dsl.patching.export_owner import example_of
from spyre_dsl.patching.inner_hooks import refuse_inner_hooks
from spyre_dsl.patching.install import original_forward
from spyre_dsl.patching.owners import is_inside, outermost, parent
from spyre_dsl.patching.signature import flatten
from spyre_dsl.patching.site import Site

Received = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True, eq=False)
class PreparedOwner:
    """A module to patch, with the graphs for the calls it received; ``anatomy`` is what it must look like."""

    path: str
    table: GraphTable
    anatomy: Hashable = field(repr=False)

    @property
    def rules(self) -> str:
        """The rules that fired in it, for messages."""
        fired = dict.fromkeys(label for entry in self.table.all() for label in entry.fired)
        return ", ".join(fired) or f"`{self.path}`"


@dataclass
class Preparation:
    """Makes the owners' graphs. A module that cannot be patched alone gives way to the one around it, up to the root.

    ``calls`` are what each module received while the model was captured; ``sites`` what was rewritten on paper.
    """

    model: torch.nn.Module
    adapters: AdapterSet
    builder: EntryBuilder
    calls: Mapping[str, Sequence[Received]]
    sites: Sequence[Site]
    _tables: dict[Hashable, GraphTable] = field(default_factory=dict)
    _ready: dict[str, PreparedOwner] = field(default_factory=dict)

    def run(self, edited: Sequence[str]) -> tuple[PreparedOwner, ...]:
        """Every owner, ready to be installed; ``edited`` are modules that are owners in any case.

        Raises ExportError or RewriteError if not even the whole model can be patched.
        """
        wanted = outermost([*edited, *(site.owner for site in self.sites)])
        while True:
            moved: dict[str, str] = {}
            for path in wanted:
                if path not in self._ready and not any(is_inside(path, above) for above in moved.values()):
                    instead = self._prepare(path)
                    if instead != path:
                        moved[path] = instead
            if not moved:
                return tuple(self._ready[path] for path in wanted)
            wanted = outermost([moved.get(path, path) for path in wanted])

    def _prepare(self, path: str) -> str:
        """Make the owner at ``path``; if that cannot be, the path to try instead."""
        try:
            if path not in self.calls:
                raise ExportError(f"`{path}` is never called by itself, or with a cache that changes")
            self._ready[path] = self._owner(path)
        except ExportError:
            if not path:
                raise
            return parent(path)
        return path

    def _owner(self, path: str) -> PreparedOwner:
        module = self.model.get_submodule(path)
        refuse_inner_hooks(module, path)
        made = anatomy(module)
        family = (made, paths_in_scope(self.adapters, path, module), self._edited_inside(path))
        table = self._tables.setdefault(family, GraphTable(self.builder))
        fired: Counter[str] = Counter()
        for call in self.calls[path]:
            fired.update(self._entry(path, module, table, call))
        self._compare(path, fired)
        return PreparedOwner(path, table, made)

    def _entry(self, path: str, module: torch.nn.Module, table: GraphTable, call: Received) -> tuple[str, ...]:
        leaves: list[Any] = []
        structure = flatten(call, leaves)
        examples = [example_of(leaf) for leaf in leaves]
        with torch.no_grad():  # as the whole model was captured
            entry = table.find(module, structure, examples)
            if entry is None:
                entry = self.builder(module, path, original_forward(module), structure, leaves)
                table.add(entry)
        return entry.fired

    def _compare(self, path: str, fired: Counter[str]) -> None:
        """The same rules must fire in the module alone as in the whole model: else it depends on what is around it."""
        wanted = Counter(site.label for site in self.sites if is_inside(site.owner, path))
        if fired == wanted:
            return
        text = f"in `{path or 'the model'}` alone {_counts(fired)} fired; in the whole model {_counts(wanted)}"
        if not path:
            raise RewriteError(text)
        raise ExportError(text)

    def _edited_inside(self, path: str) -> Hashable:
        """The forwards that rules gave to modules inside."""
        modules = self.model.get_submodule(path).named_modules()
        forwards = ((name, getattr(vars(module).get("forward"), "__func__", None)) for name, module in modules)
        return tuple((name, family_of(forward)) for name, forward in forwards if forward is not None)


def _counts(fired: Counter[str]) -> str:
    return ", ".join(f"{label} x{count}" for label, count in sorted(fired.items())) or "nothing"
