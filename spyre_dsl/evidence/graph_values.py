"""Compute the nodes of a canonical graph as real numbers, with some of them given from outside.

A claim about a rule says: whatever its captures hold, the pattern's root and the rewrite are the same number. So the
captured nodes are given values, and only what lies between them and the root is computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy
import torch
from torch.utils import _pytree as pytree

from spyre_dsl.evidence.tensors import Tensors
from spyre_dsl.graphs.node import CanonicalGraph, Node, Value
from spyre_dsl.graphs.sizes import SymbolicSize
from spyre_dsl.language.functions import DTYPES
from spyre_dsl.language.vocabulary import find_op

Sizes = Mapping[sympy.Symbol, int]
"""What each symbol of a graph's dynamic sizes is taken to be."""


def hinted_sizes(graph: CanonicalGraph) -> dict[sympy.Symbol, int]:
    """Every symbol of the graph's dynamic sizes with the extent that it had when the graph was captured."""
    found: dict[sympy.Symbol, int] = {}
    for size in _sizes_of(graph):
        for symbol in size.expression.free_symbols:
            hint = size.value.node.shape_env.backed_var_to_val.get(symbol)
            if hint is not None:
                found[symbol] = int(hint)
    return found


def _sizes_of(graph: CanonicalGraph) -> list[SymbolicSize]:
    in_shapes = [size for node in graph.nodes for size in node.shape]
    in_arguments = [leaf for node in graph.nodes for leaf in pytree.tree_leaves(node.arguments)]
    return [size for size in (*in_shapes, *in_arguments) if isinstance(size, SymbolicSize)]


def number_of(size: Any, sizes: Sizes) -> Any:
    """A plain number for a size: itself, or a symbolic one with its symbols filled in."""
    if not isinstance(size, SymbolicSize):
        return size
    value = size.expression.xreplace({symbol: sympy.Integer(extent) for symbol, extent in sizes.items()})
    return int(value) if value.is_integer else bool(value) if value in (sympy.true, sympy.false) else float(value)


def shape_of(node: Node, sizes: Sizes) -> tuple[int, ...]:
    """The extents of a node's tensor with its dynamic sizes filled in."""
    return tuple(number_of(size, sizes) for size in node.shape)


class GraphValues:
    """The values of one graph in one world of tensors.

    ``given`` holds the captured nodes; ``leaf`` makes a value for an input, parameter or constant that is reached
    without being captured. Values are computed once. Raises ``OperationError`` where torch refuses an op.
    """

    def __init__(
        self,
        tensors: Tensors,
        sizes: Sizes,
        given: Mapping[Node, Any],
        leaf: Callable[[Node], Any],
    ) -> None:
        self._tensors = tensors
        self._sizes = sizes
        self._leaf = leaf
        self._known: dict[Node, Any] = dict(given)
        self._numbered = {node.number: value for node, value in given.items() if node.number >= 0}

    def node(self, node: Node) -> Any:
        """The value of ``node``, computed from what is given; a deep graph needs no deep stack."""
        pending = [node]
        while pending:
            top = pending[-1]
            if top not in self._known and top.number in self._numbered:
                self._known[top] = self._numbered[top.number]  # another node that computes what is given
            missing = [] if top in self._known else [n for n in top.inputs() if n not in self._known]
            if missing and not top.is_leaf:
                pending.extend(missing)
                continue
            pending.pop()
            if top not in self._known:
                self._known[top] = self._compute(top)
        return self._known[node]

    def value(self, value: Value) -> Any:
        """What a capture holds: a tensor, a number, a dtype, None, or a list of these."""
        if isinstance(value, Node):
            return self.node(value)
        if isinstance(value, tuple):
            return [self.value(item) for item in value]
        if isinstance(value, str) and value in DTYPES:
            return getattr(torch, value)
        return number_of(value, self._sizes)

    def _compute(self, node: Node) -> Any:
        if node.is_leaf:
            return self._leaf(node)
        arguments = [self.value(argument) for argument in node.arguments]
        if node.op == "getitem":
            return arguments[0][arguments[1]]
        op = find_op(node.op) if not node.op.count(".") else None
        if op is None:
            return self._tensors.call_overload(node.overload, tuple(arguments))
        names = (parameter.name for parameter in op.parameters)
        return self._tensors.call(op.name, dict(zip(names, arguments)))
