"""Why a rule that a test expects does not fire: the first predicate that fails where the rule comes nearest.

The reasons are those of ``spyre_dsl.matching.explain``, on the test's model before any rule changed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from spyre_dsl.evidence.models_of_tests import TestModel
from spyre_dsl.evidence.results import place_of
from spyre_dsl.graphs.capture import capture
from spyre_dsl.language.adapter import Adapter, AdapterSet, TestCase
from spyre_dsl.matching.explain import Attempt, why

RULES: Final = 3
"""For how many rules a reason is given; where a test names none, all rules of its adapter could have been meant."""


def reasons(adapter: Adapter, case: TestCase, model: TestModel, fired: Sequence[str], stack: Any) -> tuple[str, ...]:
    """For each rule that was to fire and did not, nearest first, lines that say why.

    Raises CaptureError where the model of the test cannot be exported.
    """
    names = {each.name for each in adapter.rules}
    missing = [name for name in case.fires or sorted(names) if name in names and name not in fired]
    captured, alone = capture(model.module, (), dict(model.inputs)), AdapterSet((adapter,))
    attempts = [why(captured, alone, f"{adapter.name}/{name}", stack=stack) for name in missing]
    nearest = sorted((tried[0] for tried in attempts if tried), key=lambda attempt: -attempt.score)
    return tuple(line for attempt in nearest[:RULES] for line in _lines(attempt, case, fired))


def _lines(attempt: Attempt, case: TestCase, fired: Sequence[str]) -> list[str]:
    where = _where(attempt, case)
    if attempt.matched:
        first = f"{', '.join(fired)} changed it first" if fired else "it was changed nowhere"
        return [f"{attempt.rule} matches the model as it stands{where}, but {first}"]
    told = attempt.reason
    if attempt.actual and attempt.actual not in told:
        told += f" (found {attempt.actual})"
    place = place_of(attempt.source, attempt.span) if attempt.span is not None else ""
    predicate = [f"  {place}: {attempt.predicate}"] if place and attempt.predicate else []
    return [f"{attempt.rule} does not match{where}: {told}", *predicate]


def _where(attempt: Attempt, case: TestCase) -> str:
    """The place in the model of a module; an expression has no modules, and its source line is none of the author's."""
    if case.module is None:
        return f" at `{attempt.node.op}`" if attempt.node is not None else ""
    places = [place for place in (attempt.module_path, attempt.source_line) if place]
    return f" at {', '.join(places)}" if places else ""
