"""What each reduction of the grammar makes: the nodes of the syntax tree.

A function takes the values of the parts (the token, for a terminal) and the start and end of the whole in the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isinf
from typing import Any

from spyre_dsl.language.automaton import Action, Token
from spyre_dsl.language.syntax import (
    Attribute,
    Binary,
    Binding,
    Boolean,
    Call,
    Capture,
    Compare,
    Conditional,
    Expression,
    Index,
    Keyword,
    ListExpression,
    Logical,
    Name,
    NoneLiteral,
    Number,
    Program,
    Span,
    String,
    Unary,
    Wildcard,
)  # fmt: skip

MAX_DIGITS = 40
"""The longest number, in characters."""

ROOTS = ("self", "config", "stack")
"""The roots of attribute paths."""

ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "'": "'"}
"""The escapes that a string in an expression knows."""


class SyntaxProblem(Exception):
    """A text that is no expression: where in the file, what is wrong, and what would mend it.

    ``limit`` says that the text may well be one, but is too long or too deep; ``unfinished`` that it ends too early.
    """

    def __init__(
        self, span: Span, message: str, label: str = "", suggestion: str | None = None, *, limit: bool = False,
        unfinished: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.span = span
        self.message = message
        self.label = label
        self.suggestion = suggestion
        self.limit = limit
        self.unfinished = unfinished


def _binary(v: list[Any], s: int, e: int) -> Expression:
    return Binary(v[1][1], v[0], v[2], Span(s, e))


def _logical(v: list[Any], s: int, e: int) -> Expression:
    return Logical(v[1][1], v[0], v[2], Span(s, e))


def _compare(v: list[Any], s: int, e: int) -> Expression:
    return Compare(v[1][1], v[0], v[2], Span(s, e))


def _not_in(v: list[Any], s: int, e: int) -> Token:
    return ("NOT_IN", "not in", s, e)


def _compare_further(v: list[Any], s: int, e: int) -> Expression:
    """``a < b`` followed by ``< c`` is ``a < b and b < c``."""
    chain: Logical | Compare = v[0]
    last = chain.right if isinstance(chain, Logical) else chain
    assert isinstance(last, Compare)
    middle = last.right
    further = Compare(v[1][1], middle, v[2], Span(middle.span.start, e))
    return Logical("and", chain, further, Span(s, e))


def _unary(v: list[Any], s: int, e: int) -> Expression:
    """A minus before a literal becomes part of it, so that ``-1`` is a number everywhere."""
    operator, operand = v[0][1], v[1]
    if operator == "-" and isinstance(operand, Number) and operand.value >= 0:
        return Number(-operand.value, Span(s, e))
    return Unary(operator, operand, Span(s, e))


def _conditional(v: list[Any], s: int, e: int) -> Expression:
    return Conditional(v[2], v[0], v[4], Span(s, e))


def _index(v: list[Any], s: int, e: int) -> Expression:
    return Index(v[0], v[2], Span(s, e))


def _number(v: list[Any], s: int, e: int) -> Expression:
    text = v[0][1]
    if len(text) > MAX_DIGITS:
        raise SyntaxProblem(Span(s, e), f"a number has at most {MAX_DIGITS} characters", "too long", limit=True)
    if text.isdigit():
        return Number(int(text), Span(s, e))
    value = float(text)
    if isinf(value):
        raise SyntaxProblem(Span(s, e), f"`{text}` is too large for a float64", "infinity is written `inf`", limit=True)
    return Number(value, Span(s, e))


def _string(v: list[Any], s: int, e: int) -> Expression:
    body = v[0][1][1:-1]
    if "\\" not in body:
        return String(body, Span(s, e))
    pieces: list[str] = []
    characters = iter(body)
    for character in characters:
        if character == "\\":
            escaped = next(characters)
            if escaped not in ESCAPES:
                message = f"unknown escape `\\{escaped}` in a string"
                raise SyntaxProblem(Span(s, e), message, "known are \\n \\t \\\\ \\\" \\'")
            character = ESCAPES[escaped]
        pieces.append(character)
    return String("".join(pieces), Span(s, e))


def _dotted(v: list[Any], s: int, e: int) -> Expression:
    text = v[0][1]
    root, *path = text.split(".")
    if root in ROOTS:
        return Attribute(root, tuple(path), Span(s, e))
    if root == "torch":
        raise SyntaxProblem(Span(s, e), f"`{text}` is written without `torch.`", f"write `{path[-1]}`", path[-1])
    raise _no_attribute(text, Span(s, e))


def _no_attribute(text: str, span: Span) -> SyntaxProblem:
    from spyre_dsl.language.suggest import nearest  # only needed when something is wrong

    root, _, path = text.partition(".")
    message = f"`{text}` is not a value: only self, config and stack have attributes"
    meant = nearest(root, ROOTS)
    if meant is not None:
        return SyntaxProblem(span, message, f"did you mean `{meant}.{path}`?", f"{meant}.{path}")
    return SyntaxProblem(span, message, "a dotted name is otherwise a function and needs its arguments in parentheses")


def _call(v: list[Any], s: int, e: int) -> Expression:
    args: list[Expression] = []
    keywords: list[Keyword] = []
    for part in v[2] if len(v) == 4 else ():
        if isinstance(part, Keyword):
            if any(part.name == other.name for other in keywords):
                raise SyntaxProblem(part.name_span, f"argument `{part.name}` is given twice", "the second time")
            keywords.append(part)
        elif keywords:
            message = "an argument without a name cannot follow one with a name"
            raise SyntaxProblem(part.span, message, f"move it before `{keywords[0].name}=`, or name it")
        else:
            args.append(part)
    _, function, start, end = v[0]
    return Call(function, tuple(args), tuple(keywords), Span(s, e), Span(start, end))


def call_of(v: Sequence[Any], s: int, e: int) -> Expression:
    """A call without keywords, from its function and its arguments alone."""
    _, function, start, end = v[0]
    return Call(function, tuple(v[1:]), (), Span(s, e), Span(start, end))


def _keyword(v: list[Any], s: int, e: int) -> Keyword:
    _, name, start, end = v[0]
    return Keyword(name, v[2], Span(s, e), Span(start, end))


def _binding(v: list[Any], s: int, e: int) -> Binding:
    _, name, start, end = v[1]
    return Binding(name, v[3], Span(s, e), Span(start, end))


def _list_of(v: list[Any]) -> list[Any]:
    """A left-recursive list: its head is a list that nobody else holds."""
    v[0].append(v[-1])
    items: list[Any] = v[0]
    return items


LISTS = frozenset({"first", "following", "following_comma", "trailing_comma"})
"""The actions that begin a list, add to it, or leave it as it is."""

ACTIONS: dict[str, Action] = {
    "binary": _binary,
    "logical": _logical,
    "compare": _compare,
    "compare_further": _compare_further,
    "not_in": _not_in,
    "unary": _unary,
    "conditional": _conditional,
    "index": _index,
    "number": _number,
    "string": _string,
    "true": lambda v, s, e: Boolean(True, Span(s, e)),
    "false": lambda v, s, e: Boolean(False, Span(s, e)),
    "none": lambda v, s, e: NoneLiteral(Span(s, e)),
    "infinity": lambda v, s, e: Number(inf, Span(s, e)),
    "capture": lambda v, s, e: Capture(v[0][1][1:], Span(s, e)),
    "wildcard": lambda v, s, e: Wildcard(Span(s, e)),
    "name": lambda v, s, e: Name(v[0][1], Span(s, e)),
    "dotted": _dotted,
    "call": _call,
    "call_without_arguments": _call,
    "empty_list": lambda v, s, e: ListExpression((), Span(s, e)),
    "list": lambda v, s, e: ListExpression(tuple(v[1]), Span(s, e)),
    "group": lambda v, s, e: v[1],
    "keyword": _keyword,
    "first": lambda v, s, e: [v[0]],
    "following": lambda v, s, e: _list_of(v),
    "following_comma": lambda v, s, e: _list_of(v),
    "trailing_comma": lambda v, s, e: v[0],
    "binding": _binding,
    "result": lambda v, s, e: v[1],
    "program": lambda v, s, e: Program(tuple(v[0]), tuple(v[1]), Span(s, e)),
    "program_without_bindings": lambda v, s, e: Program((), tuple(v[0]), Span(s, e)),
}
