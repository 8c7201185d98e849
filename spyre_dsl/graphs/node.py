"""The canonical graph: what patterns are matched on.

A canonical graph is a read-only view of an FX graph. Its nodes carry the documented names and arguments of
``spyre_dsl.language.vocabulary``; each names the FX node that computes its value, so that a rewrite can replace it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Union

import torch

from spyre_dsl.graphs.provenance import class_path_of, module_path_of, module_stack_of, source_line_of
from spyre_dsl.graphs.sizes import Sizes, SymbolicSize, dtype_name

LEAVES = ("input", "parameter", "buffer", "constant")
"""The ``op`` of nodes that no other node computes."""


Scalar = Union[int, float, complex, bool, str, None]
Value = Union["Node", Scalar, SymbolicSize, "tuple[Value, ...]"]
"""What an argument may be. Dtypes are strings (``"float16"``); lists are tuples."""


class Node:
    """One operation of the canonical graph; equality is identity.

    ``op`` is a name of the vocabulary, the exact overload (``"aten.histc.default"``) of an op that has none, one of
    ``LEAVES``, or ``"getitem"`` (arguments: a node with several outputs, and which one). ``arguments`` are in the
    vocabulary's order, defaults filled in and dims made non-negative (relative to ``dim_rank`` dimensions).

    ``number`` is equal for two nodes that compute the same value (same op, same arguments, no randomness).
    ``target`` is the qualified name of a parameter, buffer or constant. ``is_output`` says that the graph returns it.
    ``changed_at`` is the position of the first FX node that changes this value in place, if there is one: after that
    the FX node holds something else. ``literal`` is the number that a tensor without dimensions always holds, where
    that is known (``torch.tensor(0.5)`` in a forward).
    """

    __slots__ = (
        "op",
        "overload",
        "arguments",
        "fx",
        "dim_rank",
        "number",
        "position",
        "users",
        "is_constant",
        "target",
        "changed_at",
        "is_output",
        "literal",
        "_sizes",
        "_shape",
    )

    def __init__(
        self, op: str, overload: str, arguments: tuple[Value, ...], fx: torch.fx.Node, sizes: Sizes, position: int
    ) -> None:
        self.op = op
        self.overload = overload
        self.arguments = arguments
        self.fx = fx
        self.position = position
        self.dim_rank = 0
        self.is_constant = False
        self.is_output = False
        self.literal: int | float | bool | None = None
        self.target = ""
        self.number = -1
        self.users: list[Node] = []
        self.changed_at: int | None = None
        self._sizes = sizes
        self._shape: tuple[int | SymbolicSize, ...] | None = None

    @property
    def name(self) -> str:
        """The FX node's name, unique in its graph."""
        return str(self.fx.name)

    @property
    def shape(self) -> tuple[int | SymbolicSize, ...]:
        """The sizes of the tensor; empty for a scalar tensor and for what is no tensor."""
        if self._shape is None:
            self._shape = self._sizes.shape(self.fx.meta.get("val"))
        return self._shape

    @property
    def dtype(self) -> str:
        """``"float16"`` and the like; empty for what is no tensor."""
        return dtype_name(getattr(self.fx.meta.get("val"), "dtype", None))

    @property
    def is_tensor(self) -> bool:
        return isinstance(self.fx.meta.get("val"), torch.Tensor)

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_leaf(self) -> bool:
        return self.op in LEAVES

    @property
    def is_parameter(self) -> bool:
        """Whether this is a parameter or buffer of the model as it stands."""
        return self.op in ("parameter", "buffer")

    @property
    def module_path(self) -> str:
        """The dotted path of the module whose forward ran this (``""`` is the root)."""
        return module_path_of(self.fx)

    @property
    def class_path(self) -> str:
        """The qualified class name of that module."""
        return class_path_of(self.fx)

    @property
    def module_stack(self) -> tuple[tuple[str, str], ...]:
        """(path, class) of every module that was running, outermost first."""
        return module_stack_of(self.fx)

    @property
    def source_line(self) -> str:
        """The line of the model's own code that asked for this: ``"modeling_bert.py:123"``; empty if unknown."""
        return source_line_of(self.fx)

    def inputs(self) -> list[Node]:
        """The nodes among the arguments, lists included, in order and with repetitions."""
        return nodes_in(self.arguments)

    def __repr__(self) -> str:
        return f"<{self.op} {self.name}>"


def nodes_in(value: Value) -> list[Node]:
    """Every node in ``value``, lists searched, in order and with repetitions."""
    if isinstance(value, Node):
        return [value]
    found: list[Node] = []
    if isinstance(value, tuple):
        for item in value:
            if isinstance(item, Node):
                found.append(item)
            elif isinstance(item, tuple):
                found += nodes_in(item)
    return found


def same_value(left: Value, right: Value) -> bool:
    """Whether two values are one: nodes that compute the same thing, equal numbers, equal sizes, equal lists.

    ``3`` and ``3.0`` are the same; ``True`` is neither ``1`` nor any other number.
    """
    if left is right:
        return True
    if isinstance(left, Node) or isinstance(right, Node):
        return isinstance(left, Node) and isinstance(right, Node) and left.number == right.number >= 0
    if isinstance(left, tuple) or isinstance(right, tuple):
        return (
            isinstance(left, tuple)
            and isinstance(right, tuple)
            and len(left) == len(right)
            and all(map(same_value, left, right))
        )
    if isinstance(left, bool) is not isinstance(right, bool):
        return False
    return (left == right) is True  # what compares item by item, as tensors do, is one only if it is the same object


@dataclass(frozen=True, eq=False)
class CanonicalGraph:
    """All live nodes of a graph in an order in which arguments come first.

    ``values`` maps every FX node to the canonical value it has at the end of the graph (a no-op's is its
    argument's); ``sizes`` holds every symbolic size that occurs.
    """

    fx_graph: torch.fx.Graph
    nodes: tuple[Node, ...]
    inputs: tuple[Node, ...]
    outputs: tuple[Value, ...]
    values: Mapping[torch.fx.Node, Value] = field(repr=False)
    sizes: Sizes = field(repr=False)

    @cached_property
    def by_op(self) -> Mapping[str, Sequence[Node]]:
        """The nodes of each op, in graph order."""
        found: dict[str, list[Node]] = {}
        for node in self.nodes:
            found.setdefault(node.op, []).append(node)
        return found

    def value_of(self, fx: torch.fx.Node | str) -> Value:
        """The canonical value of an FX node, given itself or by name. KeyError if the graph has none such."""
        if isinstance(fx, str):
            fx = next((node for node in self.values if node.name == fx), fx)
        return self.values[fx]  # type: ignore[index]
