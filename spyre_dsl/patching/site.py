"""One place where a rule fired, as plain data for plans and tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import torch

from spyre_dsl.blocks.placement import host_overload
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
    return _show(match.root, match.nodes, names)


def after_text(
    canonical: CanonicalGraph,
    result: torch.fx.Node,
    made: Collection[torch.fx.Node],
    captures: Mapping[str, torch.fx.Node],
) -> str:
    """What was written in its place; ``captures`` are the FX nodes that stand for them now."""
    names = {canonical.values[fx]: f"${name}" for name, fx in captures.items() if fx in canonical.values}
    value = canonical.values.get(result)
    inside = {found for fx in made if isinstance(found := canonical.values.get(fx), Node)}
    return _show(value, inside, names) if isinstance(value, Node) else str(result)


def _show(value: Value, inside: Collection[Node], names: Mapping[Value, str]) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(_show(item, inside, names) for item in value) + "]"
    if not isinstance(value, Node):
        return show_value(value)
    if value in names:
        return names[value]
    if value not in inside:
        return show_node(value) if value.is_leaf else value.name
    if value.op == "getitem":
        return f"{_show(value.arguments[0], inside, names)}[{show_value(value.arguments[1])}]"
    name = "host" if value.op == str(host_overload()) else value.op
    return f"{name}({', '.join(_arguments(value, inside, names))})"


def _arguments(node: Node, inside: Collection[Node], names: Mapping[Value, str]) -> list[str]:
    op = OPS.get(node.op)
    if op is None:
        return [_show(argument, inside, names) for argument in node.arguments]
    shown: list[str] = []
    by_name = False
    for parameter, value in zip(op.parameters, node.arguments):
        if not parameter.required and type(value) is type(parameter.default) and value == parameter.default:
            by_name = True
        else:
            text = _show(value, inside, names)
            shown.append(f"{parameter.name}={text}" if by_name else text)
    return shown
