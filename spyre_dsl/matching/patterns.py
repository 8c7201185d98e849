"""Compiled patterns. Each yields once for every way in which it matches a value.

While it is suspended in a ``yield``, what it bound is in the attempt; before it goes on, it takes that back. So a later
part of a pattern that fails makes an earlier one try its next way: operands of commutative ops in the other order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from spyre_dsl.graphs.node import Node, Value, same_value
from spyre_dsl.graphs.sizes import SymbolicSize
from spyre_dsl.graphs.text import show_value
from spyre_dsl.language.syntax import Expression, Span
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
class AnyPattern(Pattern):
    """``_``, and -1 in a list of sizes."""

    def match(self, value: Value, holder: Node | None, attempt: Attempt) -> Ways:
        attempt.held += 1
        yield
        attempt.held -= 1


@dataclass(frozen=True, slots=True)
class CapturePattern(Pattern):
    """``$x``: anything the first time, the same value ever after."""

    name: str

    def match(self, value: Value, holder: Node | None, attempt: Attempt) -> Ways:
        bindings = attempt.bindings
        if self.name not in bindings:
            bindings[self.name] = value
            attempt.held += 1
            yield
            attempt.held -= 1
            del bindings[self.name]
        elif same_value(bindings[self.name], value):
            attempt.held += 1
            yield
            attempt.held -= 1
        else:
            attempt.fail(
                "${} is {} elsewhere in the pattern and {} here",
                (self.name, bindings[self.name], value),
                self.span,
                value,
            )


@dataclass(frozen=True, slots=True)
class LiteralPattern(Pattern):
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

    def match(self, value: Value, holder: Node | None, attempt: Attempt) -> Ways:
        if self.holds(value, holder):
            attempt.held += 1
            yield
            attempt.held -= 1
        else:
            attempt.fail("expected {}, found {}", (self.expected, value), self.span, value)


@dataclass(frozen=True, slots=True)
class DefaultPattern(LiteralPattern):
    """An argument that the pattern leaves out: only its default matches."""

    name: str = ""

    def match(self, value: Value, holder: Node | None, attempt: Attempt) -> Ways:
        if self.holds(value, holder):
            yield
        else:
            template = "the pattern leaves out `{}`, which means {}; here it is {}"
            attempt.fail(template, (self.name, self.expected, value), self.span, value)

    def weight(self) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class EndPattern(Pattern):
    """``end`` as the end of a slice: the size of the sliced dimension."""

    def match(self, value: Value, holder: Node | None, attempt: Attempt) -> Ways:
        size = _sliced_size(holder)
        if size is not None and (same_value(size, value) or type(value) is int and value >= 2**62):
            attempt.held += 1
            yield
            attempt.held -= 1
        else:
            attempt.fail("expected the slice to go to the end ({}), it goes to {}", (size, value), self.span, value)


@dataclass(frozen=True, slots=True)
class ComputedPattern(Pattern):
    """An expression over captures (``size($x, -1) // 2``): compared once everything else is bound."""

    expression: Expression
    is_dim: bool = False

    def match(self, value: Value, holder: Node | None, attempt: Attempt) -> Ways:
        attempt.computed.append((self.expression, value, holder.dim_rank if self.is_dim and holder is not None else 0))
        yield
        attempt.computed.pop()


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
class SectionsPattern(Pattern):
    """One size for all sections of a split (the last may be smaller), or (``chunks``) the number of sections."""

    expected: int
    chunks: bool = False

    def match(self, value: Value, holder: Node | None, attempt: Attempt) -> Ways:
        sections = value if isinstance(value, tuple) else ()
        if self.chunks:
            fits = len(sections) == self.expected and _even(sections, sections[0])
        else:
            fits = bool(sections) and _even(sections, self.expected)
        if fits:
            attempt.held += 1
            yield
            attempt.held -= 1
        else:
            template = "expected {} equal sections, found {}" if self.chunks else "expected sections of {}, found {}"
            attempt.fail(template, (self.expected, value), self.span, value)


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
class DerivedPattern(Pattern):
    """An argument that follows from the others: the sizes after ``flatten``, say."""

    rule: Callable[[Node], Value | None]
    description: str

    def match(self, value: Value, holder: Node | None, attempt: Attempt) -> Ways:
        expected = self.rule(holder) if holder is not None else None
        if expected is not None and same_value(expected, value):
            attempt.held += 1
            yield
            attempt.held -= 1
        else:
            attempt.fail("expected {} ({}), found {}", (self.description, expected, value), self.span, value)


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
        attempt.fail(
            "expected dim {} to be split into {}, found {}", (self.dim, len(self.items), value), self.span, value
        )

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
            attempt.fail("expected `{}`, found {}", (self.op, _found(value)), self.span, value)
            return
        if self.overload is not None and value.overload != self.overload:
            attempt.fail(
                "expected the overload {}, found {}", (self.overload, value.overload), self.span, value.overload
            )
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
            attempt.fail("expected one output of an op with several, found {}", (_found(value),), self.span, value)
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
    computed: ComputedPattern

    def match(self, value: Value, holder: Node | None, attempt: Attempt) -> Ways:
        return (self.op if isinstance(value, Node) else self.computed).match(value, holder, attempt)

    def parts(self) -> Sequence[Pattern]:
        return (self.op,)


def match_all(patterns: Sequence[Pattern], values: Sequence[Value], holder: Node | None, attempt: Attempt) -> Ways:
    """Yields for each way in which all patterns match their values."""
    if not patterns:
        yield
        return
    if len(patterns) == 1:
        yield from patterns[0].match(values[0], holder, attempt)
        return
    for _ in patterns[0].match(values[0], holder, attempt):
        yield from match_all(patterns[1:], values[1:], holder, attempt)


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
class _Found:
    """What stands where an op was expected; text on demand."""

    value: Any = field(default=None)

    def __call__(self) -> str:
        value = self.value
        if not isinstance(value, Node):
            return show_value(value)
        return f"`{value.op}`" + (f" ({value.target or value.name})" if value.is_leaf else "")


def _found(value: Any) -> _Found:
    return _Found(value)
