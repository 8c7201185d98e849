"""Values of the canonical graph as text: for plans, messages and ``why``."""

from __future__ import annotations

from spyre_dsl.graphs.node import Node, Value
from spyre_dsl.graphs.sizes import SymbolicSize
from spyre_dsl.language.vocabulary import OPS, Parameter


def show_value(value: Value, depth: int = 0) -> str:
    """``value`` as a rule file would write it; a node is shown as its name, or ``depth`` levels as calls."""
    if isinstance(value, Node):
        return show_node(value, depth - 1) if depth > 0 and not value.is_leaf else value.name
    if isinstance(value, tuple):
        return "[" + ", ".join(show_value(item, depth) for item in value) + "]"
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, SymbolicSize):
        return str(value)
    return value if isinstance(value, str) else repr(value)


def show_node(node: Node, depth: int = 0) -> str:
    """One node as a call: ``pow(view_10, 3)``; arguments that have their default are left out."""
    if node.is_leaf:
        return node.target or node.name
    if node.op == "getitem":
        base, index = node.arguments
        return f"{show_value(base, depth)}[{show_value(index)}]"
    op = OPS.get(node.op)
    if op is None:
        return f"{node.op}({', '.join(show_value(item, depth) for item in node.arguments)})"
    return f"{node.op}({', '.join(_arguments(op.parameters, node.arguments, depth))})"


def _arguments(parameters: tuple[Parameter, ...], values: tuple[Value, ...], depth: int) -> list[str]:
    shown: list[str] = []
    skipped = False
    for parameter, value in zip(parameters, values, strict=True):
        if not parameter.required and value == parameter.default and type(value) is type(parameter.default):
            skipped = True
        else:
            text = show_value(value, depth)
            shown.append(f"{parameter.name}={text}" if skipped else text)
    return shown
