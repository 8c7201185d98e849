"""Claims and tests: every rule says what it claims, and a test in the same file shows it at work."""

from __future__ import annotations

import re
from collections.abc import Iterator

from spyre_dsl.language.adapter import ForwardRewrite, OpRewrite, ParametersRewrite, Rewrite, Rule, TestCase
from spyre_dsl.language.checks.facts import place_of
from spyre_dsl.language.checks.registry import file_check
from spyre_dsl.language.checks.view import AdapterView
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.rule_terms import RuleTerms
from spyre_dsl.language.suggest import nearest
from spyre_dsl.language.syntax import Broken
from spyre_dsl.language.term_builder import Terms, TooLarge
from spyre_dsl.language.terms import Composite, Term, subterms
from spyre_dsl.language.unification import expanded, unifier

_COMPUTES = (OpRewrite, ForwardRewrite, ParametersRewrite)
"""The rewrites that replace one computation by another, so that there is something to claim."""


@file_check("SD504", "SD505", "SD506")
def check_rules_are_tested(view: AdapterView) -> Iterator[Diagnostic]:
    """Every rule fires in a test of its file; where no test lets any rule fire, that is reported once.

    Whether there is a test does not depend on how readable the rules are; which of them one tests does on their
    patterns.
    """
    adapter = view.adapter
    if not adapter.rules or view.tests_hidden:
        return
    positive = [test for test in adapter.tests if not test.unchanged]
    if not positive:
        message = "no test shows a rule of this file at work"
        label = "add one under `tests`" if not adapter.tests else "all tests expect `unchanged`"
        yield view.diagnose("SD504", message, adapter.name_span, label=label)
        return
    covered = _covered(view, positive)
    for rule in adapter.rules:
        if rule.name in covered or view.damaged(rule.match.span) or view.damaged(rule.name_span):
            continue
        if rule.math is not None:
            message = f"the claim of rule `{rule.name}` is not tested"
            label = "no test of this file lets the rule fire"
            yield view.diagnose("SD506", message, rule.math.span, label=label)
        else:
            message = f"no test lets rule `{rule.name}` fire"
            label = "add one under `tests`, or name the rule under `fires`"
            yield view.diagnose("SD505", message, rule.name_span, label=label)


@file_check("SD507")
def check_rules_claim(view: AdapterView) -> Iterator[Diagnostic]:
    """A rule that replaces a computation says how exact it is."""
    for rule in view.adapter.rules:
        if rule.math is None and _computes(rule.rewrite) and not _claim_hidden(view, rule):
            message = f"rule `{rule.name}` does not say how exact it is"
            label = "add `math: exact`, or `approximate` with a bound"
            yield view.diagnose("SD507", message, rule.name_span, label=label)


def _computes(rewrite: Rewrite) -> bool:
    """Whether a rewrite is known to replace a computation; one that could not be read at all may be of any kind."""
    if isinstance(rewrite, OpRewrite) and isinstance(rewrite.expression, Broken):
        return rewrite.expression.span != rewrite.span
    return isinstance(rewrite, _COMPUTES)


def _claim_hidden(view: AdapterView, rule: Rule) -> bool:
    """Whether the rule may have a claim that could not be read: there is the word, or a key that is not known."""
    text = view.source.text
    found = [place for place in view.damage if rule.span.holds(place)]
    if found and _CLAIM.search(text, rule.span.start, rule.span.end):
        return True
    return any(text[place.end :].lstrip("\"' ")[:1] == ":" for place in found)


_CLAIM = re.compile(r"\bmath\b")


@file_check("SD508")
def check_fired_rules_exist(view: AdapterView) -> Iterator[Diagnostic]:
    """What a test names under ``fires`` is a rule of the file."""
    names = [rule.name for rule in view.adapter.rules]
    for test in view.adapter.tests:
        for name in test.fires:
            if name not in names:
                near = nearest(name, names)
                label = f"did you mean `{near}`?" if near else f"the rules are {', '.join(f'`{n}`' for n in names)}"
                span = place_of(view, name, test.span)
                yield view.diagnose("SD508", f"unknown rule `{name}`", span, label=label, suggestion=near)


def _covered(view: AdapterView, tests: list[TestCase]) -> set[str]:
    """The rules that fire in one of the tests, as far as the file tells: where it does not, in doubt for the rule."""
    adapter = view.adapter
    if len(adapter.rules) == 1:
        return {adapter.rules[0].name}
    covered: set[str] = set()
    patterns: dict[str, Term] | None = None
    for test in tests:
        if test.fires:
            covered.update(name if (near := _meant(name, adapter.rules)) is None else near for name in test.fires)
        elif test.before is None:
            return {rule.name for rule in adapter.rules}
        else:
            patterns = patterns if patterns is not None else _patterns(view)
            found = _matching(test, patterns)
            if not found:
                return {rule.name for rule in adapter.rules}
            covered |= found
    return covered


def _meant(name: str, rules: tuple[Rule, ...]) -> str | None:
    names = [rule.name for rule in rules]
    return None if name in names else nearest(name, names)


def _patterns(view: AdapterView) -> dict[str, Term]:
    rules = (RuleTerms(view.adapter, rule, number) for number, rule in enumerate(view.adapter.rules))
    return {terms.rule.name: terms.pattern for terms in rules if terms.usable}


def _matching(test: TestCase, patterns: dict[str, Term]) -> set[str]:
    """The rules whose patterns match a part of what a test starts from."""
    assert test.before is not None
    try:
        term = Terms().build(test.before)
    except TooLarge:
        return set()
    parts = [expanded(part) if isinstance(part, Composite) else part for part in subterms(term)]
    return {
        name
        for name, pattern in patterns.items()
        if any(part is not None and unifier(pattern, part) is not None for part in parts)
    }
