"""Early rejection: what a node must have around it for a pattern to have a chance.

A feature is the op of an argument, the op of an argument's argument, or a number among the arguments. A pattern
requires some; a node has some. Nodes that look alike share one signature, so that the rules for it are chosen once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from spyre_dsl.graphs.node import Node, Value
from spyre_dsl.matching.patterns import ItemPattern, ListPattern, OpPattern, Pattern
from spyre_dsl.matching.single_patterns import LiteralPattern

Feature = tuple[Any, ...]


def required_features(pattern: Pattern) -> frozenset[Feature]:
    """What any node that ``pattern`` matches must have."""
    return frozenset(_required(pattern))


def node_signature(node: Node) -> Hashable:
    """Equal for nodes with the same op, argument ops, their argument ops, and numbers."""
    return (node.op, tuple([_outer(argument) for argument in node.arguments]))


def signature_features(signature: Any) -> frozenset[Feature]:
    """Everything that nodes of this signature have."""
    found: set[Feature] = set()
    for argument in signature[1]:
        _collect(argument, found)
    return frozenset(found)


def _outer(value: Value) -> Hashable:
    if isinstance(value, Node):
        if value.literal is not None:
            return (value.op, value.literal)
        return (value.op, *[_inner(argument) for argument in value.arguments])
    if isinstance(value, tuple):
        return ("", *[_outer(item) for item in value])
    return value if type(value) in (int, float) else None


def _inner(value: Value) -> Hashable:
    if isinstance(value, Node):
        return value.op
    if isinstance(value, tuple):
        return tuple([item.op for item in value if isinstance(item, Node)])
    return None


def _collect(argument: Any, found: set[Feature]) -> None:
    if isinstance(argument, tuple):
        op, *inner = argument
        if not op:
            for item in inner:
                _collect(item, found)
            return
        found.add((op,))
        for items in inner:
            for item in items if isinstance(items, tuple) else (items,):
                if isinstance(item, str):
                    found.add((op, item))
                elif item is not None:
                    found.add(("", item))
    elif argument is not None:
        found.add(("", argument))


def _required(pattern: Pattern) -> Iterator[Feature]:
    for argument in _arguments(pattern):
        name = _op_of(argument)
        if name is not None:
            yield (name,)
            for inner in _arguments(argument):
                inner_name = _op_of(inner)
                if inner_name is not None:
                    yield (name, inner_name)
        elif _plain_number(argument):
            yield ("", argument.expected)  # type: ignore[attr-defined]


def _arguments(pattern: Pattern) -> Iterator[Pattern]:
    """The arguments of a call, the items of lists among them."""
    for part in pattern.parts():
        if isinstance(part, ListPattern):
            yield from part.items
        else:
            yield part


def _op_of(pattern: Pattern) -> str | None:
    if isinstance(pattern, ItemPattern):
        return "getitem"
    return pattern.op if isinstance(pattern, OpPattern) else None


def _plain_number(pattern: Pattern) -> bool:
    """A number that must stand among the arguments just so (not a dim from the end, nor one that stands for a list)."""
    if not isinstance(pattern, LiteralPattern) or pattern.is_dim or pattern.spreads:
        return False
    return isinstance(pattern.expected, (int, float)) and not isinstance(pattern.expected, bool)
