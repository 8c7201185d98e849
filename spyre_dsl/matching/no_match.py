"""Why something does not match, as a value. Text is made when somebody reads it, never while matching."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spyre_dsl.graphs.node import Node
from spyre_dsl.graphs.text import show_value
from spyre_dsl.language.syntax import NO_SPAN, Span


@dataclass(frozen=True, slots=True)
class NoMatch:
    """The first predicate that failed.

    ``template`` with ``arguments`` filled in is the reason; ``span`` the predicate's place in the rule's file;
    ``actual`` what was found there; ``score`` how many predicates held before it; ``unevaluated`` whether it is a guard
    that is neither true nor false there, so that nobody can say whether the rule was meant for this place.
    """

    template: str
    arguments: tuple[Any, ...] = ()
    span: Span = NO_SPAN
    actual: Any = None
    score: int = 0
    unevaluated: bool = False

    @property
    def reason(self) -> str:
        """One sentence: what was expected and what was found."""
        return self.template.format(*(show(argument) for argument in self.arguments))


@dataclass(frozen=True, slots=True)
class EvaluationProblem:
    """Why an expression has no value. ``span`` is the part that has none."""

    text: str
    span: Span = NO_SPAN

    def __bool__(self) -> bool:
        return False

    def as_no_match(self) -> NoMatch:
        return NoMatch("{}", (self.text,), self.span)


def show(value: Any) -> str:
    """Anything that a message may quote. Strings are words of the message and stay as they are.

    A node is told by its op, and by the name that the model has for it if it has one: names of the graph (``pow_1``)
    are none of the reader's, and differ from layer to layer.
    """
    if callable(value) and not isinstance(value, type):
        return str(value())
    if isinstance(value, Node):
        name = value.target or (value.name if value.is_leaf else "")
        return f"`{value.op}`" + (f" ({name})" if name else "")
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(map(show, value)) + "]"
    return show_value(value)
