"""Sizes that are only known when the model runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy
import torch

_DTYPE_NAMES: dict[torch.dtype | None, str] = {None: ""}


def dtype_name(dtype: torch.dtype | None) -> str:
    """``"float16"`` for ``torch.float16``; empty for None."""
    name = _DTYPE_NAMES.get(dtype)
    if name is None:
        name = _DTYPE_NAMES[dtype] = str(dtype).removeprefix("torch.")
    return name


class SymbolicSize:
    """A number that is only known when the model runs: a dynamic dimension, or arithmetic on some.

    Two symbolic sizes are equal when their sympy expressions are.

    ``value`` is the ``torch.SymInt`` (seldom a ``SymFloat`` or ``SymBool``). ``fx`` is the first FX node that
    computes the number, if the graph has one; it may come later in the graph than the place of a rewrite.
    ``origin`` is a placeholder and the dimension of it that has this size, if there is one. With neither, the
    number can be built from ``expression``, whose free symbols each have one of the two (see ``Sizes.of_symbol``).
    """

    __slots__ = ("expression", "value", "fx", "origin")

    def __init__(self, expression: sympy.Expr, value: Any) -> None:
        self.expression = expression
        self.value = value
        self.fx: torch.fx.Node | None = None
        self.origin: tuple[torch.fx.Node, int] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SymbolicSize) and bool(self.expression == other.expression)

    def __hash__(self) -> int:
        return hash(self.expression)

    def __repr__(self) -> str:
        return str(self.expression)


class Sizes:
    """The symbolic sizes of one graph: one object for each distinct expression."""

    def __init__(self) -> None:
        self._by_expression: dict[sympy.Expr, SymbolicSize] = {}
        self._seen: dict[sympy.Expr, int | float | bool | SymbolicSize] = {}

    def __iter__(self) -> Iterator[SymbolicSize]:
        return iter(self._by_expression.values())

    def of(self, value: Any) -> Any:
        """The canonical form of a number that may be symbolic: a plain number wherever it is known after all."""
        if not isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return value
        raw = value.node._expr
        found = self._seen.get(raw)
        if found is None:
            found = self._seen[raw] = self._resolve(value)
        return found

    def of_symbol(self, symbol: sympy.Expr) -> SymbolicSize | None:
        """The size that is exactly this expression, if the graph has one."""
        return self._by_expression.get(symbol)

    def shape(self, tensor: Any) -> tuple[int | SymbolicSize, ...]:
        """The sizes of a (fake) tensor; ``()`` for anything else."""
        if not isinstance(tensor, torch.Tensor):
            return ()
        return tuple(size if type(size) is int else self.of(size) for size in tensor.shape)

    def computed_by(self, fx: torch.fx.Node, value: Any) -> Any:
        """The canonical form of the number that ``fx`` computes; remembers the first FX node of each size."""
        size = self.of(value)
        if isinstance(size, SymbolicSize) and size.fx is None:
            size.fx = fx
        return size

    def held_by(self, placeholder: torch.fx.Node) -> None:
        """Remembers which sizes an input's dimensions have."""
        for dim, size in enumerate(self.shape(placeholder.meta.get("val"))):
            if isinstance(size, SymbolicSize) and size.origin is None:
                size.origin = (placeholder, dim)

    def _resolve(self, value: Any) -> int | float | bool | SymbolicSize:
        expression = value.node.expr
        if expression.is_Integer:
            return int(expression)
        if expression.is_number and expression.is_real:
            return float(expression)
        if expression in (sympy.true, sympy.false):
            return bool(expression)
        return self._by_expression.setdefault(expression, SymbolicSize(expression, value))
