"""How near a place comes to a pattern that does not match there, and what to blame.

Matching gives up at the first predicate that fails, which is right for speed and wrong for advice: of
``0.04475 * pow($x, 3)`` against ``mul(pow(x, 3), 0.044715)`` it would say that 0.04475 met a ``pow``. Here a failed
part does not end the search: every other part is still tried, and of the orders of a commutative op the one counts in
which most of the pattern holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from spyre_dsl.graphs.node import Node, Value
from spyre_dsl.matching.attempt import MAX_STEPS, Attempt
from spyre_dsl.matching.no_match import NoMatch
from spyre_dsl.matching.patterns import EitherPattern, ItemPattern, ListPattern, OpPattern, Pattern
from spyre_dsl.matching.single_patterns import LiteralPattern


@dataclass(frozen=True, slots=True)
class Alignment:
    """A pattern laid over a place.

    ``ops`` counts the ops of the pattern that stand where they should, ``held`` all predicates that hold (ops
    included), ``akin`` the numbers that met another number. ``failure`` is the first predicate, in the pattern's order,
    that does not hold; None where all do. ``bindings`` is what the captures hold.
    """

    ops: int = 0
    held: int = 0
    akin: int = 0
    failure: NoMatch | None = None
    bindings: Mapping[str, Value] = field(default_factory=dict)

    @property
    def rank(self) -> tuple[int, int, int]:
        """What makes one alignment nearer than another: ops, then predicates, then numbers where numbers belong."""
        return (self.ops, self.held, self.akin)

    def then(self, other: Alignment) -> Alignment:
        """This one, followed by ``other``, which knew its bindings."""
        return Alignment(
            self.ops + other.ops, self.held + other.held, self.akin + other.akin,
            self.failure or other.failure, other.bindings,
        )  # fmt: skip


def nearest_alignment(pattern: Pattern, node: Node) -> Alignment:
    """The nearest way to lay ``pattern`` over ``node``, its root.

    Captures are bound from left to right and not taken back, so this is a measure and not a matcher: a pattern that
    matches only with captures bound another way has a failure here.
    """
    return _Aligner().of(pattern, node, None, {})


def fits(pattern: Pattern, node: Node) -> bool | None:
    """Whether the pattern alone, without guards and scope, matches; None where there are too many orders to tell."""
    attempt = Attempt()
    for _ in pattern.match(node, None, attempt):
        return True
    return None if attempt.steps > MAX_STEPS else False


def op_patterns(pattern: Pattern) -> Iterator[OpPattern]:
    """The ops without which the pattern matches nothing, in its order; not those that may be arithmetic instead."""
    if isinstance(pattern, OpPattern):
        yield pattern
    for part in () if isinstance(pattern, EitherPattern) else pattern.parts():
        yield from op_patterns(part)


def op_count(pattern: Pattern) -> int:
    """How many ops a pattern names."""
    return isinstance(pattern, (OpPattern, ItemPattern)) + sum(map(op_count, pattern.parts()))


class _Aligner:
    """Counts the steps: once there were too many, operands are tried in one order only."""

    def __init__(self) -> None:
        self.steps = 0

    def of(self, pattern: Pattern, value: Value, holder: Node | None, bindings: Mapping[str, Value]) -> Alignment:
        self.steps += 1
        if isinstance(pattern, EitherPattern):
            return self.of(pattern.op if isinstance(value, Node) else pattern.computed, value, holder, bindings)
        orders = _orders(pattern, value)
        if not orders:
            return _tried(pattern, value, holder, bindings)
        inner = value if isinstance(value, Node) else holder
        head = Alignment(ops=isinstance(value, Node), held=1, bindings=bindings)
        tried = orders if self.steps <= MAX_STEPS else orders[:1]
        return max((self._all(pattern.parts(), values, inner, head) for values in tried), key=lambda one: one.rank)

    def _all(
        self, parts: Sequence[Pattern], values: Sequence[Value], holder: Node | None, head: Alignment
    ) -> Alignment:
        found = head
        for part, value in zip(parts, values, strict=True):
            found = found.then(self.of(part, value, holder, found.bindings))
        return found


def _orders(pattern: Pattern, value: Value) -> list[tuple[Value, ...]]:
    """The values that the parts of a pattern may have, in turn; none where its head does not fit or it has no parts."""
    if isinstance(pattern, ListPattern):
        return [value] if isinstance(value, tuple) and len(value) == len(pattern.items) else []
    if not isinstance(value, Node):
        return []
    if isinstance(pattern, ItemPattern):
        return [value.arguments] if value.op == "getitem" else []
    if not isinstance(pattern, OpPattern) or value.op != pattern.op or pattern.overload not in (None, value.overload):
        return []
    if pattern.swap is None:
        return [value.arguments]
    swapped = list(value.arguments)
    left, right = pattern.swap
    swapped[left], swapped[right] = swapped[right], swapped[left]
    return [value.arguments, tuple(swapped)]


def _tried(pattern: Pattern, value: Value, holder: Node | None, bindings: Mapping[str, Value]) -> Alignment:
    """A pattern as a whole: it holds, or it is to blame."""
    attempt = Attempt()
    attempt.bindings = dict(bindings)
    for _ in pattern.match(value, holder, attempt):
        return Alignment(held=pattern.weight(), bindings=dict(attempt.bindings))
    akin = isinstance(pattern, LiteralPattern) and _is_number(pattern.expected) and _is_number(_literal(value))
    return Alignment(akin=akin, failure=attempt.failure, bindings=bindings)


def _literal(value: Value) -> Value:
    return value.literal if isinstance(value, Node) else value


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
