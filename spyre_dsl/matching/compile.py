"""From the expression under ``match: op:`` to a compiled pattern."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from spyre_dsl.graphs.arguments import DIM_PARAMETERS
from spyre_dsl.language.diagnostics import SpyreDslError
from spyre_dsl.language.functions import DTYPES, FUNCTIONS
from spyre_dsl.language.syntax import (
    COMPARE_OPS,
    OPERATOR_OPS,
    Attribute,
    Binary,
    Boolean,
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
    Span,
    String,
    Unary,
    Wildcard,
)
from spyre_dsl.language.vocabulary import OPS, BindingProblem, Op, Parameter, bind, find_op
from spyre_dsl.matching.canonical_words import ANYTHING, in_canonical_words
from spyre_dsl.matching.patterns import EitherPattern, ItemPattern, ListPattern, OpPattern, Pattern
from spyre_dsl.matching.single_patterns import (
    AnyPattern,
    CapturePattern,
    ComputedPattern,
    DefaultPattern,
    EndPattern,
    LiteralPattern,
    SectionsPattern,
)

SIZE_PARAMETERS = frozenset({"shape", "size", "sizes"})
"""Parameters in which -1 means "whatever is left"."""

SPREADING_PARAMETERS = frozenset({"stride", "padding", "dilation", "kernel_size", "output_size"})
"""Parameters in which one number may stand for one per dimension."""


class PatternError(SpyreDslError):
    """An expression that is no pattern; the checks of ``lint`` find these first. ``span`` is the part at fault."""

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.span = span


def compile_pattern(expression: Expression) -> Pattern:
    """The pattern of a rule's ``match.op``. Raises PatternError for what cannot be the root of a pattern."""
    pattern = _compile(expression, ANYTHING)
    if isinstance(pattern, EitherPattern):
        pattern = pattern.op
    if not isinstance(pattern, (OpPattern, ItemPattern)):
        raise PatternError("a pattern starts with an op", expression.span)
    return pattern


def _compile(expression: Expression, parameter: Parameter) -> Pattern:
    span = expression.span
    match expression:
        case Wildcard():
            return AnyPattern(span)
        case Capture():
            return CapturePattern(span, expression.name)
        case Number() | String() | Boolean():
            return _literal(expression.value, parameter, span)
        case NoneLiteral():
            return LiteralPattern(span, None)
        case ListExpression():
            return ListPattern(span, tuple(_compile(item, parameter) for item in expression.items))
        case Name():
            return _name(expression, parameter)
        case Index():
            return _item(expression)
        case Call():
            return _call(expression, parameter)
        case Unary():
            return _unary(expression, parameter)
        case Binary():
            return _operator(
                expression, OPERATOR_OPS[expression.operator], (expression.left, expression.right), parameter
            )
        case Compare() if expression.operator in COMPARE_OPS:
            return _operator(
                expression, COMPARE_OPS[expression.operator], (expression.left, expression.right), parameter
            )
        case Attribute() | Compare() | Logical() | Conditional():
            return _computed(expression, parameter)
    raise PatternError("this cannot be part of a pattern", span)


def _literal(value: Any, parameter: Parameter, span: Span) -> Pattern:
    if parameter.name in SIZE_PARAMETERS and value == -1:
        return AnyPattern(span)
    return LiteralPattern(span, value, parameter.name in DIM_PARAMETERS, parameter.name in SPREADING_PARAMETERS)


def _name(expression: Name, parameter: Parameter) -> Pattern:
    if expression.name == "end" and parameter.name == "end":
        return EndPattern(expression.span)
    if expression.name in DTYPES:
        return LiteralPattern(expression.span, expression.name)
    raise PatternError(f"nothing is called `{expression.name}` in a pattern", expression.span)


def _computed(expression: Expression, parameter: Parameter) -> ComputedPattern:
    return ComputedPattern(expression.span, expression, parameter.name in DIM_PARAMETERS)


def _item(expression: Index) -> Pattern:
    base = _compile(expression.base, ANYTHING)
    if isinstance(base, (OpPattern, CapturePattern, AnyPattern)):
        return ItemPattern(expression.span, base, _compile(expression.index, ANYTHING))
    return _computed(expression, ANYTHING)


