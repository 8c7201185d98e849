"""Are two canonical graphs the same computation?

Nodes are compared by op and arguments, operands of commutative ops in either order, sizes by their extents. Inputs
correspond by place; so do the contiguous copies that an op reads from. What depends on parameters and literals only is
compared by its value, since a patch folds it into a buffer where an expression computes it. Host marks say where
something runs, not what it is, and are passed over.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import torch

from spyre_dsl.evidence.graph_values import GraphValues, hinted_sizes, number_of
from spyre_dsl.evidence.tensors import PlainTensors
from spyre_dsl.graphs.capture import Capture
from spyre_dsl.graphs.memory import is_made_contiguous
from spyre_dsl.graphs.node import Node, Value
from spyre_dsl.graphs.sizes import SymbolicSize
from spyre_dsl.language.vocabulary import find_op

HOST_MARK: Final = "spyre.host.default"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first place where two graphs part: what each has there."""

    left: str
    right: str


@dataclass
class _Side:
    capture: Capture
    sizes: Mapping[Any, int] = field(init=False)
    values: GraphValues = field(init=False)
    inputs: Mapping[Node, int] = field(init=False)

    def __post_init__(self) -> None:
        graph = self.capture.graph
        self.sizes = hinted_sizes(graph)
        self.inputs = {node: place for place, node in enumerate(graph.inputs)}
        self.values = GraphValues(PlainTensors(), self.sizes, {}, self._weight)

    def _weight(self, node: Node) -> torch.Tensor:
        program = self.capture.program
        held = program.state_dict if node.target in program.state_dict else program.constants
        return held[node.target].detach()  # type: ignore[no-any-return]

    def number(self, value: Value) -> Any:
        return number_of(value, self.sizes)


def mismatch(left: Capture, right: Capture) -> Mismatch | None:
    """Where two captures differ first, seen from their outputs; None if they are the same computation."""
    comparison = _Comparison(_Side(left), _Side(right))
    if comparison.same(left.graph.outputs, right.graph.outputs):
        return None
    return comparison.first or Mismatch(show(left.graph.outputs), show(right.graph.outputs))


class _Comparison:
    def __init__(self, left: _Side, right: _Side) -> None:
        self._left, self._right = left, right
        self._known: dict[tuple[Node, Node], bool] = {}
        self.first: Mismatch | None = None

    def same(self, left: Value, right: Value) -> bool:
        if isinstance(left, Node) and isinstance(right, Node):
            left, right = _unmarked(left), _unmarked(right)
            if (left, right) not in self._known:
                self._known[left, right] = self._same_nodes(left, right)
                if not self._known[left, right] and self.first is None:
                    self.first = Mismatch(show(left), show(right))
            return self._known[left, right]
        if isinstance(left, tuple) and isinstance(right, tuple):
            return len(left) == len(right) and all(map(self.same, left, right))
        if isinstance(left, (Node, tuple)) or isinstance(right, (Node, tuple)):
            return False
        return _same_numbers(self._left.number(left), self._right.number(right))

    def _same_nodes(self, left: Node, right: Node) -> bool:
        if left.op == "input" or right.op == "input":
            return left.op == right.op and self._left.inputs[left] == self._right.inputs[right]
        if left.is_constant and right.is_constant:
            return self._same_constants(left, right)
        if left.op != right.op or _copies_read(left) != _copies_read(right):
            return False
        if self._same_arguments(left.arguments, right.arguments):
            return True
        op = find_op(left.op)
        swapped = (right.arguments[1], right.arguments[0], *right.arguments[2:]) if len(right.arguments) > 1 else ()
        return op is not None and op.commutative and self._same_arguments(left.arguments, swapped)

    def _same_arguments(self, left: tuple[Value, ...], right: tuple[Value, ...]) -> bool:
        return len(left) == len(right) and all(map(self.same, left, right))

    def _same_constants(self, left: Node, right: Node) -> bool:
        mine, other = self._left.values.node(left), self._right.values.node(right)
        if not isinstance(mine, torch.Tensor) or not isinstance(other, torch.Tensor):
            return left.op == right.op and self._same_arguments(left.arguments, right.arguments)
        return mine.shape == other.shape and mine.dtype == other.dtype and bool(torch.equal(mine, other))


def _copies_read(node: Node) -> int:
    """How many tensors an op reads from a contiguous copy: no part of the value, and yet what some rules are for."""
    return sum(map(is_made_contiguous, node.fx.all_input_nodes))


def _same_numbers(left: Any, right: Any) -> bool:
    """Equal, or floats that differ by how they were computed."""
    if isinstance(left, float) and isinstance(right, float):
        return left == right or math.isclose(left, right, rel_tol=1e-12)
    return bool(left == right)


def _unmarked(node: Node) -> Node:
    while HOST_MARK in (node.op, node.overload) and isinstance(node.arguments[0], Node):
        node = node.arguments[0]
    return node


def show(value: Value, depth: int = 4) -> str:
    """``value`` as the text of an expression, cut off at ``depth``."""
    if isinstance(value, tuple):
        items = ", ".join(show(item, depth) for item in value)
        return f"[{items}]"
    if isinstance(value, SymbolicSize) or not isinstance(value, Node):
        return "none" if value is None else str(value)
    if value.is_leaf:
        return value.target or value.name
    if depth == 0:
        return "..."
    if value.op == "getitem":
        return f"{show(value.arguments[0], depth)}[{value.arguments[1]}]"
    copied = {source.args[0] for source in value.fx.all_input_nodes if is_made_contiguous(source)}
    shown = [_show_read(argument, copied, depth - 1) for argument in value.arguments]
    op = find_op(value.op)
    while op is not None and shown and _is_default(op.parameters[len(shown) - 1], value.arguments[len(shown) - 1]):
        shown.pop()
    return f"{value.op}({', '.join(shown)})"


def _show_read(argument: Value, copied: Collection[Any], depth: int) -> str:
    text = show(argument, depth)
    return f"contiguous({text})" if isinstance(argument, Node) and argument.fx in copied else text


def _is_default(parameter: Any, value: Value) -> bool:
    return not parameter.required and not isinstance(value, Node) and value == parameter.default
