"""What a plan reports about rules that fired less or more often than their authors said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from spyre_dsl.language.counting import counted
from spyre_dsl.language.syntax import Span
from spyre_dsl.matching.evaluate import evaluate
from spyre_dsl.matching.no_match import EvaluationProblem, NoMatch
from spyre_dsl.matching.rules import CompiledRule, RuleIndex
from spyre_dsl.patching.site import Site


@dataclass(frozen=True)
class Unmatched:
    """``kind`` is ``nothing`` (``match.config`` fits the model and nothing matched), ``none``, ``too-few``,
    ``too-many`` (against ``expect.sites``), ``no-number`` (``expect.sites`` has no value for this model) or
    ``unevaluated`` (at some places all but a guard matched, and the guard had no value there)."""

    kind: str
    adapter: str
    rule: str
    found: int
    expected: int | None
    text: str

    def __str__(self) -> str:
        return f"{self.adapter}/{self.rule}: {self.text}"


def findings(index: RuleIndex, sites: Iterable[Site]) -> tuple[Unmatched, ...]:
    """What there is to say of every rule that is for this model, in file order: its count, then its guards."""
    counts = Counter((site.adapter, site.rule) for site in sites)
    found = []
    for rule in sorted(index.rules, key=lambda rule: rule.order):
        if rule.unfit is None:
            finding = _finding(rule, counts[rule.adapter.name, rule.rule.name], index)
            if finding is not None:
                found.append(finding)
            if rule.name in index.unevaluated:
                found.append(_unevaluated(rule, counts[rule.adapter.name, rule.rule.name], index))
    return tuple(found)


def _finding(rule: CompiledRule, count: int, index: RuleIndex) -> Unmatched | None:
    def made(kind: str, text: str, expected: int | None = None) -> Unmatched:
        return Unmatched(kind, rule.adapter.name, rule.rule.name, count, expected, text)

    if rule.rule.sites is None:
        if rule.rule.match.config and count == 0:
            return made("nothing", "match.config fits this model, and nothing in it matched")
        return None
    expected = evaluate(rule.rule.sites, index.context.environment())
    if isinstance(expected, EvaluationProblem):
        return made("no-number", f"expect.sites has no value for this model: {expected.text}")
    if not isinstance(expected, (int, float)) or isinstance(expected, bool):
        return made("no-number", f"expect.sites must be a number; for this model it is {expected}")
    if count == expected:
        return None
    kind = "none" if count == 0 else "too-few" if count < expected else "too-many"
    many = {
        "none": "it fires nowhere",
        "too-few": f"it fires only {count} times",
        "too-many": f"it fires {count} times",
    }
    return made(kind, f"{many[kind]}; expect.sites says {expected}", int(expected))


def _unevaluated(rule: CompiledRule, count: int, index: RuleIndex) -> Unmatched:
    """The first reason for each part of a guard, with its place in the file."""
    places = index.unevaluated[rule.name]
    first = {failure.span: failure for failure in reversed(places.values())}
    told = "; ".join(f"{failure.reason}, {_place(rule, span)}" for span, failure in sorted(first.items(), key=_start))
    text = f"could not evaluate its guard at {counted(len(places), 'place')}: {told}"
    return Unmatched("unevaluated", rule.adapter.name, rule.rule.name, count, None, text)


def _start(found: tuple[Span, NoMatch]) -> int:
    return found[0].start


def _place(rule: CompiledRule, span: Span) -> str:
    source = rule.adapter.source
    if source is None:  # an adapter that was not read from a file
        return f"{rule.adapter.name}/{rule.rule.name}"
    return source.place(span.start)
