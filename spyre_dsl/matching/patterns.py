"""Compiled patterns: what they are, and those that have patterns inside.

A pattern yields once for every way in which it matches a value. While it is suspended in a ``yield``, what it bound is
in the attempt; before it goes on, it takes that back. So a later part of a pattern that fails makes an earlier one try
its next way: operands of commutative ops in the other order. Patterns that match in one way at most (literals and
captures: see ``single_patterns``) are entered and left without a generator of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spyre_dsl.graphs.node import Node, Value, same_value
from spyre_dsl.language.syntax import Span
from spyre_dsl.matching.attempt import Attempt

Ways = Iterator[None]


@dataclass(frozen=True, slots=True)
class Pattern:
    """Matches one value. ``span`` is the pattern's place in the file."""

    span: Span

    def match(self, value: Value, holder: Node | None, attempt: Attempt) -> Ways:
        """Yields for each way in which ``value``, an argument of ``holder``, matches."""
        raise NotImplementedError

    def parts(self) -> Sequence[Pattern]:
        """The patterns directly inside this one."""
        return ()

    def weight(self) -> int:
        """How many predicates there are to hold, this one's included; defaults that were left out do not count."""
        return 1 + sum(part.weight() for part in self.parts())


@dataclass(frozen=True, slots=True)
class SinglePattern(Pattern):
    """Matches in one way or not at all."""

    def enter(self, value: Value, holder: Node | None, attempt: Attempt) -> bool:
        """Whether ``value`` matches; if so, the attempt holds what follows from it until ``leave``."""
        raise NotImplementedError

    def leave(self, attempt: Attempt) -> None:
        """Takes back what ``enter`` did."""
        attempt.held -= 1

    def match(self, value: Value, holder: Node | None, attempt: Attempt) -> Ways:
        if self.enter(value, holder, attempt):
            yield
            self.leave(attempt)


@dataclass(frozen=True, slots=True)
class ListPattern(Pattern):
    """``[a, b]``: a list of that length, item by item."""

    items: tuple[Pattern, ...]

    def match(self, value: Value, holder: Node | None, attempt: Attempt) -> Ways:
        if not isinstance(value, tuple):
            attempt.fail("expected a list, found {}", (value,), self.span, value)
        elif len(value) != len(self.items):
            attempt.fail("expected a list of {} items, found {}", (len(self.items), value), self.span, value)
        else:
            attempt.held += 1
            yield from match_all(self.items, value, holder, attempt)
            attempt.held -= 1

    def parts(self) -> Sequence[Pattern]:
        return self.items


@dataclass(frozen=True, slots=True)
class LengthPattern(Pattern):
    """``narrow(x, dim, start, $length)``, which the graph says as a slice: end minus start."""

    length: Pattern

    def match(self, value: Value, holder: Node | None, attempt: Attempt) -> Ways:
        start = holder.arguments[2] if holder is not None and holder.op == "slice" else None
        if isinstance(value, int) and isinstance(start, int):
            yield from self.length.match(value - start, holder, attempt)
        else:
            attempt.fail("the length of the slice from {} to {} is not known", (start, value), self.span, value)

    def parts(self) -> Sequence[Pattern]:
        return (self.length,)


@dataclass(frozen=True, slots=True)
class UnflattenedPattern(Pattern):
    """The sizes after ``unflatten(x, dim, [..])``: those of ``x``, with one dim split into the items."""

    dim: int
    items: tuple[Pattern, ...]

    def match(self, value: Value, holder: Node | None, attempt: Attempt) -> Ways:
        x = holder.arguments[0] if holder is not None else None
        if isinstance(x, Node) and isinstance(value, tuple) and x.rank and len(value) == x.rank + len(self.items) - 1:
            dim = self.dim % x.rank
            end = dim + len(self.items)
            if same_value(x.shape[:dim], value[:dim]) and same_value(x.shape[dim + 1 :], value[end:]):
                yield from match_all(self.items, value[dim:end], holder, attempt)
                return
        template = "expected dim {} to be split into {}, found {}"
        attempt.fail(template, (self.dim, len(self.items), value), self.span, value)

    def parts(self) -> Sequence[Pattern]:
        return self.items


@dataclass(frozen=True, slots=True)
class OpPattern(Pattern):
    """A call.

    ``overload`` is set where the pattern names one exactly; ``swap`` names two arguments that may change places.
    """

    op: str
    overload: str | None
    arguments: tuple[Pattern, ...]
    swap: tuple[int, int] | None = None

    def match(self, value: Value, holder: Node | None, attempt: Attempt) -> Ways:
        if not isinstance(value, Node) or value.op != self.op:
            attempt.fail("expected `{}`, found {}", (self.op, value), self.span, value)
            return
        if self.overload is not None and value.overload != self.overload:
            template = "expected the overload {}, found {}"
            attempt.fail(template, (self.overload, value.overload), self.span, value.overload)
            return
        if attempt.exhausted():
            return
        arguments = value.arguments
        attempt.nodes.append(value)
        attempt.held += 1
        yield from match_all(self.arguments, arguments, value, attempt)
        if self.swap is not None:
            swapped = list(arguments)
            left, right = self.swap
            swapped[left], swapped[right] = arguments[right], arguments[left]
            yield from match_all(self.arguments, swapped, value, attempt)
        attempt.held -= 1
        attempt.nodes.pop()

    def parts(self) -> Sequence[Pattern]:
        return self.arguments


@dataclass(frozen=True, slots=True)
class ItemPattern(Pattern):
    """``split(...)[0]``: one output of an op that has several."""

    base: Pattern
    index: Pattern

    def match(self, value: Value, holder: Node | None, attempt: Attempt) -> Ways:
        if not isinstance(value, Node) or value.op != "getitem":
            template = "expected one output of an op with several, found {}"
            attempt.fail(template, (value,), self.span, value)
            return
        attempt.nodes.append(value)
        attempt.held += 1
        yield from match_all((self.base, self.index), value.arguments, value, attempt)
        attempt.held -= 1
        attempt.nodes.pop()

    def parts(self) -> Sequence[Pattern]:
        return (self.base, self.index)


@dataclass(frozen=True, slots=True)
class EitherPattern(Pattern):
    """An operator that may be an op of the graph or arithmetic on numbers: what the value is decides."""

    op: Pattern
    computed: SinglePattern

    def match(self, value: Value, holder: Node | None, attempt: Attempt) -> Ways:
        return (self.op if isinstance(value, Node) else self.computed).match(value, holder, attempt)

    def parts(self) -> Sequence[Pattern]:
        return (self.op,)


def match_all(
    patterns: Sequence[Pattern], values: Sequence[Value], holder: Node | None, attempt: Attempt, place: int = 0
) -> Ways:
    """Yields for each way in which all patterns, from ``place`` on, match their values."""
    entered: list[SinglePattern] = []
    while place < len(patterns):
        pattern = patterns[place]
        if not isinstance(pattern, SinglePattern):
            for _ in pattern.match(values[place], holder, attempt):
                yield from match_all(patterns, values, holder, attempt, place + 1)
            break
        if not pattern.enter(values[place], holder, attempt):
            break
        entered.append(pattern)
        place += 1
    else:
        yield
    for pattern in reversed(entered):
        pattern.leave(attempt)
