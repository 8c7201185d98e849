"""What kind of value an expression gives, as far as its text tells: the types that ``lint`` works with.

The kinds are those of the vocabulary (``tensor``, ``int``, ``bool``, ``dtype`` ...), and ``none``, ``float``,
``list``, ``quoted dtype`` (the name of a dtype in quotes, which is a string too); ``any`` wherever only a model can
tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from spyre_dsl.language.functions import DTYPES, FUNCTIONS
from spyre_dsl.language.syntax import (
    Attribute,
    Binary,
    Boolean,
    Call,
    Compare,
    Conditional,
    Expression,
    Index,
    ListExpression,
    Logical,
    Name,
    NoneLiteral,
    Number,
    String,
    Unary,
)  # fmt: skip
from spyre_dsl.language.vocabulary import find_op

Names = Mapping[str, str] | None
"""Bare names in reach with their kinds; None where any name may be meant (the arguments of a ``forward``)."""

_ACCEPTED: Mapping[str, frozenset[str]] = {
    "tensor": frozenset({"tensor", "none"}),
    "tensors": frozenset({"list"}),
    "value": frozenset({"tensor", "number", "int", "float", "bool", "none"}),
    "number": frozenset({"number", "int", "float", "none"}),
    "int": frozenset({"int", "number", "none"}),
    "ints": frozenset({"int", "number", "list", "none"}),
    "bool": frozenset({"bool"}),
    "dtype": frozenset({"dtype", "quoted dtype", "none"}),
    "string": frozenset({"string", "quoted dtype", "none"}),
}

ARTICLES: Mapping[str, str] = {
    "tensor": "a tensor", "tensors": "a list of tensors", "value": "a tensor or a number", "number": "a number",
    "int": "an int", "ints": "an int or a list of ints", "bool": "true or false", "dtype": "a dtype",
    "string": "a string", "none": "none", "float": "a float", "list": "a list", "any": "anything",
    "quoted dtype": "a string",
}  # fmt: skip
"""Each kind with its article, for messages."""


def accepts(wanted: str, found: str) -> bool:
    """Whether an argument of kind ``wanted`` may be given a value of kind ``found``."""
    return wanted == "any" or found == "any" or found in _ACCEPTED[wanted]


def kind_of(node: Expression, names: Names = None) -> str:
    """The kind of what ``node`` gives, where ``names`` are in reach."""
    find = _FINDERS.get(type(node))
    return "any" if find is None else find(node, names)


def _compare(node: Compare, names: Names) -> str:
    if node.operator not in ("in", "not in"):
        sides = (kind_of(node.left, names), kind_of(node.right, names))
        return "tensor" if "tensor" in sides else "any" if "any" in sides else "bool"
    return "bool"


def _name(node: Name, names: Names) -> str:
    if node.name == "end":
        return "any"  # it has no value but the one that a slice gives it, which is for another check
    if names is not None and node.name in names:
        return names[node.name]
    return "dtype" if node.name in DTYPES else "any"


@lru_cache(maxsize=4096)
def _result_of(name: str) -> str:
    """The kind of what a function or an op of this name gives."""
    function = FUNCTIONS.get(name)
    if function is not None:
        return "list" if function.result == "ints" else function.result
    op = find_op(name)
    if op is None:
        return "any"
    return "tensor" if op.outputs == 1 else "any"


def _arithmetic(operator: str, left: str, right: str) -> str:
    sides = {left, right}
    if "tensor" in sides:
        return "tensor"
    if not sides <= {"int", "float", "number"}:
        return "any"
    if operator == "/" or "float" in sides:
        return "float"
    return "number" if "number" in sides or operator == "**" else "int"


def _conditional(node: Conditional, names: Names) -> str:
    then, otherwise = kind_of(node.then, names), kind_of(node.otherwise, names)
    return then if then == otherwise else "any"


_FINDERS: Mapping[type, Callable[[Any, Names], str]] = {
    Number: lambda node, names: "int" if isinstance(node.value, int) else "float",
    String: lambda node, names: "quoted dtype" if node.value in DTYPES else "string",
    Boolean: lambda node, names: "bool",
    Logical: lambda node, names: "bool",
    NoneLiteral: lambda node, names: "none",
    ListExpression: lambda node, names: "list",
    Compare: _compare,
    Name: _name,
    Call: lambda node, names: _result_of(node.function),
    Unary: lambda node, names: "bool" if node.operator == "not" else kind_of(node.operand, names),
    Binary: lambda node, names: _arithmetic(node.operator, kind_of(node.left, names), kind_of(node.right, names)),
    Conditional: _conditional,
    Attribute: lambda node, names: "int" if (node.root, node.path) == ("stack", ("stick",)) else "any",
    Index: lambda node, names: "tensor" if kind_of(node.base, names) == "tensor" else "any",
}