def _unary(expression: Unary, parameter: Parameter) -> Pattern:
    operand = expression.operand
    if isinstance(operand, Number) and expression.operator in "+-":
        return _literal(-operand.value if expression.operator == "-" else operand.value, parameter, expression.span)
    if expression.operator == "+":
        return _compile(operand, parameter)
    name = "neg" if expression.operator == "-" else "logical_not"
    return _operator(expression, name, (operand,), parameter)


def _operator(expression: Expression, name: str, operands: tuple[Expression, ...], parameter: Parameter) -> Pattern:
    """An operator on tensors is an op, on numbers arithmetic; where that is not plain, the matched value decides."""
    computed = _computed(expression, parameter)
    if all(_is_host(operand) for operand in operands):
        return computed
    op = _op(OPS[name], None, operands, (), expression.span)
    if parameter.kind in ("tensor", "tensors") or any(map(_is_tensor, operands)):
        return op
    return EitherPattern(expression.span, op, computed)


def _is_tensor(expression: Expression) -> bool:
    """Whether an expression can only be a tensor: it is the result of an op."""
    match expression:
        case Call():
            return find_op(expression.function) is not None
        case Binary():
            return expression.operator == "@" or _is_tensor(expression.left) or _is_tensor(expression.right)
        case Unary():
            return _is_tensor(expression.operand)
        case Index():
            return _is_tensor(expression.base)
    return False


def _is_host(expression: Expression) -> bool:
    """Whether an expression can only be a number, a string or a list: it names no op and no bare capture."""
    match expression:
        case Capture() | Wildcard():
            return False
        case Call():
            return find_op(expression.function) is None and expression.function in FUNCTIONS
        case Binary() | Compare() | Logical():
            return _is_host(expression.left) and _is_host(expression.right)
        case Unary():
            return _is_host(expression.operand)
        case Index():
            return _is_host(expression.base)
        case ListExpression():
            return all(map(_is_host, expression.items))
        case Conditional():
            return _is_host(expression.then) and _is_host(expression.otherwise)
    return True


def _call(expression: Call, parameter: Parameter) -> Pattern:
    op = find_op(expression.function)
    keywords = tuple((keyword.name, keyword.value) for keyword in expression.keywords)
    if op is not None:
        exact = expression.function if expression.function.count(".") == 2 else None
        return _op(op, exact, expression.args, keywords, expression.span)
    if expression.function in FUNCTIONS:
        return _computed(expression, parameter)
    if expression.function.count(".") == 2:
        arguments = (*expression.args, *(value for _, value in keywords))
        parts = tuple(_compile(argument, ANYTHING) for argument in arguments)
        return OpPattern(expression.span, expression.function, expression.function, parts)
    raise PatternError(f"unknown op `{expression.function}`", expression.span)


def _op(
    op: Op,
    overload: str | None,
    positional: tuple[Expression, ...],
    keywords: tuple[tuple[str, Expression], ...],
    span: Span,
) -> Pattern:
    given = bind(op, positional, keywords)
    if isinstance(given, BindingProblem):
        raise PatternError(f"{op.signature()}: the arguments do not fit ({given.kind} {given.name})".rstrip(), span)
    same = in_canonical_words(op.name, given, span, _compile)
    if same is not None:
        return replace(same, overload=overload) if isinstance(same, OpPattern) else same
    arguments = tuple(_argument(parameter, given, span) for parameter in op.parameters)
    others_left_out = all(
        parameter.name not in given or _is_default(parameter, given) for parameter in op.parameters[2:]
    )
    swap = (1, 2) if op.name == "transpose" else (0, 1) if op.commutative and others_left_out else None
    return OpPattern(span, op.name, overload, arguments, swap)


def _argument(parameter: Parameter, given: Mapping[str, Expression], span: Span) -> Pattern:
    if parameter.name in given:
        expression = given[parameter.name]
        if parameter.name == "split_size_or_sections" and isinstance(expression, Number):
            return SectionsPattern(expression.span, int(expression.value))
        return _compile(expression, parameter)
    is_dim, spreads = parameter.name in DIM_PARAMETERS, parameter.name in SPREADING_PARAMETERS
    return DefaultPattern(span, parameter.default, is_dim, spreads, parameter.name)


def _is_default(parameter: Parameter, given: Mapping[str, Expression]) -> bool:
    expression = given[parameter.name]
    return isinstance(expression, Number) and bool(expression.value == parameter.default)
