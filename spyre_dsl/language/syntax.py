"""The syntax tree of the expression language.

One tree serves patterns, rewrite expressions, guards and ``forward`` programs. Nodes are immutable and compare
by structure: spans never take part in equality, so that a parsed, printed and parsed again tree is equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Union

from spyre_dsl.language.records import field, record


@record
class Span:
    """A half-open range of character offsets in the text of the file that holds the node."""

    start: int
    end: int

    def holds(self, other: Span) -> bool:
        """Whether ``other`` lies within this range."""
        return self.start <= other.start and other.end <= self.end


NO_SPAN = Span(0, 0)


def _span() -> Span:
    return field(default=NO_SPAN, compare=False)


@record
class Number:
    """An integer or floating-point literal, a sign before it included (``-1``, ``-inf``).

    ``3`` and ``3.0`` are different nodes that match the same values.
    """

    value: Union[int, float]
    span: Span = _span()


@record
class String:
    """A text in quotes; ``value`` has its escapes resolved."""

    value: str
    span: Span = _span()


@record
class Boolean:
    """``true`` or ``false`` (``True`` and ``False`` are accepted as well)."""

    value: bool
    span: Span = _span()


@record
class NoneLiteral:
    """``none`` (or ``None``)."""

    span: Span = _span()


@record
class Capture:
    """``$x``: binds a value in a pattern and names it everywhere else. ``name`` has no dollar sign."""

    name: str
    span: Span = _span()


@record
class Wildcard:
    """``_``: matches anything and binds nothing."""

    span: Span = _span()


@record
class Name:
    """A bare identifier: a ``let`` name, a test input, an argument of a ``forward``, a dtype, or ``end``."""

    name: str
    span: Span = _span()


@record
class Attribute:
    """``self.weight``, ``config.hidden_size``, ``stack.stick``: a path below one of the three documented roots."""

    root: str
    path: tuple[str, ...]
    span: Span = _span()


@record
class Keyword:
    """``name=value`` among the arguments of a call."""

    name: str
    value: Expression
    span: Span = _span()
    name_span: Span = _span()


@record
class Call:
    """``function(args, name=value)``. ``function`` may be dotted (``aten.pow.Tensor_Scalar``)."""

    function: str
    args: tuple[Expression, ...]
    keywords: tuple[Keyword, ...] = ()
    span: Span = _span()
    function_span: Span = _span()


@record
class ListExpression:
    """``[a, b]``."""

    items: tuple[Expression, ...]
    span: Span = _span()


@record
class Index:
    """``base[index]``: one output of a multi-output op, or one item of a list."""

    base: Expression
    index: Expression
    span: Span = _span()


@record
class Unary:
    """``-x``, ``+x`` or ``not x``; ``operator`` is ``-``, ``+`` or ``not``."""

    operator: str
    operand: Expression
    span: Span = _span()


@record
class Binary:
    """Arithmetic; ``operator`` is one of ``+ - * / // % ** @``."""

    operator: str
    left: Expression
    right: Expression
    span: Span = _span()


@record
class Compare:
    """One comparison (``< <= > >= == != in`` or ``not in``); a chain ``a < b < c`` is parsed into ``and``."""

    operator: str
    left: Expression
    right: Expression
    span: Span = _span()


@record
class Logical:
    """``a and b`` / ``a or b``; short-circuiting."""

    operator: str
    left: Expression
    right: Expression
    span: Span = _span()


@record
class Conditional:
    """``then if condition else otherwise``."""

    condition: Expression
    then: Expression
    otherwise: Expression
    span: Span = _span()


@record
class Broken:
    """Stands where text could not be parsed; its diagnostic was already given, so checks pass over it."""

    span: Span = _span()


Expression = Union[
    Number, String, Boolean, NoneLiteral, Capture, Wildcard, Name, Attribute, Call, ListExpression, Index,
    Unary, Binary, Compare, Logical, Conditional, Broken,
]  # fmt: skip


@record
class Binding:
    """``let name = value``."""

    name: str
    value: Expression
    span: Span = _span()
    name_span: Span = _span()


@record
class Program:
    """A ``forward`` program: bindings in order, then what is returned (several values make a tuple)."""

    bindings: tuple[Binding, ...]
    results: tuple[Expression, ...]
    span: Span = _span()


OPERATOR_OPS = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floor_divide", "%": "remainder", "**": "pow", "@": "matmul",
}  # fmt: skip
"""The torch op that each arithmetic operator stands for when an operand is a tensor."""

COMPARE_OPS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
"""The torch op that each comparison stands for when an operand is a tensor."""


def children(node: Expression) -> tuple[Expression, ...]:
    """The direct subexpressions of ``node``, in source order."""
    match node:
        case Call():
            return (*node.args, *(keyword.value for keyword in node.keywords))
        case ListExpression():
            return node.items
        case Index():
            return (node.base, node.index)
        case Unary():
            return (node.operand,)
        case Binary() | Compare() | Logical():
            return (node.left, node.right)
        case Conditional():
            return (node.then, node.condition, node.otherwise)
        case _:
            return ()


def walk(node: Expression) -> Iterator[Expression]:
    """``node`` and all its descendants, parents first."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(children(current)))


def captures(node: Expression) -> list[Capture]:
    """Every occurrence of a capture in ``node``, in source order."""
    return [found for found in walk(node) if isinstance(found, Capture)]
