"""Arithmetic and comparison in rules: on plain numbers and on sizes that are only known at run time.

Everything returns a value or raises ``Unknown`` with a sentence for the author; nothing here adds a guard to a traced
graph, and nothing takes long (no huge powers, no repeated strings).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from spyre_dsl.graphs.node import Node, same_value
from spyre_dsl.graphs.sizes import Sizes, SymbolicSize
from spyre_dsl.matching.no_match import show

MAX_BITS = 4096
"""Integers of more bits than this are a mistake in a rule."""

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Unknown(Exception):
    """An expression has no value; the message says why. Never leaves ``evaluate``."""


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float, SymbolicSize)) and not isinstance(value, bool)


def arithmetic(symbol: str, left: Any, right: Any, sizes: Sizes | None = None) -> Any:
    """``left symbol right`` for numbers, and ``+`` for lists. Raises Unknown."""
    if symbol == "+" and isinstance(left, tuple) and isinstance(right, tuple):
        return left + right
    for value in (left, right):
        if not is_number(value):
            raise Unknown(f"`{symbol}` needs numbers; {describe(value)} is none")
    if isinstance(left, SymbolicSize) or isinstance(right, SymbolicSize):
        return _symbolic(symbol, left, right, sizes)
    _check_size(symbol, left, right)
    try:
        result = _ARITHMETIC[symbol](left, right)
    except ZeroDivisionError:
        raise Unknown(f"division by zero: {left} {symbol} {right}") from None
    except OverflowError:
        raise Unknown(f"{left} {symbol} {right} is too large") from None
    except KeyError:
        raise Unknown(f"`{symbol}` works on tensors only") from None
    if isinstance(result, complex):
        raise Unknown(f"{left} {symbol} {right} is no real number")
    if isinstance(result, int) and result.bit_length() > MAX_BITS:
        raise Unknown(f"{left} {symbol} {right} is too large")
    return result


def negative(value: Any, sizes: Sizes | None = None) -> Any:
    if not is_number(value):
        raise Unknown(f"`-` needs a number; {describe(value)} is none")
    return _symbolic("-", 0, value, sizes) if isinstance(value, SymbolicSize) else -value


def compare(symbol: str, left: Any, right: Any) -> bool:
    """``left symbol right``. Raises Unknown for what cannot be compared or depends on a size not known yet."""
    if symbol in ("in", "not in"):
        if not isinstance(right, tuple):
            raise Unknown(f"`{symbol}` needs a list on its right; {describe(right)} is none")
        return any(_equal(left, item) for item in right) is (symbol == "in")
    if symbol == "==":
        return _equal(left, right)
    if symbol == "!=":
        return not _equal(left, right)
    for value in (left, right):
        if not is_number(value):
            raise Unknown(f"`{symbol}` needs numbers; {describe(value)} is none")
    if isinstance(left, SymbolicSize) or isinstance(right, SymbolicSize):
        return _decide(_ORDER[symbol], left, right, symbol)
    return bool(_ORDER[symbol](left, right))


def describe(value: Any) -> str:
    """A value as messages name it."""
    if isinstance(value, Node):
        return f"the tensor {show(value)}"
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {list(value.shape)}"
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"`{value}`"
    if isinstance(value, tuple):
        return "the list [" + ", ".join(describe(item) for item in value) + "]"
    if isinstance(value, (int, float, SymbolicSize)):
        return str(value)
    return f"a {type(value).__name__}"


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, (Node, torch.Tensor)) or isinstance(right, (Node, torch.Tensor)):
        if left is None or right is None:
            return False
        raise Unknown("tensors have no value here; use same(x, y) to ask whether two captures are one")
    if (isinstance(left, SymbolicSize) and is_number(right)) or (isinstance(right, SymbolicSize) and is_number(left)):
        return same_value(left, right) or _decide(operator.eq, left, right, "==")
    if isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right):
        return all(_equal(a, b) for a, b in zip(left, right, strict=True))
    return same_value(left, right)


def _decide(function: Callable[[Any, Any], Any], left: Any, right: Any, symbol: str) -> bool:
    result = function(_raw(left), _raw(right))
    if isinstance(result, bool):
        return result
    if statically_known_true(result):
        return True
    if statically_known_true(torch.sym_not(result)):  # type: ignore[no-untyped-call]
        return False
    dynamic = left if isinstance(left, SymbolicSize) else right
    raise Unknown(f"{left} {symbol} {right} depends on {dynamic}, a size that is only known when the model runs")


def _symbolic(symbol: str, left: Any, right: Any, sizes: Sizes | None) -> Any:
    if symbol == "**" and not (isinstance(right, int) and 0 <= right <= 8):
        raise Unknown(f"{left} ** {right}: a dynamic size can be raised to small whole numbers only")
    if symbol in ("/", "//", "%") and right == 0:
        raise Unknown(f"division by zero: {left} {symbol} {right}")
    try:
        result = _ARITHMETIC[symbol](_raw(left), _raw(right))
    except ZeroDivisionError:  # torch divides the sizes of the example inputs too
        raise Unknown(f"division by zero: {left} {symbol} {right}") from None
    if isinstance(result, (torch.SymInt, torch.SymFloat)):
        return (sizes or Sizes()).of(result)
    return result


def _raw(value: Any) -> Any:
    return value.value if isinstance(value, SymbolicSize) else value


def _check_size(symbol: str, left: Any, right: Any) -> None:
    if symbol == "**" and isinstance(left, int) and isinstance(right, int):
        if abs(left) > 1 and right > 0 and right * left.bit_length() > MAX_BITS:
            raise Unknown(f"{left} ** {right} is too large")
