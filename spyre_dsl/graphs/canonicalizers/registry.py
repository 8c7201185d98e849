"""The registry of canonicalizers, and the call that they are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from spyre_dsl.graphs.arguments import Binding
from spyre_dsl.graphs.node import Node, Value
from spyre_dsl.graphs.sizes import Sizes, SymbolicSize, dtype_name


class Call:
    """One call of an ATen overload on its way to become a node.

    A canonicalizer may change ``op`` and ``arguments`` (in the order of the vocabulary, dims already non-negative),
    and then returns None: the call becomes a node. Or it returns the value that the call stands for: an argument, if
    the call changes nothing.
    """

    __slots__ = ("op", "arguments", "binding", "fx", "sizes", "dim_rank")

    def __init__(
        self, binding: Binding, arguments: list[Value], fx: torch.fx.Node, sizes: Sizes, dim_rank: int
    ) -> None:
        self.op = binding.name
        self.arguments = arguments
        self.binding = binding
        self.fx = fx
        self.sizes = sizes
        self.dim_rank = dim_rank

    @property
    def input(self) -> Value:
        return self.arguments[0]

    @property
    def result(self) -> Any:
        """The fake tensor (or number, or list) that this call gave while the graph was traced."""
        return self.fx.meta.get("val")

    @property
    def result_shape(self) -> tuple[int | SymbolicSize, ...] | None:
        """The sizes of the result, None where the graph does not say."""
        value = self.result
        return self.sizes.shape(value) if isinstance(value, torch.Tensor) else None

    @property
    def result_dtype(self) -> str:
        return dtype_name(getattr(self.result, "dtype", None))

    def given(self, schema_name: str) -> Any:
        """An FX argument by its name in the schema; None if it is not given."""
        names = self.binding.schema_names
        if schema_name not in names:
            return None
        return self.binding.raw(names.index(schema_name), self.fx.args, self.fx.kwargs)

    def become(self, op: str, *arguments: Value) -> Value:
        """Makes this a call of another op; returns None, as a canonicalizer does for a call that becomes a node."""
        self.op = op
        self.arguments = list(arguments)
        return None

    def keeps_shape(self) -> bool:
        """Whether result and first argument are known to have the same sizes."""
        value = self.arguments[0]
        return isinstance(value, Node) and value.is_tensor and value.shape == self.result_shape

    def keeps_dtype(self) -> bool:
        value = self.arguments[0]
        return isinstance(value, Node) and value.dtype != "" and value.dtype == self.result_dtype


Canonicalizer = Callable[[Call], Value]
_REGISTRY: dict[str, Canonicalizer] = {}


def canonicalizes(*names: str) -> Callable[[Canonicalizer], Canonicalizer]:
    """Registers a function for ops by their vocabulary name, or the overload of an op that the vocabulary lacks."""

    def register(function: Canonicalizer) -> Canonicalizer:
        for name in names:
            if name in _REGISTRY:
                raise ValueError(f"two canonicalizers for {name}")
            _REGISTRY[name] = function
        return function

    return register


def canonicalizer_of(name: str) -> Canonicalizer | None:
    return _REGISTRY.get(name)
