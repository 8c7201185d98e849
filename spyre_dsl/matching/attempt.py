"""The state of one attempt to match a pattern at a node."""

from __future__ import annotations

from typing import Any

from spyre_dsl.graphs.node import Node, Value
from spyre_dsl.language.syntax import NO_SPAN, Expression, Span
from spyre_dsl.matching.no_match import NoMatch

MAX_STEPS = 20_000
"""Predicates tried in one attempt before it is given up: nests of commutative ops have exponentially many orders."""


class Attempt:
    """Bindings, matched nodes and parts to be computed later, with the failure that came furthest.

    Patterns append while they match and take back what they appended before they try another way.
    """

    __slots__ = ("bindings", "bound", "nodes", "computed", "held", "steps", "best", "_failure")

    def __init__(self) -> None:
        self.bindings: dict[str, Value] = {}
        self.bound: list[str | None] = []
        self.nodes: list[Node] = []
        self.computed: list[tuple[Expression, Value, int]] = []
        self.held = 0
        self.steps = 0
        self.best = -1
        self._failure: tuple[str, tuple[Any, ...], Span, Any] = ("nothing was tried", (), NO_SPAN, None)

    def exhausted(self) -> bool:
        """Counts one step; True when there were too many."""
        self.steps += 1
        return self.steps > MAX_STEPS

    def fail(self, template: str, arguments: tuple[Any, ...], span: Span, actual: Any) -> None:
        """Notes why a predicate failed, if no attempt came further before."""
        if self.held > self.best:
            self.best = self.held
            self._failure = (template, arguments, span, actual)

    @property
    def failure(self) -> NoMatch:
        template, arguments, span, actual = self._failure
        if self.steps > MAX_STEPS:
            return NoMatch(
                "the operands of commutative ops can be ordered in too many ways", (), span, actual, self.best
            )
        return NoMatch(template, arguments, span, actual, max(self.best, 0))
