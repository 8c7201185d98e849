"""Guards: each may hold and may fail, and all of a rule may hold together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from spyre_dsl.language.checks.calls import dtype_in_quotes
from spyre_dsl.language.checks.division import divides_by_zero
from spyre_dsl.language.checks.registry import file_check
from spyre_dsl.language.checks.view import GUARD, AdapterView, Place, RuleView
from spyre_dsl.language.diagnostics import Diagnostic, Related
from spyre_dsl.language.functions import DTYPES, WORDS
from spyre_dsl.language.guards import always, satisfiable
from spyre_dsl.language.kinds import ARTICLES, kind_of
from spyre_dsl.language.syntax import Compare, Conditional, Expression, Logical, String, Unary
from spyre_dsl.language.term_builder import Terms, TooLarge
from spyre_dsl.language.terms import Host, Term


@file_check("SD304", "SD305")
def check_guards(view: AdapterView) -> Iterator[Diagnostic]:
    """A guard that never holds makes its rule dead, one that always holds is no guard.

    What can be read is judged, whatever else of the rule cannot.
    """
    for rule in view.rules:
        if rule.guards:
            yield from _check_rule(view, rule)


def _check_rule(view: AdapterView, rule: RuleView) -> Iterator[Diagnostic]:
    terms: list[Term] = []
    guards = tuple(place for place in rule.guards if _can_be_judged(place))
    for place in guards:
        try:
            term = Terms().build(place.expression, "any")
        except TooLarge:
            return
        span = place.expression.span
        possible, certain = _judge(term)
        if not possible:
            yield view.diagnose("SD304", "this guard never holds", span, label="whatever is matched, this is false")
            return
        if certain:
            label = "whatever is matched, this is true"
            yield view.diagnose("SD305", "this guard always holds", span, label=_part_that_decides(term) or label)
        terms.append(term)
        if len(terms) > 1 and not _possible(tuple(terms)):
            related = tuple(
                Related("together with this one", view.source, p.expression.span) for p in guards[: len(terms) - 1]
            )
            message = "this guard never holds together with those before it"
            yield view.diagnose("SD304", message, span, label="contradicts an earlier guard", related=related)
            return


def _can_be_judged(place: Place) -> bool:
    """Whether a guard has a value, which is true or false."""
    wrong = (_not_truths(place), _not_comparable(place))
    defined = all(name.name in WORDS for name in place.bare_names)  # a guard has no other names in reach
    sound = defined and not place.broken and not divides_by_zero(place)
    return sound and all(next(found, None) is None for found in wrong)


@file_check("SD206")
def check_truths(view: AdapterView) -> Iterator[Diagnostic]:
    """What must be true or false is: guards, ``expires``, and the parts of ``and``, ``or``, ``not`` and ``if``."""
    for place in view.places:
        for node, what in _not_truths(place):
            found = ARTICLES[kind_of(node, place.names)]
            label = (
                "compare it with something" if what != "`expires`" else 'such as stack.supports("aten.pow", float16)'
            )
            yield view.diagnose("SD206", f"{what} is true or false, not {found}", node.span, label=label)


@file_check("SD206")
def check_comparisons(view: AdapterView) -> Iterator[Diagnostic]:
    """What is compared can be: by order numbers only, for equality values of one kind."""
    for place in view.places:
        for node, message in _not_comparable(place):
            yield view.diagnose("SD206", message, node.span, label="compare it with a value of the same kind")


def _not_comparable(place: Place) -> Iterator[tuple[Expression, str]]:
    """The sides of comparisons that make them senseless, each with why."""
    for node in place.by_type.get(Compare, ()):
        left, right = kind_of(node.left, place.names), kind_of(node.right, place.names)
        if node.operator in ("<", "<=", ">", ">="):
            for side, kind in ((node.left, left), (node.right, right)):
                if kind in ("string", "quoted dtype", "dtype", "list", "none", "bool"):
                    yield side, f"`{node.operator}` compares numbers, and this is {ARTICLES[kind]}"
        elif node.operator in ("==", "!="):
            families = [_FAMILIES.get(kind, "") for kind in (left, right)]
            if all(families) and families[0] != families[1]:
                yield node.right, f"{ARTICLES[left]} is never equal to {ARTICLES[right]}"
            for side, other in ((node.left, right), (node.right, left)):
                if other == "dtype" and isinstance(side, String) and side.value not in DTYPES:
                    near = dtype_in_quotes(side)
                    hint = f"; did you mean `{near}`?" if near else ""
                    yield side, f"no dtype is called `{side.value[:60]}`{hint}"


_FAMILIES: Final = {
    "int": "number", "float": "number", "number": "number", "dtype": "word", "string": "word",
    "quoted dtype": "word", "list": "list", "bool": "truth",
}  # fmt: skip
"""Kinds whose values may be equal; a dtype is told by its name."""


def _not_truths(place: Place) -> Iterator[tuple[Expression, str]]:
    """Expressions that are to be true or false, and are of another kind, with what they are called."""
    asked: list[tuple[Expression, str]] = []
    if place.role == GUARD or place.what == "`expires`":
        asked.append((place.expression, "a guard" if place.role == GUARD else place.what))
    for node in place.by_type.get(Logical, ()):
        asked += [(side, f"each side of `{node.operator}`") for side in (node.left, node.right)]
    for node in place.by_type.get(Conditional, ()):
        asked.append((node.condition, "the condition of `if`"))
    for node in place.by_type.get(Unary, ()):
        if node.operator == "not":
            asked.append((node.operand, "what `not` turns round"))
    return (entry for entry in asked if kind_of(entry[0], place.names) not in ("bool", "any", "tensor"))


@lru_cache(maxsize=4096)
def _judge(guard: Term) -> tuple[bool, bool]:
    """Whether a guard may hold, and whether it always does; many rules have the same guards."""
    possible = satisfiable([guard])
    return possible, possible and always(guard)


@lru_cache(maxsize=4096)
def _possible(guards: tuple[Term, ...]) -> bool:
    return satisfiable(guards)


def _part_that_decides(guard: Term) -> str:
    """What to say where the two sides of a comparison are one and the same."""
    if isinstance(guard, Host) and len(guard.args) == 2 and guard.function == "==" and guard.args[0] == guard.args[1]:
        return "both sides are the same"
    return ""
