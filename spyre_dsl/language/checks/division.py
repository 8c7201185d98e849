"""Divisions: nothing is divided by what is certain to be zero."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from spyre_dsl.language.adapter import ForwardRewrite, OpRewrite, ParametersRewrite
from spyre_dsl.language.checks.registry import file_check
from spyre_dsl.language.checks.view import PATTERN, REWRITE, TEST, AdapterView, Place
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.kinds import kind_of
from spyre_dsl.language.syntax import Attribute, Binary, Call, Capture, Expression, Number
from spyre_dsl.language.term_builder import Terms, TooLarge
from spyre_dsl.language.values import Linear, value_of
from spyre_dsl.language.vocabulary import bind, find_op

_OPERATORS: Final = frozenset({"/", "//", "%"})
_OPS: Final = frozenset({"div", "floor_divide", "remainder", "fmod"})


@file_check("SD217")
def check_divisions(view: AdapterView) -> Iterator[Diagnostic]:
    """A divisor that is zero whatever is matched. What a model divides tensors by is its own business."""
    for place in view.places:
        for divisor in _zeros(place):
            yield view.diagnose("SD217", "division by zero", divisor.span, label=_label(divisor))


def _label(divisor: Expression) -> str:
    match divisor:
        case Number():
            return "this is 0"
        case Binary(operator="**", left=Number()):
            return "zero has no negative power"
        case _:
            return "this is 0, whatever is matched"


def divides_by_zero(place: Place) -> bool:
    """Whether an expression has no value for that reason, so that nothing follows from what it says."""
    return next(_zeros(place), None) is not None


def _zeros(place: Place) -> Iterator[Expression]:
    """The divisors of an expression that are certain to be zero."""
    return (divisor for divisor, zero in _suspects(place) if zero or _is_zero(divisor, place))


def _suspects(place: Place) -> Iterator[tuple[Expression, bool]]:
    """The divisors that may be zero for all that can be seen at once, and whether they are for sure."""
    for node in place.by_type.get(Binary, ()):
        if node.operator in _OPERATORS and not _of_the_model(place, node.left):
            yield from _suspect(node.right)
        elif node.operator == "**" and isinstance(node.left, Number) and node.left.value == 0:
            if isinstance(node.right, Number) and node.right.value < 0:
                yield node, True
    for call in place.calls:
        divisor = _divisor(call, place)
        if divisor is not None:
            yield from _suspect(divisor)


def _suspect(divisor: Expression) -> Iterator[tuple[Expression, bool]]:
    if isinstance(divisor, Number):
        if divisor.value == 0:
            yield divisor, True
    elif not isinstance(divisor, (Attribute, Capture)):  # only a model knows those, but for the stick, which is not 0
        yield divisor, False


def _of_the_model(place: Place, dividend: Expression) -> bool:
    """Whether a division is one that a model computes: a pattern, or a test, says only that it does."""
    return place.role in (PATTERN, TEST) and kind_of(dividend, place.names) in ("tensor", "any")


def _divisor(call: Call, place: Place) -> Expression | None:
    """What a call divides by: ``round_up(n, 0)`` does so wherever it stands, an op only in what is computed anew."""
    if call.function == "round_up":
        named = (keyword.value for keyword in call.keywords if keyword.name == "multiple")
        return call.args[1] if len(call.args) > 1 else next(named, None)
    op = find_op(call.function) if place.role == REWRITE else None
    if op is None or op.name not in _OPS:
        return None
    bound = bind(op, call.args, [(keyword.name, keyword.value) for keyword in call.keywords])
    return bound.get("other") if isinstance(bound, dict) else None


def _is_zero(divisor: Expression, place: Place) -> bool:
    try:
        value = value_of(_lets_before(place).build(divisor, "int"))
    except (TooLarge, OverflowError):
        return False
    return isinstance(value, Linear) and value.known and value.constant == 0


def _lets_before(place: Place) -> Terms:
    """What the names in reach of an expression stand for."""
    terms = Terms()
    rewrite = place.rule.rewrite if place.rule is not None and place.role == REWRITE else None
    if isinstance(rewrite, (OpRewrite, ParametersRewrite)):
        defined = [(let.name, let.value) for let in rewrite.let]
    elif isinstance(rewrite, ForwardRewrite):
        defined = [(binding.name, binding.value) for binding in rewrite.program.bindings]
    else:
        return terms
    for name, value in defined:
        if value is place.expression:
            break
        terms.lets[name] = terms.build(value, "any")
    return terms
