"""Rules that want the same node with nothing to say which goes first.

Two rules overlap where their patterns unify at the root: some expression, the witness, is matched by both. That is
settled where one rule is strictly narrower (its pattern is an instance of the other's, or the patterns are equivalent
and it has all the other's conditions and more), where priorities differ, where scopes or guards show that
both never hold in one place, or where both only place what they match on the host.

A pattern whose root matches *inside* another pattern is no conflict: the pattern that holds the other is the larger
one and goes first, as the more specific match always does. Only a priority can turn that around; a rule that for this
reason never gets its turn is found by :func:`hidden`.

Pairs are looked for through an index, so that a thousand rules do not mean half a million unifications.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence

from spyre_dsl.language.adapter import AttributesRewrite, ConfigRewrite, ForwardRewrite, ParametersRewrite, PlaceRewrite
from spyre_dsl.language.records import record
from spyre_dsl.language.rule_terms import FirstOfEach, RuleTerms
from spyre_dsl.language.scopes import guards_disjoint, narrower, ordered, scopes_disjoint
from spyre_dsl.language.term_index import TermIndex, anything
from spyre_dsl.language.terms import App, Term, substitute, subterms
from spyre_dsl.language.unification import GUARD_STEPS, Effort, generalizes, unifier

MAX_EFFORT = 1_000_000
"""How many steps a comparison of rules takes if nobody says how many."""

MAX_PER_RULE = 3
"""How many overlaps of one rule are reported; mending those usually mends the others."""


@record
class Overlap:
    """Two rules, ``later`` after ``earlier`` in file order, and an expression that both match (None: a module)."""

    earlier: RuleTerms
    later: RuleTerms
    witness: Term | None


def overlaps(rules: Sequence[RuleTerms], effort: Effort | None = None) -> Iterator[Overlap]:
    """Every unsettled overlap, at most ``MAX_PER_RULE`` for each rule, in file order of the later rule.

    Once ``effort`` is exhausted, no further rules are compared.
    """
    effort = effort or Effort(MAX_EFFORT)
    index = TermIndex[RuleTerms]()
    first = FirstOfEach()
    for rule in rules:
        if not rule.usable:
            continue
        assert isinstance(rule.pattern, App)
        twin = first.find(rule)
        if twin is not rule:
            yield Overlap(twin, rule, rule.pattern)
            continue
        found = 0
        demanded = _config_demands(rule)
        for other in index.candidates(rule.demands, demanded):
            witness = _witness(other, rule, effort)
            if effort.exhausted:
                return
            if witness is not None and not _same_effect(other, rule) and not ordered(other, rule, effort):
                yield Overlap(other, rule, witness)
                found += 1
                if found == MAX_PER_RULE:
                    break
        index.add(rule.demands, rule, demanded)
    yield from _module_overlaps(rules)


def _config_demands(rule: RuleTerms) -> dict[Hashable, Sequence[Hashable]]:
    """The model types that a rule is for: the scope by which rules of one op most often differ."""
    for clause in rule.rule.match.config:
        if clause.key == "model_type" and clause.values and all(isinstance(value, str) for value in clause.values):
            return {"model_type": clause.values}
    return {"model_type": anything()}


def _same_effect(a: RuleTerms, b: RuleTerms) -> bool:
    """Whether it makes no difference which rule goes first: running something on the host twice is running it there."""
    return isinstance(a.rule.rewrite, PlaceRewrite) and isinstance(b.rule.rewrite, PlaceRewrite)


def _witness(a: RuleTerms, b: RuleTerms, effort: Effort) -> Term | None:
    """An expression that both rules match, or None where their scopes, patterns or guards keep them apart."""
    if scopes_disjoint(a, b):
        return None
    common = unifier(a.pattern, b.pattern, effort)
    if common is not None and a.guards and b.guards:
        effort.spend(GUARD_STEPS * (len(a.guards) + len(b.guards)))
    if common is None or guards_disjoint(a, b, common):
        return None
    return substitute(b.pattern, common)


def _module_overlaps(rules: Sequence[RuleTerms]) -> Iterator[Overlap]:
    """Rules that replace the same forward, parameter, attribute or config key of the same modules."""
    targets: dict[Hashable, list[RuleTerms]] = defaultdict(list)
    for rule in rules:
        if rule.rule.match.op is not None:
            continue
        reported = False
        for target in _targets(rule):
            for other in targets[target]:
                if not reported and not scopes_disjoint(other, rule) and not ordered(other, rule):
                    yield Overlap(other, rule, None)
                    reported = True
            targets[target].append(rule)


def _targets(rule: RuleTerms) -> list[Hashable]:
    rewrite = rule.rule.rewrite
    if isinstance(rewrite, ForwardRewrite):
        return ["forward"]
    if isinstance(rewrite, (ParametersRewrite, AttributesRewrite, ConfigRewrite)):
        return [(type(rewrite).__name__, value.name) for value in rewrite.values]
    return []


def hidden(rules: Sequence[RuleTerms], effort: Effort | None = None) -> Iterator[tuple[RuleTerms, RuleTerms]]:
    """Pairs ``(winner, loser)``: wherever the loser matches, the winner does, and its priority lets it go first.

    Looked at are the root of the loser's pattern and the ops inside it: once the winner has rewritten one of those,
    the loser no longer matches.
    """
    effort = effort or Effort(MAX_EFFORT)
    usable = [rule for rule in rules if rule.usable]
    if len({rule.rule.priority for rule in usable}) < 2:
        return
    lowest = min(rule.rule.priority for rule in usable)
    winners: dict[str, list[RuleTerms]] = defaultdict(list)
    for rule in usable:
        if rule.rule.priority > lowest and isinstance(rule.pattern, App):
            winners[rule.pattern.op].append(rule)
    for loser in usable:
        if effort.exhausted:
            return
        parts = subterms(loser.pattern)
        winner = next((w for part in parts for w in _winners_at(part, loser, winners, effort)), None)
        if winner is not None:
            yield winner, loser


def _winners_at(
    part: Term, loser: RuleTerms, winners: Mapping[str, Sequence[RuleTerms]], effort: Effort
) -> Iterator[RuleTerms]:
    for winner in winners.get(part.op, ()) if isinstance(part, App) else ():
        if winner.rule.priority > loser.rule.priority and winner is not loser:
            names = generalizes(winner.pattern, part, effort)
            if names is not None and narrower(loser, winner, names):
                yield winner
