"""What a plan reports about rules that fired less or more often than their authors said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from spyre_dsl.matching.evaluate import evaluate
from spyre_dsl.matching.no_match import EvaluationProblem
from spyre_dsl.matching.rules import CompiledRule, RuleIndex
from spyre_dsl.patching.site import Site


@dataclass(frozen=True)
class Unmatched:
    """``kind`` is ``nothing`` (``match.config`` fits the model and nothing matched), ``none``, ``too-few``,
    ``too-many`` (against ``expect.sites``) or ``no-number`` (``expect.sites`` has no value for this model)."""

    kind: str
    adapter: str
    rule: str
    found: int
    expected: int | None
    text: str

    def __str__(self) -> str:
        return f"{self.adapter}/{self.rule}: {self.text}"


def findings(index: RuleIndex, sites: Iterable[Site]) -> tuple[Unmatched, ...]:
    """One finding at most for every rule that is for this model, in file order."""
    counts = Counter((site.adapter, site.rule) for site in sites)
    found = []
    for rule in sorted(index.rules, key=lambda rule: rule.order):
        if rule.unfit is None:
            finding = _finding(rule, counts[rule.adapter.name, rule.rule.name], index)
            if finding is not None:
                found.append(finding)
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
