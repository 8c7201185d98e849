"""The nodes of a YAML file, with their places, and what they stand for.

A node in which a mistake was found is no longer ``usable``: it counts as left out, and nothing more is said about it.
"""

from __future__ import annotations

import re
from typing import Any, Union

from spyre_dsl.language.records import record
from spyre_dsl.language.syntax import Span


@record(frozen=False, eq=False)
class Scalar:
    """A text. ``start`` and ``end`` enclose what stands in the file, quotes and block header included.

    ``style`` is ``""`` for a plain scalar, else one of ``' " | >``.
    """

    value: str
    style: str
    start: int
    end: int
    usable: bool = True
    size = 1
    depth = 0

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)


@record(frozen=False, eq=False)
class MappingNode:
    """Keys and values by the key's text, in file order.

    ``size`` counts the nodes in it and ``depth`` how deep they nest, aliases expanded. A mapping that lost a key
    because it was none, or was another one's, is not ``whole``; one that lost a key that is not known is ``stripped``.
    """

    entries: dict[str, tuple[Scalar, Node]]
    start: int
    end: int
    size: int = 1
    depth: int = 1
    usable: bool = True
    whole: bool = True
    stripped: bool = False

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    @property
    def pairs(self) -> list[tuple[Scalar, Node]]:
        """Keys and values, in file order."""
        return list(self.entries.values())

    def get(self, key: str) -> Node | None:
        """The value of ``key``."""
        entry = self.entries.get(key)
        return entry[1] if entry is not None else None

    def key(self, key: str) -> Scalar | None:
        """The key itself, for its place."""
        entry = self.entries.get(key)
        return entry[0] if entry is not None else None


@record(frozen=False, eq=False)
class SequenceNode:
    """A list; ``size`` and ``depth`` as for mappings."""

    items: list[Node]
    start: int
    end: int
    size: int = 1
    depth: int = 1
    usable: bool = True

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)


Node = Union[Scalar, MappingNode, SequenceNode]


def last_scalar(node: Node | None) -> Scalar | None:
    """The text that stands last in a tree."""
    while node is not None and not isinstance(node, Scalar):
        inside = [value for _, value in node.pairs] if isinstance(node, MappingNode) else node.items
        node = inside[-1] if inside else None
    return node


_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
WORDS: dict[str, Any] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip


def resolve(scalar: Scalar) -> Any:
    """What a scalar stands for by YAML 1.2's core schema: text, number, boolean or None.

    Numbers too long to be read back are left as text.
    """
    value = scalar.value
    if scalar.style:
        return value
    if value in WORDS:
        return WORDS[value]
    if value[0] in "+-.0123456789" and len(value) <= 400:
        if _INTEGER.fullmatch(value):
            return int(value)
        if _FLOAT.fullmatch(value):
            return float(value)
    return value


def plain(node: Node) -> Any:
    """The node as plain data: dicts, lists, texts, numbers, booleans, None."""
    if isinstance(node, Scalar):
        return resolve(node)
    if isinstance(node, SequenceNode):
        return [plain(item) for item in node.items]
    return {key: plain(value) for key, (_, value) in node.entries.items()}
