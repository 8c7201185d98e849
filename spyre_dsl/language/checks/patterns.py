"""Patterns: they say something about what they match."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from spyre_dsl.language.checks.registry import file_check
from spyre_dsl.language.checks.view import PATTERN, AdapterView, Place
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.functions import FUNCTIONS
from spyre_dsl.language.syntax import (
    Attribute,
    Binary,
    Boolean,
    Broken,
    Call,
    Capture,
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
    Wildcard,
)  # fmt: skip
from spyre_dsl.language.vocabulary import find_op

VALUES: Final = (Number, String, Boolean, NoneLiteral, Name, ListExpression, Attribute)
"""Expressions that are no node of a graph."""


@file_check("SD306", "SD209")
def check_patterns(view: AdapterView) -> Iterator[Diagnostic]:
    """The root of a pattern is an op."""
    for place in view.places:
        if place.role == PATTERN:
            yield from _check_root(view, place)


def _check_root(view: AdapterView, place: Place) -> Iterator[Diagnostic]:
    root = place.expression
    if isinstance(root, (Capture, Wildcard)):
        message = "the pattern matches anything"
        yield view.diagnose("SD306", message, root.span, label="a pattern starts with an op, such as `mul($x, 2)`")
    elif isinstance(root, VALUES):
        message = "the pattern is a value, which no node of a graph is"
        yield view.diagnose("SD306", message, root.span, label="a pattern starts with an op, such as `mul($x, 2)`")
    elif isinstance(root, (Conditional, Logical)):
        word = "if ... else" if isinstance(root, Conditional) else root.operator
        message = f"a pattern matches ops, and `{word}` is none"
        yield view.diagnose("SD209", message, root.span, label="conditions belong under `where`")
    elif isinstance(root, (Binary, Unary, Compare, Index)) and not _names_op(root):
        message = "the pattern matches nothing in particular"
        yield view.diagnose("SD306", message, root.span, label="a pattern starts with an op, such as `mul($x, 2)`")


def _names_op(node: Expression) -> bool:
    """Whether an expression holds something of the graph: a capture, an op, or what could not be read."""
    match node:
        case Capture() | Wildcard() | Broken():
            return True
        case Call():
            return find_op(node.function) is not None or node.function not in FUNCTIONS
        case Binary() | Compare():
            return _names_op(node.left) or _names_op(node.right)
        case Unary():
            return _names_op(node.operand)
        case Index():
            return isinstance(node.base, Call) and _names_op(node.base)
        case _:
            return False
