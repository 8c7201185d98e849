"""Syntax trees to text: the canonical form, with the fewest parentheses. ``parse(show(tree)) == tree``."""

from __future__ import annotations

from spyre_dsl.language.reductions import ESCAPES
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
    Keyword,
    ListExpression,
    Logical,
    Name,
    NoneLiteral,
    Number,
    Program,
    String,
    Unary,
    Wildcard,
)  # fmt: skip

CONDITIONAL, OR, AND, NOT, COMPARE, SUM, PRODUCT, FACTOR, POWER, POSTFIX, ATOM = range(11)
"""How tightly each kind of expression binds, in the order of the grammar's levels."""

_BINARY = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "//": PRODUCT, "%": PRODUCT, "@": PRODUCT, "**": POWER}
_LOGICAL = {"or": OR, "and": AND}
_ESCAPED = {value: f"\\{letter}" for letter, value in ESCAPES.items() if value != "'"}


def show(node: Expression | Program) -> str:
    """The text of an expression on one line, or of a program on several."""
    if isinstance(node, Program):
        lines = [f"let {binding.name} = {show(binding.value)}" for binding in node.bindings]
        return "\n".join([*lines, f"return {', '.join(map(show, node.results))}"])
    return _at(node, CONDITIONAL)


def _at(node: Expression, level: int) -> str:
    """The text of ``node`` where only what binds at least as tightly as ``level`` may stand bare."""
    text, own = _text(node)
    return text if own >= level else f"({text})"


def _text(node: Expression) -> tuple[str, int]:
    """The text of ``node`` and how tightly it binds."""
    match node:
        case Number(value):
            return repr(value), ATOM if str(repr(value))[0] != "-" else FACTOR
        case String(value):
            return '"' + "".join(_ESCAPED.get(character, character) for character in value) + '"', ATOM
        case Boolean(value):
            return ("true" if value else "false"), ATOM
        case NoneLiteral():
            return "none", ATOM
        case Capture(name):
            return f"${name}", ATOM
        case Wildcard():
            return "_", ATOM
        case Name(name):
            return name, ATOM
        case Attribute(root, path):
            return ".".join((root, *path)), ATOM
        case Call(function, args, keywords):
            return f"{function}({', '.join([*map(show, args), *map(_keyword, keywords)])})", ATOM
        case ListExpression(items):
            return f"[{', '.join(map(show, items))}]", ATOM
        case Index(base, index):
            return f"{_at(base, POSTFIX)}[{show(index)}]", POSTFIX
        case Unary("not", operand):
            return f"not {_at(operand, NOT)}", NOT
        case Unary(operator, operand):
            return _unary(operator, operand), FACTOR
        case Binary("**", left, right):
            return f"{_at(left, POSTFIX)} ** {_at(right, FACTOR)}", POWER
        case Binary(operator, left, right):
            level = _BINARY[operator]
            return f"{_at(left, level)} {operator} {_at(right, level + 1)}", level
        case Compare(operator, left, right):
            return f"{_at(left, SUM)} {operator} {_at(right, SUM)}", COMPARE
        case Logical(operator, left, right):
            level = _LOGICAL[operator]
            return f"{_at(left, level)} {operator} {_at(right, level + 1)}", level
        case Conditional(condition, then, otherwise):
            text = f"{_at(then, OR)} if {_at(condition, OR)} else {_at(otherwise, CONDITIONAL)}"
            return text, CONDITIONAL
        case Broken():
            return "<broken>", ATOM


def _keyword(keyword: Keyword) -> str:
    return f"{keyword.name}={show(keyword.value)}"


def _unary(operator: str, operand: Expression) -> str:
    """A minus before a bare literal would become part of it: such trees are not made by the parser."""
    return f"{operator}{_at(operand, FACTOR)}"
