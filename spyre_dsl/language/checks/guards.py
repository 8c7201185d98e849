"""Guards: each may hold and may fail, and all of a rule may hold together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from spyre_dsl.language.checks.division import divides_by_zero
from spyre_dsl.language.checks.registry import file_check
from spyre_dsl.language.checks.view import AdapterView, RuleView
from spyre_dsl.language.diagnostics import Diagnostic, Related
from spyre_dsl.language.guards import always, satisfiable
from spyre_dsl.language.terms import Host, Term, Terms, TooLarge


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
    guards = tuple(place for place in rule.guards if not place.broken and not divides_by_zero(place))
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
