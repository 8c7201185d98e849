"""Where rules apply, compared: can both apply in one place, and does one apply only where another does?"""

from __future__ import annotations

from collections.abc import Mapping

from spyre_dsl.language.adapter import ConfigClause
from spyre_dsl.language.globs import class_narrower, classes_intersect, path_narrower, paths_intersect
from spyre_dsl.language.guards import satisfiable
from spyre_dsl.language.rule_terms import RuleTerms, specificity
from spyre_dsl.language.terms import Host, Lit, Term, substitute
from spyre_dsl.language.unification import Effort, generalizes


def scopes_disjoint(a: RuleTerms, b: RuleTerms) -> bool:
    """Whether stacks, module, path or config tell for sure that no place fits both rules."""
    one, other = a.rule.match, b.rule.match
    if a.stacks and b.stacks and not set(a.stacks) & set(b.stacks):
        return not any("." in name or "/" in name for name in (*a.stacks, *b.stacks))  # a file's profile has any name
    if one.module is not None and other.module is not None and not classes_intersect(one.module, other.module):
        return True
    if one.path is not None and other.path is not None and not paths_intersect(one.path, other.path):
        return True
    return any(_clauses_disjoint(x, y) for x in one.config for y in other.config if x.key == y.key)


def guards_disjoint(a: RuleTerms, b: RuleTerms, common: Mapping[str, Term]) -> bool:
    """Whether the guards of both rules cannot hold together where ``common`` makes their patterns the same."""
    if not a.guards or not b.guards:
        return False
    return not satisfiable([substitute(guard, common) for guard in (*a.guards, *b.guards)])


def _clauses_disjoint(a: ConfigClause, b: ConfigClause) -> bool:
    if a.values and b.values:
        return not any(_same(x, y) for x in a.values for y in b.values)
    guards = [_clause_guard(a), _clause_guard(b)]
    return not satisfiable(guards)


def _same(a: object, b: object) -> bool:
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def _clause_guard(clause: ConfigClause) -> Term:
    key = Host(f"config.{clause.key}")
    if clause.comparison is not None:
        operator, number = clause.comparison
        return Host(operator, (key, Lit(number)))
    equal: list[Term] = [Host("==", (key, Lit(value))) for value in clause.values if _scalar(value)]
    if len(equal) < len(clause.values) or not equal:
        return Lit(True)
    guard = equal[0]
    for further in equal[1:]:
        guard = Host("or", (guard, further))
    return guard


def _scalar(value: object) -> bool:
    return value is None or isinstance(value, (int, float, str, bool))


def narrower(a: RuleTerms, b: RuleTerms, names: Mapping[str, Term]) -> bool:
    """Whether all conditions of ``b`` are among those of ``a``; ``names``: what ``a`` calls the captures of ``b``."""
    one, other = a.rule.match, b.rule.match
    guards = set(a.guards)
    if any(substitute(guard, names) not in guards for guard in b.guards):
        return False
    if other.module is not None and (one.module is None or not class_narrower(one.module, other.module)):
        return False
    if other.path is not None and (one.path is None or not path_narrower(one.path, other.path)):
        return False
    if b.stacks and (not a.stacks or not set(a.stacks) <= set(b.stacks)):
        return False
    return all(any(_implies(mine, theirs) for mine in one.config) for theirs in other.config)


def _implies(a: ConfigClause, b: ConfigClause) -> bool:
    if a.key != b.key:
        return False
    if a.values and b.values:
        return all(any(_same(x, y) for y in b.values) for x in a.values)
    if a.comparison is not None and b.comparison is not None and a.comparison == b.comparison:
        return True
    return not satisfiable([_clause_guard(a), Host("not", (_clause_guard(b),))])


def ordered(a: RuleTerms, b: RuleTerms, effort: Effort | None = None) -> bool:
    """Whether it is settled which of two rules goes first: by priority, or because one is strictly narrower.

    Only what :func:`~spyre_dsl.language.rule_terms.specificity` sees counts, since that is the order that is used.
    """
    if a.rule.priority != b.rule.priority:
        return True
    if specificity(a) == specificity(b):
        return False
    if a.rule.match.op is None or b.rule.match.op is None:
        return narrower(a, b, {}) != narrower(b, a, {})
    b_in_a = generalizes(b.pattern, a.pattern, effort)
    a_in_b = generalizes(a.pattern, b.pattern, effort)
    if b_in_a is None or a_in_b is None:
        return b_in_a is not a_in_b
    return narrower(a, b, b_in_a) != narrower(b, a, a_in_b)
