"""Rewrite one exported graph with a set of rules, until nothing matches any more.

The order is that of ``RuleIndex``: priority, then the more specific pattern, then file order, then graph order. In each
round every match that shares no op with one taken before it is carried out; what they wrote is matched in the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from spyre_dsl.blocks.placement import host_overload
from spyre_dsl.graphs.canonical import canonicalize
from spyre_dsl.graphs.memory import copies_read
from spyre_dsl.graphs.node import CanonicalGraph, Node
from spyre_dsl.graphs.sharing import writes_in_place, written_by
from spyre_dsl.language.adapter import OpRewrite, PlaceRewrite
from spyre_dsl.matching.rules import Match, RuleIndex
from spyre_dsl.patching.emit import LINEAGE, Emitter, NodeOf, value_of
from spyre_dsl.patching.errors import RewriteError, RewriteLoop, place_in
from spyre_dsl.patching.fake_values import FakeValues
from spyre_dsl.patching.fold import EMITTED
from spyre_dsl.patching.site import Site, after_text, before_text

MAX_DESCENT = 8
"""How often one rule may rewrite what it wrote itself; a rule that needs more feeds itself."""

PLACED = "spyre_placed"
"""The key of ``node.meta`` that marks what ``place: host`` was applied to."""


@dataclass
class _Written:
    match: Match
    result: Any
    made: list[torch.fx.Node]
    before: str


@dataclass
class Rewriter:
    """One graph on its way to the fixed point. ``parameter`` finds the placeholder of one of the model's tensors;
    ``canonical`` is the canonical graph of ``program`` as it stands, where that is known."""

    program: torch.export.ExportedProgram
    index: RuleIndex
    parameter: NodeOf
    within: Callable[[str], bool] = lambda path: True
    canonical: CanonicalGraph | None = None
    sites: list[Site] = field(default_factory=list)
    _fake_values: FakeValues = field(default_factory=FakeValues)
    _moved: dict[torch.fx.Node, torch.fx.Node] = field(default_factory=dict)

    def run(self) -> list[Site]:
        """Carry out everything; the sites, in the order in which they were rewritten.

        Raises RewriteError for a rewrite that cannot be carried out, RewriteLoop for rules that never come to an end.
        """
        canonical = self.canonical or canonicalize(self.program)
        if self._place_modules(canonical):
            canonical = canonicalize(self.program)
        seen = {_fingerprint(canonical): 0}
        while True:
            self._moved.clear()
            written = [self._rewrite(match, canonical) for match in _apart(self._open(canonical))]
            if not written:
                return self.sites
            canonical = canonicalize(self.program)
            self.sites += [self._site(done, canonical) for done in written]
            state = _fingerprint(canonical)
            if state in seen:
                loop = [site.label for site in self.sites[seen[state] :]]
                raise RewriteLoop(list(dict.fromkeys(loop)), "these rules undo each other")
            seen[state] = len(self.sites)

    def _open(self, canonical: CanonicalGraph) -> Iterable[Match]:
        for match in self.index.matches(canonical):
            assert match.root is not None
            if isinstance(match.rule.rewrite, PlaceRewrite):
                if PLACED not in match.root.fx.meta:
                    yield match
            elif isinstance(match.rule.rewrite, OpRewrite):
                yield match
            else:
                raise RewriteError(
                    f"{_label(match)}: only `op` and `place` rewrites go with `match.op`; match a `module` or a `path`"
                )

    def _rewrite(self, match: Match, canonical: CanonicalGraph) -> _Written:
        assert match.root is not None
        before = before_text(match)
        if isinstance(match.rule.rewrite, PlaceRewrite):
            made = [self._place(node.fx, _label(match)) for node in _placeable(match.nodes)]
            inside = [*made, *(node.fx for node in match.nodes)]
            return _Written(match, made[-1] if made else match.root.fx, inside, before)
        rewrite = match.rule.rewrite
        assert isinstance(rewrite, OpRewrite)
        self._check_descent(match)
        emitter = Emitter(
            match.root.fx,
            self.index.context.environment(match.scope, bindings=match.bindings, sizes=canonical.sizes),
            _label(match),
            self.parameter,
            self._current,
            self._fake_values,
            match.adapter.source,
        )
        result = emitter.run(rewrite.let, rewrite.expression)
        self._replace(match, result, emitter)
        return _Written(match, result, emitter.made, before)

    def _replace(self, match: Match, result: Any, emitter: Emitter) -> None:
        assert match.root is not None
        root = match.root.fx
        if isinstance(result, tuple):
            self._replace_outputs(match, root, result, emitter)
            return
        if not isinstance(result, torch.fx.Node):
            raise RewriteError(f"{_label(match)}: the rewrite is {emitter.show(result)}, which is no tensor")
        _check_same(match, value_of(root), value_of(result), "")
        if writes_in_place(root):
            self._write_back(match, root, result, emitter)
        elif result is not root:
            made = set(emitter.made)
            root.replace_all_uses_with(result, delete_user_cb=lambda user: user not in made)
            self._moved[root] = result

    def _write_back(self, match: Match, root: torch.fx.Node, result: torch.fx.Node, emitter: Emitter) -> None:
        """The result in place of a matched write: copied to where the write went, which others may look at."""
        targets = list(written_by(root))
        if len(targets) != 1:
            raise RewriteError(f"{_label(match)}: the matched op writes to {len(targets)} values, which no rewrite can")
        copied = emitter.write(torch.ops.aten.copy_.default, (targets[0], result), {}, value_of(root))
        root.replace_all_uses_with(copied)
        root.graph.erase_node(root)
        self._moved[root] = copied

    def _replace_outputs(self, match: Match, root: torch.fx.Node, results: tuple[Any, ...], emitter: Emitter) -> None:
        """A list in place of an op with several outputs."""
        values = value_of(root)
        if not isinstance(values, (list, tuple)) or len(values) != len(results):
            raise RewriteError(f"{_label(match)}: the rewrite is a list of {len(results)}, the matched value is not")
        for place, (value, result) in enumerate(zip(values, results)):
            if not emitter.is_tensor(result):
                raise RewriteError(f"{_label(match)}: item {place} of the rewrite is {emitter.show(result)}, no tensor")
            _check_same(match, value, value_of(result), f" (output {place})")
        for user in list(root.users):
            if user not in emitter.made:
                user.replace_all_uses_with(results[user.args[1]])  # type: ignore[index]
                self._moved[user] = results[user.args[1]]  # type: ignore[index]

    def _site(self, done: _Written, canonical: CanonicalGraph) -> Site:
        match, root = done.match, done.match.root
        assert root is not None
        bound = {name: value.fx for name, value in match.bindings.items() if isinstance(value, Node)}
        captures = {name: self._current(fx) for name, fx in bound.items()}
        results = done.result if isinstance(done.result, tuple) else (done.result,)
        after = [after_text(canonical, self._current(result), done.made, captures) for result in results]
        text = f"[{', '.join(after)}]" if isinstance(done.result, tuple) else after[0]
        return Site(
            match.adapter.name, match.rule.name, match.owner, root.module_path, root.source_line, done.before, text
        )

    def _current(self, node: torch.fx.Node) -> torch.fx.Node:
        while node in self._moved:
            node = self._moved[node]
        return node

    def _check_descent(self, match: Match) -> None:
        assert match.root is not None
        lineage: tuple[str, ...] = match.root.fx.meta.get(LINEAGE, ())
        label = _label(match)
        if lineage.count(label) >= MAX_DESCENT:
            last = len(lineage) - 1 - lineage[::-1].index(label)
            raise RewriteLoop([*lineage[last:], label], "these rules feed each other without an end")

    def _place_modules(self, canonical: CanonicalGraph) -> bool:
        """Carry out the ``place`` rules that name modules."""
        changed = False
        for match in self.index.module_matches():
            if isinstance(match.rule.rewrite, PlaceRewrite) and self.within(match.owner):
                inside = [node for node in canonical.nodes if _is_below(node.module_path, match.owner)]
                nodes = [node for node in _placeable(inside) if PLACED not in node.fx.meta]
                for node in nodes:
                    self._place(node.fx, _label(match))
                if nodes:
                    self.sites.append(
                        Site(match.adapter.name, match.rule.name, match.owner, match.owner, nodes[0].source_line,
                             f"{len(nodes)} ops on the device", f"{len(nodes)} ops on the host")
                    )  # fmt: skip
                    changed = True
        return changed

    def _place(self, node: torch.fx.Node, label: str) -> torch.fx.Node:
        """``host(node)`` for everybody who read ``node``."""
        with node.graph.inserting_after(node):
            placed = node.graph.call_function(host_overload(), (node,))
        node.replace_all_uses_with(placed, delete_user_cb=lambda user: user is not placed)
        placed.meta = {key: node.meta[key] for key in ("val", "nn_module_stack", "stack_trace") if key in node.meta}
        placed.meta[EMITTED] = label
        node.meta[PLACED] = placed.meta[PLACED] = True
        self._moved[node] = placed
        return placed


def _apart(matches: Iterable[Match]) -> list[Match]:
    """The matches to take, earlier ones first: no two of them share an op."""
    taken: list[Match] = []
    used: set[Node] = set()
    for match in matches:
        if used.isdisjoint(match.nodes):
            taken.append(match)
            used |= match.nodes
    return taken


def _check_same(match: Match, before: Any, after: Any, which: str) -> None:
    if not isinstance(before, torch.Tensor) or not isinstance(after, torch.Tensor):
        raise RewriteError(f"{_label(match)}: the matched value is no tensor, so it cannot be replaced by one")
    same = before.dtype == after.dtype and before.dim() == after.dim()
    if not same or not all(statically_known_true(a == b) for a, b in zip(before.shape, after.shape)):
        assert match.root is not None
        where = f" at {match.root.module_path or 'the model'} ({match.root.source_line or match.root.name})"
        written = place_in(match.adapter.source, getattr(match.rule.rewrite, "expression", match.rule.rewrite).span)
        raise RewriteError(
            f"{written}{_label(match)}{where}: the rewrite changes {_kind(before)} into {_kind(after)}{which}; "
            "a rewrite must keep shape and dtype"
        )


def _kind(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}[{', '.join(map(str, tensor.shape))}]"


def _placeable(nodes: Iterable[Node]) -> list[Node]:
    """The ops among ``nodes`` that give one tensor, in graph order."""
    return sorted((node for node in nodes if not node.is_leaf and node.is_tensor), key=lambda node: node.position)


def _is_below(path: str, above: str) -> bool:
    return not above or path == above or path.startswith(above + ".")


def _label(match: Match) -> str:
    return f"{match.adapter.name}/{match.rule.name}"


def _fingerprint(canonical: CanonicalGraph) -> int:
    """Equal for graphs that compute the same in the same way, from the same copies."""
    number = {node: place for place, node in enumerate(canonical.nodes)}
    nodes = tuple(
        (node.op, _shape_of(node.arguments, number), copies_read(node, canonical.values)) for node in canonical.nodes
    )
    return hash((nodes, _shape_of(canonical.outputs, number)))


def _shape_of(value: Any, number: dict[Node, int]) -> Any:
    if isinstance(value, Node):
        return ("node", number.get(value, -1))
    if isinstance(value, (tuple, list, Sequence)) and not isinstance(value, str):
        return tuple(_shape_of(item, number) for item in value)
    return (type(value).__name__, value)
