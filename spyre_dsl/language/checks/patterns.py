"""Patterns: they say something about what they match."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from spyre_dsl.language.canonical_terms import TRANSPARENT
from spyre_dsl.language.checks.registry import file_check
from spyre_dsl.language.checks.view import PATTERN, AdapterView, Place
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.functions import FUNCTIONS, WORDS
from spyre_dsl.language.syntax import (
    COMPARE_OPS,
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
from spyre_dsl.language.vocabulary import bind, find_op

VALUES: Final = (Number, String, Boolean, NoneLiteral, Name, ListExpression, Attribute)
"""Expressions that are no node of a graph."""


@file_check("SD306", "SD209")
def check_patterns(view: AdapterView) -> Iterator[Diagnostic]:
    """The root of a pattern is an op."""
    for place in view.places:
        if place.role == PATTERN:
            yield from _check_root(view, place)


def _check_root(view: AdapterView, place: Place) -> Iterator[Diagnostic]:
    root = seen_through(place.expression)
    if isinstance(root, (Capture, Wildcard)):
        message = "the pattern matches anything"
        label = "a pattern starts with an op, such as `mul($x, 2)`"
        if isinstance(place.expression, Call):
            label = f"`{place.expression.function}` is no node of the graphs that are matched, its input stands for it"
        yield view.diagnose("SD306", message, place.expression.span, label=label)
    elif isinstance(root, VALUES) or _is_value(root):
        message = "the pattern is a value, which no node of a graph is"
        yield view.diagnose("SD306", message, root.span, label="a pattern starts with an op, such as `mul($x, 2)`")
    elif isinstance(root, (Conditional, Logical)) or (isinstance(root, Compare) and root.operator not in COMPARE_OPS):
        word = "if ... else" if isinstance(root, Conditional) else root.operator
        message = f"a pattern matches ops, and `{word}` is none"
        yield view.diagnose("SD209", message, root.span, label="conditions belong under `where`")
    elif isinstance(root, (Binary, Unary, Compare, Index)) and not _names_op(root):
        message = "the pattern matches nothing in particular"
        yield view.diagnose("SD306", message, root.span, label="a pattern starts with an op, such as `mul($x, 2)`")


def seen_through(node: Expression) -> Expression:
    """What a matched graph holds in the place of ``node``: of a copy, what it is a copy of."""
    while True:
        match node:
            case Unary(operator="+", operand=inner):
                node = inner
            case Call() if (copied := _copied(node)) is not None:
                node = copied
            case _:
                return node


def _copied(call: Call) -> Expression | None:
    """The input of a call that matched graphs do not hold; None for other calls."""
    op = find_op(call.function)
    if op is None or op.name not in TRANSPARENT:
        return None
    bound = bind(op, call.args, [(keyword.name, keyword.value) for keyword in call.keywords])
    return bound.get("input") if isinstance(bound, dict) else None


def _is_value(root: Expression) -> bool:
    """Whether a pattern is the call of a function that gives a plain value, as it may within a pattern."""
    if not isinstance(root, Call) or find_op(root.function) is not None:
        return False
    function = FUNCTIONS.get(root.function)
    return function is not None and PATTERN in function.places


def _names_op(node: Expression) -> bool:
    """Whether an expression holds something of the graph: a capture, an op, or what could not be read."""
    match node:
        case Capture() | Wildcard() | Broken():
            return True
        case Name():
            return node.name not in WORDS  # one that means nothing is most likely a capture without its dollar
        case Call():
            return find_op(node.function) is not None or node.function not in FUNCTIONS
        case Binary() | Compare():
            return _names_op(node.left) or _names_op(node.right)
        case Unary():
            return _names_op(node.operand)
        case Index():
            base = seen_through(node.base)
            return isinstance(base, Call) and _names_op(base)
        case _:
            return False
