"""One place where a rule fired, as plain data for plans and tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import torch

from spyre_dsl.blocks.placement import host_overload
from spyre_dsl.graphs.memory import copies_made
from spyre_dsl.graphs.node import CanonicalGraph, Node, Value
from spyre_dsl.graphs.text import show_node, show_value
from spyre_dsl.language.vocabulary import OPS
from spyre_dsl.matching.rules import Match


@dataclass(frozen=True)
class Site:
    """Where ``adapter/rule`` fired: the deepest module that ran all of it (``owner``), the module of its root
    (``module_path``), the line of the model's code, and the code before and after, captures as ``$x``."""

    adapter: str
    rule: str
    owner: str
    module_path: str
    source_line: str
    before: str
    after: str

    @property
    def label(self) -> str:
        return f"{self.adapter}/{self.rule}"


def before_text(match: Match) -> str:
    """What a match found: the ops that the pattern names, everything else by the capture that holds it."""
    assert match.root is not None
    names: dict[Value, str] = {value: f"${name}" for name, value in match.bindings.items() if isinstance(value, Node)}
    return _Text(match.nodes, names).of(match.root)


def after_text(
    canonical: CanonicalGraph,
    result: torch.fx.Node,
    made: Sequence[torch.fx.Node],
    captures: Mapping[str, torch.fx.Node],
) -> str:
    """What was written in its place; ``captures`` are the FX nodes that stand for them now."""
    names = {canonical.values[fx]: f"${name}" for name, fx in captures.items() if fx in canonical.values}
    value = canonical.values.get(result)
    inside = {found for fx in made if isinstance(found := canonical.values.get(fx), Node)}
    text = _Text(inside, names, frozenset(copies_made(made, canonical.values)))
    return text.of(value) if isinstance(value, Node) else str(result)


@dataclass(frozen=True)
class _Text:
    """Writes the ops ``inside``, values with a name by that, and others by their node's; ``copied`` are the (reader,
    value) between which the rule put a copy."""

    inside: Collection[Node]
    names: Mapping[Value, str]
    copied: Collection[tuple[Node, Node]] = ()

    def of(self, value: Value, reader: Node | None = None) -> str:
        """The text of ``value``, as ``reader`` gets it."""
        if isinstance(value, tuple):
            return "[" + ", ".join(self.of(item, reader) for item in value) + "]"
        if not isinstance(value, Node):
            return show_value(value)
        text = self._node(value)
        return f"contiguous({text})" if (reader, value) in self.copied else text

    def _node(self, node: Node) -> str:
        if node in self.names:
            return self.names[node]
        if node not in self.inside:
            return show_node(node) if node.is_leaf else node.name
        if node.op == "getitem":
            return f"{self.of(node.arguments[0], node)}[{show_value(node.arguments[1])}]"
        name = "host" if node.op == str(host_overload()) else node.op
        return f"{name}({', '.join(self._arguments(node))})"

    def _arguments(self, node: Node) -> list[str]:
        op = OPS.get(node.op)
        if op is None:
            return [self.of(argument, node) for argument in node.arguments]
        shown: list[str] = []
        by_name = False
        for parameter, value in zip(op.parameters, node.arguments):
            if not parameter.required and type(value) is type(parameter.default) and value == parameter.default:
                by_name = True
            else:
                text = self.of(value, node)
                shown.append(f"{parameter.name}={text}" if by_name else text)
        return shown
