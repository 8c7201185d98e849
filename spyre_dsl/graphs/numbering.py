"""Value numbers: two nodes with one number compute the same value."""

from __future__ import annotations

from collections.abc import Hashable

from spyre_dsl.graphs.node import Node, Value
from spyre_dsl.graphs.sizes import SymbolicSize


class Numbering:
    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._next = 0

    def fresh(self) -> int:
        self._next += 1
        return self._next

    def of(self, node: Node, deterministic: bool) -> tuple[int, bool]:
        """The node's number, and whether its value depends on no input and no dynamic size."""
        constant = deterministic
        key: list[Hashable] = [node.op]
        for argument in node.arguments:
            part, fixed = _key(argument)
            key.append(part)
            constant = constant and fixed
        if not deterministic:
            return self.fresh(), constant
        number = self._numbers.setdefault(tuple(key), self._next + 1)
        self._next = max(self._next, number)
        return number, constant


def _key(value: Value) -> tuple[Hashable, bool]:
    """What stands for a value in a key, and whether it is fixed. Numbers of different types are different values."""
    if isinstance(value, Node):
        return ("#", value.number), value.is_constant
    if isinstance(value, tuple):
        parts = [_key(item) for item in value]
        return tuple([part for part, _ in parts]), all([fixed for _, fixed in parts])
    if isinstance(value, SymbolicSize):
        return value, False
    return (type(value), value), True
