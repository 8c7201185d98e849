"""Which rules a rule can set off.

*One rule can set off another* where an op of its result, or its result seen from a consumer, takes part in a
match of the other's pattern, and scopes and guards do not rule that out. What a guard says of the result is worked
out, for every way in which commutative operands can be paired: after ``pad_last($q, round_up(d, 64))`` the guard
``size($q, -1) % stack.stick != 0`` is false.

A match that a rule only leaves standing is none that it sets off: where the other rule matched the whole pattern before
and matches one op of the result after, under the same guards, no match has been added.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from spyre_dsl.language.canonical_values import as_matched
from spyre_dsl.language.guards import satisfiable
from spyre_dsl.language.rule_terms import RuleTerms, all_variables
from spyre_dsl.language.scopes import scopes_disjoint
from spyre_dsl.language.term_index import TermIndex, demands
from spyre_dsl.language.terms import App, Composite, Term, Var, substitute, subterms, uncopied
from spyre_dsl.language.unification import GUARD_STEPS, Effort, expanded, generalizations, unifier, unifiers
from spyre_dsl.language.values import reduced

MAX_WAYS: Final = 16
"""In how many ways a pattern may match before guards are no longer looked at in each: they are taken to hold."""


class Triggers:
    """The rules of a set, indexed by what they look for. Their results are not None."""

    def __init__(self, rules: Sequence[RuleTerms], effort: Effort) -> None:
        self._effort = effort
        self._roots = TermIndex[RuleTerms]()
        self._insides = TermIndex[tuple[RuleTerms, App]]()
        self._nested: list[tuple[RuleTerms, App]] = []
        looked_for = {outermost.op for rule in rules if isinstance(outermost := _outermost(rule), App)}
        for rule in rules:
            self._roots.add(rule.demands, rule)
            for part in list(subterms(rule.pattern))[1:]:
                if isinstance(part, App):
                    self._nested.append((rule, part))
                    if part.op in looked_for:
                        self._insides.add(demands(part), (rule, part))

    def set_off_by(self, rule: RuleTerms, *, guarded: bool) -> list[RuleTerms]:
        """The rules that ``rule`` can set off; where guards are not looked at, these and maybe others."""
        return list(self._set_off(rule, guarded))

    def _set_off(self, rule: RuleTerms, guarded: bool) -> Iterator[RuleTerms]:
        assert rule.result is not None
        done: set[int] = set()
        for other, inside in self._consumers(rule):
            if other.number not in done and self._can_match(rule, rule.result, other, inside, guarded):
                done.add(other.number)
                yield other
        matched: dict[RuleTerms, list[App]] = defaultdict(list)
        for made in _made(rule.result):
            for other in self._roots.candidates(demands(made)) if self._roots.has_root(made.op) else ():
                if other.number not in done and self._can_match(rule, made, other, other.pattern, guarded):
                    matched[other].append(made)
        for other, places in matched.items():
            if not (len(places) == 1 and _left_standing(rule, places[0], other, self._effort)):
                yield other

    def _consumers(self, rule: RuleTerms) -> Sequence[tuple[RuleTerms, App]]:
        """The parts of patterns, below their roots, that may match all that ``rule`` puts in the pattern's place."""
        outermost = _outermost(rule)
        if isinstance(outermost, App):
            known = self._insides.has_root(outermost.op)
            return self._insides.candidates(demands(outermost)) if known else ()
        return self._nested if isinstance(outermost, Var) else ()

    def _can_match(self, rule: RuleTerms, made: Term, other: RuleTerms, wanted: Term, guarded: bool) -> bool:
        """Whether ``other`` may match with ``wanted``, a part of its pattern, at something that ``rule`` has made."""
        effort = self._effort
        if effort.exhausted or scopes_disjoint(rule, other):
            return False
        guards = (*other.guards, *other.implied)
        if rule is other:
            names: dict[str, Term] = {
                name: Var(name + "'") for term in (other.pattern, *guards) for name in all_variables(term)
            }
            wanted = substitute(wanted, names)
            guards = tuple(substitute(guard, names) for guard in guards)
        if not other.guards or not guarded:
            return unifier(wanted, made, effort) is not None
        conditions = (*guards, *rule.guards, *rule.implied)
        ways = list(islice(unifiers(wanted, made, effort), MAX_WAYS + 1))
        return len(ways) > MAX_WAYS or any(self._may_hold(conditions, as_matched(way, wanted, made)) for way in ways)

    def _may_hold(self, conditions: Sequence[Term], names: Mapping[str, Term]) -> bool:
        """Whether conditions may hold together where captures stand for what ``names`` says."""
        self._effort.spend(GUARD_STEPS * len(conditions))
        return satisfiable([substitute(condition, names) for condition in conditions])


def _outermost(rule: RuleTerms) -> Term | None:
    """The outermost op that a rule puts in the place of its pattern, or what else it puts there; None: a constant."""
    assert rule.result is not None
    return expanded(uncopied(rule.result))


def _left_standing(rule: RuleTerms, made: App, other: RuleTerms, effort: Effort) -> bool:
    """Whether ``other`` matches at ``made`` exactly if it matched where ``rule`` did."""
    if other is rule:
        return False
    before, after = _held(other, rule.pattern, effort), _held(other, made, effort)
    return bool(before) and 0 < len(after) <= MAX_WAYS and all(held in before for held in after)


def _held(rule: RuleTerms, term: Term, effort: Effort) -> list[list[Term]]:
    """The guards of a rule that matches all that ``term`` does, for each way in which it does: more than ``MAX_WAYS``
    are not all given."""
    ways = islice(generalizations(rule.pattern, term, effort), MAX_WAYS + 1)
    names = [as_matched(way, rule.pattern) for way in ways]
    return [[reduced(substitute(guard, held)) for guard in rule.guards] for held in names]


def _made(result: Term) -> Iterator[App]:
    """The ops that a result brings into the graph, those inside composites included."""
    for part in subterms(result):
        if isinstance(part, App):
            yield part
        elif isinstance(part, Composite):
            outer = expanded(part)
            while isinstance(outer, App):
                yield outer
                outer = outer.args[0] if outer.args and outer.args[0] != part.args[0] else None
