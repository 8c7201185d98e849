"""What is left to decide once a pattern fits: computed arguments, scope, guards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from spyre_dsl.graphs.memory import Readers
from spyre_dsl.graphs.node import CanonicalGraph, Node, Value, nodes_in, same_value
from spyre_dsl.language.adapter import Rule
from spyre_dsl.language.syntax import Expression
from spyre_dsl.matching.attempt import Attempt
from spyre_dsl.matching.environment import Environment
from spyre_dsl.matching.evaluate import evaluate, first_failure
from spyre_dsl.matching.no_match import EvaluationProblem, NoMatch
from spyre_dsl.matching.scope import MatchContext, module_fits, scope_of


def judge(
    rule: Rule,
    root: Node,
    attempt: Attempt,
    owner: str,
    scope: list[str],
    graph: CanonicalGraph,
    context: MatchContext,
) -> NoMatch | None:
    """None if the rule applies, and then ``scope`` holds the module that ``self`` means; else the predicate that fails.

    The order is that of cost: what was written over, where it is, computed arguments, guards.
    """
    found = _overwritten(root, attempt)
    if found is not None:
        return _note(attempt, found)
    place = scope_of(rule.match, owner, context)
    if isinstance(place, NoMatch):
        return _note(attempt, place)
    scope[:] = [place]
    if not attempt.computed and not rule.match.where:
        return None
    readers = Readers(attempt.nodes, graph.values)
    environment = context.environment(place, bindings=attempt.bindings, sizes=graph.sizes, readers=readers)
    failure = _computed(attempt.computed, environment, context) or guards_fail(rule.match.where, environment)
    return _note(attempt, failure) if failure is not None else None


def module_verdict(rule: Rule, path: str, context: MatchContext) -> NoMatch | None:
    """The same for a rule without ``op`` at the module ``path``."""
    failure = module_fits(rule.match, path, context.module(path))
    if failure is not None:
        return failure
    return guards_fail(rule.match.where, context.environment(path))


def guards_fail(guards: Iterable[Expression], environment: Environment) -> NoMatch | None:
    """The first guard, or conjunct of one, that does not hold."""
    for guard in guards:
        failure = first_failure(guard, environment)
        if failure is not None:
            return failure
    return None


def _overwritten(root: Node, attempt: Attempt) -> NoMatch | None:
    """A value that the rewrite would read at the root, but that the graph has changed in place by then."""
    bound = [node for value in attempt.bindings.values() for node in nodes_in(value)]
    for node in bound:
        if node.changed_at is not None and node.changed_at < root.position:
            return NoMatch("{} is changed in place before {} is computed", (node, root), actual=node)
    return None


def _computed(
    parts: Iterable[tuple[Expression, Value, int]], environment: Environment, context: MatchContext
) -> NoMatch | None:
    for expression, actual, rank in parts:
        expected = evaluate(expression, environment)
        if isinstance(expected, EvaluationProblem):
            return expected.as_no_match()
        if rank and type(expected) is int and expected < 0:
            expected += rank
        if not _is(expected, actual, context):
            return NoMatch("expected {}, found {}", (_shown(expected), actual), expression.span, actual)
    return None


def _is(expected: Any, actual: Value, context: MatchContext) -> bool:
    if isinstance(expected, torch.Tensor):
        return isinstance(actual, Node) and actual.is_parameter and _tensor(actual.target, context) is expected
    if isinstance(actual, tuple) and not isinstance(expected, tuple):
        return len(actual) == 1 and same_value(expected, actual[0])
    return same_value(expected, actual)


def _tensor(target: str, context: MatchContext) -> torch.Tensor | None:
    path, _, name = target.rpartition(".")
    module = context.module(path)
    return getattr(module, name, None) if module is not None else None


def _shown(value: Any) -> Any:
    return f"a tensor of shape {list(value.shape)}" if isinstance(value, torch.Tensor) else value


def _note(attempt: Attempt, failure: NoMatch) -> NoMatch:
    attempt.held += 1 + failure.score
    attempt.fail(failure.template, failure.arguments, failure.span, failure.actual)
    attempt.held -= 1 + failure.score
    return failure
