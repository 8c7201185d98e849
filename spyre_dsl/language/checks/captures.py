"""Captures: bound where they are used, used where they are bound, and in rules only; ``_`` in patterns only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from spyre_dsl.language.adapter import OpRewrite
from spyre_dsl.language.checks.patterns import VALUES
from spyre_dsl.language.checks.registry import file_check
from spyre_dsl.language.checks.replacements import OF_MODULES
from spyre_dsl.language.checks.view import PATTERN, AdapterView, Place, RuleView
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.suggest import nearest
from spyre_dsl.language.syntax import Capture


@file_check("SD209")
def check_wildcards_and_test_captures(view: AdapterView) -> Iterator[Diagnostic]:
    """``_`` stands in patterns only; captures belong to rules, not to tests."""
    for place in view.places:
        if place.role != PATTERN:
            for wildcard in place.wildcards:
                message = f"`_` matches anything in a pattern, but it has no value to use in {place.what}"
                yield view.diagnose(
                    "SD209", message, wildcard.span, label="name it in the pattern with `$` and use that"
                )
        if place.rule is None:
            for capture in {capture.name: capture for capture in reversed(place.captures)}.values():
                message = f"`${capture.name}` is a capture, and {place.what} belongs to no match"
                known = place.names is not None and capture.name in place.names
                label = f"write `{capture.name}`" if known else "only rules have captures"
                yield view.diagnose(
                    "SD209", message, capture.span, label=label, suggestion=capture.name if known else None
                )


@file_check("SD301")
def check_unbound_captures(view: AdapterView) -> Iterator[Diagnostic]:
    """A capture that is used must be bound by the pattern; each is reported at its first use.

    A pattern that is broken, a mere value or missing is a mistake of its own, and what it would have bound is not
    known; nor is a capture that the pattern names without its dollar reported twice.
    """
    for rule in view.rules:
        if rule.pattern is not None and (rule.pattern.broken or isinstance(rule.pattern.expression, VALUES)):
            continue
        if rule.pattern is None and isinstance(rule.rule.rewrite, OpRewrite):
            continue
        reported = {name.name for name in rule.pattern.bare_names} if rule.pattern else set()
        for place in rule.places:
            for capture in place.captures:
                if capture.name not in rule.bound and capture.name not in reported:
                    reported.add(capture.name)
                    yield _unbound(view, rule, place, capture)


def _unbound(view: AdapterView, rule: RuleView, place: Place, capture: Capture) -> Diagnostic:
    message = f"`${capture.name}` is used, but the pattern does not bind it"
    if rule.pattern is None:
        message = f"`${capture.name}` is used, but the rule has no `op` pattern that could bind it"
    unused = [name for name in sorted(rule.bound)]
    near = nearest(capture.name, unused)
    if near is not None:
        return view.diagnose("SD301", message, capture.span, label=f"did you mean `${near}`?", suggestion=f"${near}")
    if place.names is not None and capture.name in place.names:
        label = f"the let is written without a dollar: `{capture.name}`"
        return view.diagnose("SD301", message, capture.span, label=label, suggestion=capture.name)
    bound = ", ".join(f"`${name}`" for name in unused)
    return view.diagnose("SD301", message, capture.span, label=f"bound are {bound}" if bound else "nothing is bound")


@file_check("SD302")
def check_unused_captures(view: AdapterView) -> Iterator[Diagnostic]:
    """A capture that is bound once and never used says less than ``_``.

    One that a misspelt name most likely means is left alone: that name is reported instead. So are all of a rule whose
    rewrite is of modules and goes with no pattern at all.
    """
    for rule in view.rules:
        if rule.pattern is None or rule.broken or type(rule.rule.rewrite) in OF_MODULES:
            continue
        counts = Counter(capture.name for place in rule.places for capture in place.captures)
        for capture in rule.pattern.captures:
            if counts[capture.name] == 1 and not _meant_elsewhere(rule, capture.name):
                message = f"`${capture.name}` is captured and never used"
                label = "write `_` to match anything"
                yield view.diagnose("SD302", message, capture.span, label=label, suggestion="_")


def _meant_elsewhere(rule: RuleView, name: str) -> bool:
    unbound = {c.name for place in rule.places for c in place.captures if c.name not in rule.bound}
    return _named_bare(rule, name) or any(nearest(other, sorted(rule.bound)) == name for other in unbound)


def _named_bare(rule: RuleView, name: str) -> bool:
    """Whether a bare name without a meaning stands where the capture was meant, which is reported on its own."""
    return any(
        bare.name == name and place.names is not None and name not in place.names
        for place in rule.places
        for bare in place.bare_names
    )
