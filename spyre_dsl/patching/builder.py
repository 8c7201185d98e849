"""From a call of a module to its rewritten graph: export alone, rewrite, fold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from spyre_dsl.matching.rules import RuleIndex
from spyre_dsl.matching.scope import MatchContext
from spyre_dsl.patching.autocast import autocast_now, without_autocast, write_casts
from spyre_dsl.patching.driver import Rewriter
from spyre_dsl.patching.eager import RewrittenForward, files_that_write, wrote
from spyre_dsl.patching.entry import GraphEntry
from spyre_dsl.patching.errors import TiedWeightError
from spyre_dsl.patching.export_owner import ExportedOwner, example_of, export_owner
from spyre_dsl.patching.fold import EMITTED, Fold, fold
from spyre_dsl.patching.open_dimensions import Dimensions, numbers_in
from spyre_dsl.patching.owners import is_inside
from spyre_dsl.patching.predicate import guards_so_far, predicate_of
from spyre_dsl.patching.signature import Structure, describe, leaf_kind
from spyre_dsl.patching.site import Site


@dataclass(frozen=True)
class OwnerContext(MatchContext):
    """The context of the model in which paths at and below ``path`` mean ``owner`` and what is inside it.

    The owner may be that of a copy of the model that the rules were compiled for.
    """

    path: str = ""
    owner: torch.nn.Module | None = None

    def module(self, path: str) -> torch.nn.Module | None:
        if self.owner is None or not is_inside(path, self.path):
            return super().module(path)
        try:
            return self.owner.get_submodule(path[len(self.path) :].lstrip("."))
        except AttributeError:
            return None


@dataclass(frozen=True)
class EntryBuilder:
    """Builds the entries of every owner of a plan, and of signatures that arrive later.

    ``tied`` maps each name of a shared parameter to all its names; empty where the user asked to untie.
    """

    index: RuleIndex
    tied: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __call__(
        self,
        owner: torch.nn.Module,
        path: str,
        forward: Callable[..., Any],
        structure: Structure,
        leaves: list[Any],
        numbers: Dimensions = frozenset(),
    ) -> GraphEntry:
        """The entry for this call of ``owner``; ``numbers`` are dimensions not to leave open where none is a symbol.

        Raises ExportError, or RewriteError where a rewrite fails.
        """
        return self.build(owner, path, forward, structure, leaves, numbers)[0]

    def build(
        self,
        owner: torch.nn.Module,
        path: str,
        forward: Callable[..., Any],
        structure: Structure,
        leaves: list[Any],
        numbers: Dimensions = frozenset(),
    ) -> tuple[GraphEntry, list[Site]]:
        """The same, with the sites that were rewritten in it."""
        exported, autocast = export_owner(owner, path, forward, structure, leaves, numbers), autocast_now()
        numbers = numbers_in(leaves) or numbers
        leaves = [example_of(leaf) for leaf in leaves]
        write_casts(exported.graph_module.graph, autocast)
        entry, sites = without_autocast(autocast, self._rewritten, exported, owner, path, structure, leaves)
        return replace(entry, autocast=autocast, numbers=numbers), sites

    def _rewritten(
        self, exported: ExportedOwner, owner: torch.nn.Module, path: str, structure: Structure, leaves: list[Any]
    ) -> tuple[GraphEntry, list[Site]]:
        guards = guards_so_far(exported)
        _mark_rewritten_forwards(exported, owner)
        base = self.index.context
        context = OwnerContext(base.model, base.config, base.stack, base.rebase, path, owner)
        index = RuleIndex(self.index.rules, context)
        sites = Rewriter(exported.program, index, _placeholders(exported, owner), lambda at: is_inside(at, path)).run()
        predicate = predicate_of(exported, guards)
        module, inputs, folds = fold(exported.graph_module, exported.sources)
        self._check_ties(path, folds)
        entry = GraphEntry(
            structure=structure,
            kinds=tuple(leaf_kind(leaf) for leaf in leaves),
            predicate=predicate,
            reads=exported.reads,
            graph_module=module,
            inputs=inputs,
            result=exported.result,
            folds=folds,
            fired=tuple(site.label for site in sites),
            example=describe(structure, leaves),
        )
        return entry, sites

    def _check_ties(self, path: str, folds: tuple[Fold, ...]) -> None:
        for made in folds:
            for source in made.sources:
                name = ".".join(filter(None, (path, source.target)))
                if name in self.tied:
                    others = ", ".join(other for other in self.tied[name] if other != name)
                    raise TiedWeightError(
                        f"{made.rule}: `{name}` is shared with {others}, and the rewrite gives it a value of its "
                        "own; plan with untie=True to let them part"
                    )


def _placeholders(exported: ExportedOwner, owner: torch.nn.Module) -> Callable[[Any], torch.fx.Node | None]:
    """From one of the owner's tensors to the placeholder that stands for it."""
    found: dict[int, torch.fx.Node] = {}
    nodes = [node for node in exported.graph_module.graph.nodes if node.op == "placeholder"]
    for node, source in zip(nodes, exported.sources):
        if source.kind in ("parameter", "buffer"):
            value: Any = owner
            for part in source.target.split("."):
                value = getattr(value, part)
            found[id(value)] = node
    return lambda tensor: found.get(id(tensor))


def _mark_rewritten_forwards(exported: ExportedOwner, owner: torch.nn.Module) -> None:
    """What a ``forward`` or ``parameters`` rewrite did to parameters is folded like anything else that a rule wrote."""
    files, label = files_that_write(owner), " or ".join(_rules_that_write(owner))
    for node in exported.graph_module.graph.nodes:
        if wrote(node.meta.get("stack_trace"), files):
            node.meta.setdefault(EMITTED, label)


def _rules_that_write(owner: torch.nn.Module) -> tuple[str, ...]:
    """The rules (``adapter/rule``) that gave ``owner`` or modules inside it a forward."""
    held = (getattr(vars(module).get("forward"), "__func__", None) for module in owner.modules())
    return tuple(dict.fromkeys(each.label for each in held if isinstance(each, RewrittenForward)))
