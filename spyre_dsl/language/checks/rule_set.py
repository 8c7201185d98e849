"""Rules together: which want the same node, and whether rewriting comes to an end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spyre_dsl.language.checks.examined import Examined
from spyre_dsl.language.checks.registry import set_check
from spyre_dsl.language.checks.view import EMPTY_SOURCE
from spyre_dsl.language.codes import diagnose
from spyre_dsl.language.diagnostics import Diagnostic, Related
from spyre_dsl.language.overlap import Overlap, hidden, overlaps
from spyre_dsl.language.rule_terms import RuleTerms
from spyre_dsl.language.source import Source
from spyre_dsl.language.syntax import Span
from spyre_dsl.language.termination import cycles
from spyre_dsl.language.terms import size_of
from spyre_dsl.language.unification import Effort

STEPS = 40_000
"""How many steps each comparison may take, whatever the number of rules; about a tenth of a second."""

STEPS_PER_RULE = 250


@set_check("SD401", "SD402", "SD403", "SD404", "SD405")
def check_rules_together(files: Sequence[Examined]) -> Iterator[Diagnostic]:
    """Overlaps, rules that never get their turn, and rewriting that never ends."""
    rules = [rule for file in files for rule in file.rules]
    efforts = [Effort(STEPS + STEPS_PER_RULE * len(rules)) for _ in range(3)]
    for overlap in overlaps(rules, efforts[0]):
        yield _overlap(overlap)
    for winner, loser in hidden(rules, efforts[1]):
        yield _hidden(winner, loser)
    for cycle in cycles(rules, effort=efforts[2]):
        yield _cycle(cycle)
    if any(effort.exhausted for effort in efforts):
        yield _gave_up(rules)


def _gave_up(rules: Sequence[RuleTerms]) -> Diagnostic:
    """One warning, at the rule with the largest pattern."""
    usable = [rule for rule in rules if rule.usable]
    largest = max(usable, key=lambda rule: size_of(rule.pattern))
    counted = "this rule could not be compared with itself" if len(usable) == 1 else "not all rules could be compared"
    message = f"{counted}: there are too many ways to match them"
    label = "the largest pattern is this one"
    return diagnose("SD405", message, _source(largest), _place(largest), label=label)


def _overlap(overlap: Overlap) -> Diagnostic:
    earlier, later = overlap.earlier, overlap.later
    other = _name_from(earlier, later)
    related = (Related("the other rule", _source(earlier), _place(earlier)),)
    if overlap.witness is None:
        message = f"this rule and {other} change the same modules, and nothing says which goes first"
    else:
        from spyre_dsl.language.printing import show  # needed only where there is something to report
        from spyre_dsl.language.witness import expression_of

        witness = show(expression_of(overlap.witness))
        message = f"this rule and {other} both match `{witness}`, and nothing says which goes first"
    label = "give one of them a `priority`, or guards that exclude each other"
    return diagnose("SD402", message, _source(later), _place(later), label=label, related=related)


def _hidden(winner: RuleTerms, loser: RuleTerms) -> Diagnostic:
    related = (Related("the rule that goes first", _source(winner), _place(winner)),)
    message = (
        f"this rule never gets its turn: {_name_from(winner, loser)} matches wherever it does, "
        f"and has the higher priority ({winner.rule.priority} against {loser.rule.priority})"
    )
    return diagnose("SD404", message, _source(loser), _place(loser), label="lower that priority", related=related)


def _cycle(cycle: tuple[RuleTerms, ...]) -> Diagnostic:
    first = cycle[0]
    if len(cycle) == 1:
        message = "the rewrite contains what the rule matches, so the rule would apply to its own result forever"
        label = "add a guard that is false for the result"
        return diagnose("SD401", message, _source(first), _place(first), label=label)
    names = " -> ".join(f"`{rule.name}`" for rule in (*cycle, first))
    message = f"these rules undo each other, so rewriting would never end: {names}"
    related = tuple(Related(f"`{rule.name}`", _source(rule), _place(rule)) for rule in cycle[1:])
    label = "drop one of them, or add guards that keep it from the other's result"
    return diagnose("SD403", message, _source(first), _place(first), label=label, related=related)


def _name_from(rule: RuleTerms, other: RuleTerms) -> str:
    """How a message about ``other`` calls ``rule``: by its bare name in the same file, with its adapter's otherwise."""
    return f"`{rule.rule.name}`" if rule.adapter is other.adapter else f"`{rule.name}`"


def _source(rule: RuleTerms) -> Source:
    return rule.adapter.source or EMPTY_SOURCE


def _place(rule: RuleTerms) -> Span:
    """Where to point: at the pattern, or the module glob, which is what is wrong about the rule."""
    match = rule.rule.match
    if match.op is not None:
        return match.op.span
    return match.module_span if match.module is not None else rule.rule.name_span
