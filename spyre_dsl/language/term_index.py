"""Finds the terms that may unify with a given one, without trying each.

Every term is filed under what it demands at each position: the op or the literal that stands there, or anything. A
position is the chain of ops and arguments that leads to it, so that terms with another op on the way are never
looked at. The operands of a commutative op are filed as a pair. A query takes the position where the fewest terms
come into question.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from spyre_dsl.language.terms import App, Composite, Lit, Term, uncopied
from spyre_dsl.language.unification import expanded, from_either_end
from spyre_dsl.language.vocabulary import OPS

T = TypeVar("T")

MAX_DEPTH = 3
"""How deep terms are looked into."""

_ANY: Hashable = ...
Position = tuple[Hashable, ...]
Demands = tuple[tuple[Position, Hashable], ...]
"""What a term demands, position by position, the root first."""


class TermIndex(Generic[T]):
    """Items filed under terms."""

    def __init__(self) -> None:
        self._filed: dict[Position, dict[Hashable, list[tuple[int, T]]]] = {}
        self._count = 0

    def add(self, demanded: Demands, item: T, extra: Mapping[Hashable, Sequence[Hashable]] | None = None) -> None:
        """Files ``item`` under what its term demands; ``extra`` are demands of other kinds (config values), by name."""
        entry = (self._count, item)
        self._count += 1
        filed = self._filed
        for position, key in demanded:
            at = filed.get(position)
            if at is None:
                at = filed[position] = {}
            entries = at.get(key)
            if entries is None:
                at[key] = [entry]
            else:
                entries.append(entry)
        for name, keys in (extra or {}).items():
            for key in keys:
                self._filed.setdefault((name,), {}).setdefault(key, []).append(entry)

    def has_root(self, op: str) -> bool:
        """Whether there are items whose terms are of an op: otherwise there are no candidates either."""
        return op in self._filed.get((), ())

    def candidates(self, demanded: Demands, extra: Mapping[Hashable, Sequence[Hashable]] | None = None) -> list[T]:
        """The items whose terms may unify with one of such demands, in the order in which they were filed."""
        best: list[list[tuple[int, T]]] = []
        least = -1
        for lists in self._choices(demanded, extra or {}):
            size = sum(map(len, lists))
            if least < 0 or size < least:
                best, least = lists, size
                if not size:
                    return []
        found = {number: item for entries in best for number, item in entries}
        return [found[number] for number in sorted(found)]

    def _choices(
        self, demanded: Demands, extra: Mapping[Hashable, Sequence[Hashable]]
    ) -> Iterator[list[list[tuple[int, T]]]]:
        for position, key in demanded:
            if key is _ANY:
                continue
            lists = list(self._at(position, (key,)))
            for length in range(1, len(position)):
                lists += self._at(position[:length], ())
            yield lists
        for name, keys in extra.items():
            if _ANY not in keys:
                yield list(self._at((name,), keys))

    def _at(self, position: Position, keys: Iterable[Hashable]) -> Iterator[list[tuple[int, T]]]:
        """The items with one of ``keys`` at a position, and those with anything there."""
        filed = self._filed.get(position, {})
        for key in (*keys, _ANY):
            if key in filed:
                yield filed[key]


def demands(term: App) -> Demands:
    """What a term demands."""
    found: list[tuple[Position, Hashable]] = [((), term.op)]
    _add_below(term, (), found)
    return tuple(found)


def _add_below(term: App, above: Position, found: list[tuple[Position, Hashable]]) -> None:
    op = OPS.get(term.op)
    args = term.args
    first = 0
    if op is not None and op.commutative:
        first = 2
        pair = (_demand(args[0]), _demand(args[1]))
        found.append(((*above, (term.op, "pair")), _ANY if _ANY in pair else frozenset(pair)))
    for place in range(first, len(args)):
        argument = uncopied(args[place])
        position = (*above, (term.op, place))
        dimension = op is not None and from_either_end(term.op, op.parameters[place])
        found.append((position, _ANY if dimension else _demand(argument)))
        if type(argument) is App and len(position) < MAX_DEPTH:
            _add_below(argument, position, found)


def _demand(argument: Term) -> Hashable:
    if isinstance(argument, Composite):
        argument = expanded(argument) or argument
    argument = uncopied(argument)
    if isinstance(argument, App):
        return argument.op
    if isinstance(argument, Lit) and argument.value is not None:
        return ("literal", argument.value)
    return _ANY


def anything() -> tuple[Hashable, ...]:
    """The demand of an item that takes anything, for ``extra``."""
    return (_ANY,)
