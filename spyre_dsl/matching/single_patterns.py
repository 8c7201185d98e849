"""Patterns that match in one way or not at all: captures, literals, and what follows from other arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spyre_dsl.graphs.node import Node, Value, same_value
from spyre_dsl.graphs.sizes import SymbolicSize
from spyre_dsl.language.syntax import Expression
from spyre_dsl.matching.attempt import Attempt
from spyre_dsl.matching.no_match import show
from spyre_dsl.matching.patterns import SinglePattern


@dataclass(frozen=True, slots=True)
class AnyPattern(SinglePattern):
    """``_``, and -1 in a list of sizes."""

    def enter(self, value: Value, holder: Node | None, attempt: Attempt) -> bool:
        attempt.held += 1
        return True


@dataclass(frozen=True, slots=True)
class CapturePattern(SinglePattern):
    """``$x``: anything the first time, the same value ever after."""

    name: str

    def enter(self, value: Value, holder: Node | None, attempt: Attempt) -> bool:
        bindings = attempt.bindings
        known = self.name in bindings
        if not known:
            bindings[self.name] = value
        elif not same_value(bindings[self.name], value):
            template = "${} is {} elsewhere in the pattern and {} here"
            held = bindings[self.name]
            attempt.fail(template, (self.name, held, Other(value, held)), self.span, value)
            return False
        attempt.bound.append(None if known else self.name)
        attempt.held += 1
        return True

    def leave(self, attempt: Attempt) -> None:
        name = attempt.bound.pop()
        if name is not None:
            del attempt.bindings[name]
        attempt.held -= 1


@dataclass(frozen=True, slots=True)
class LiteralPattern(SinglePattern):
    """A number, string, truth value or none. A number matches a list of just that number as well.

    ``is_dim``: a negative number counts from the end. ``spreads``: one number may stand for a list of any length
    (``stride=1`` for ``[1, 1]``).
    """

    expected: int | float | bool | str | tuple[()] | None
    is_dim: bool = False
    spreads: bool = False

    def holds(self, value: Value, holder: Node | None) -> bool:
        expected = self.expected
        if self.is_dim and holder is not None and type(expected) is int and expected < 0:
            expected += holder.dim_rank
        if isinstance(value, Node):
            return value.literal is not None and same_value(expected, value.literal)
        if same_value(expected, value):
            return True
        if not isinstance(value, tuple) or not value or expected is None:
            return False
        return (len(value) == 1 or self.spreads) and all(same_value(expected, item) for item in value)

    def enter(self, value: Value, holder: Node | None, attempt: Attempt) -> bool:
        if self.holds(value, holder):
            attempt.held += 1
            return True
        attempt.fail("expected {}, found {}", (self.expected, value), self.span, value)
        return False


@dataclass(frozen=True, slots=True)
class DefaultPattern(LiteralPattern):
    """An argument that the pattern leaves out: only its default matches."""

    name: str = ""

    def enter(self, value: Value, holder: Node | None, attempt: Attempt) -> bool:
        if self.holds(value, holder):
            return True
        template = "the pattern leaves out `{}`, which means {}; here it is {}"
        attempt.fail(template, (self.name, self.expected, value), self.span, value)
        return False

    def leave(self, attempt: Attempt) -> None:
        """A default is not counted among the predicates that held."""

    def weight(self) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class EndPattern(SinglePattern):
    """``end`` as the end of a slice: the size of the sliced dimension."""

    def enter(self, value: Value, holder: Node | None, attempt: Attempt) -> bool:
        size = _sliced_size(holder)
        if size is not None and (same_value(size, value) or (type(value) is int and value >= 2**62)):
            attempt.held += 1
            return True
        attempt.fail("expected the slice to go to the end ({}), it goes to {}", (size, value), self.span, value)
        return False


@dataclass(frozen=True, slots=True)
class ComputedPattern(SinglePattern):
    """An expression over captures (``size($x, -1) // 2``): compared once everything else is bound."""

    expression: Expression
    is_dim: bool = False

    def enter(self, value: Value, holder: Node | None, attempt: Attempt) -> bool:
        rank = holder.dim_rank if self.is_dim and holder is not None else 0
        attempt.computed.append((self.expression, value, rank))
        return True

    def leave(self, attempt: Attempt) -> None:
        attempt.computed.pop()


@dataclass(frozen=True, slots=True)
class SectionsPattern(SinglePattern):
    """One size for all sections of a split (the last may be smaller), or (``chunks``) the number of sections."""

    expected: int
    chunks: bool = False

    def enter(self, value: Value, holder: Node | None, attempt: Attempt) -> bool:
        sections = value if isinstance(value, tuple) else ()
        size = sections[0] if self.chunks and sections else self.expected
        if sections and _even(sections, size) and (not self.chunks or len(sections) == self.expected):
            attempt.held += 1
            return True
        template = "expected {} equal sections, found {}" if self.chunks else "expected sections of {}, found {}"
        attempt.fail(template, (self.expected, value), self.span, value)
        return False


@dataclass(frozen=True, slots=True)
class DerivedPattern(SinglePattern):
    """An argument that follows from the others: the sizes after ``flatten``, say."""

    rule: Callable[[Node], Value | None]
    description: str

    def enter(self, value: Value, holder: Node | None, attempt: Attempt) -> bool:
        expected = self.rule(holder) if holder is not None else None
        if expected is not None and same_value(expected, value):
            attempt.held += 1
            return True
        attempt.fail("expected {} ({}), found {}", (self.description, expected, value), self.span, value)
        return False


def _even(sections: Sequence[Value], size: Value) -> bool:
    """Whether all sections have ``size``, except for the last, which may be smaller."""
    *front, last = sections
    smaller = isinstance(last, int) and isinstance(size, int) and last <= size
    return all(same_value(size, section) for section in front) and (smaller or same_value(size, last))


def _sliced_size(holder: Node | None) -> int | SymbolicSize | None:
    if holder is None or holder.op != "slice":
        return None
    x, dim = holder.arguments[:2]
    if not isinstance(x, Node) or type(dim) is not int or not dim < x.rank:
        return None
    return x.shape[dim]


@dataclass(frozen=True, slots=True)
class Other:
    """A value where ``first`` was expected; text on demand, which says so where both are called the same."""

    value: Value
    first: Value

    def __call__(self) -> str:
        text = show(self.value)
        return f"another {text}" if text == show(self.first) else text
