"""Parses expressions whose like came before without looking at the tables.

Which reductions are made depends on the types of the tokens alone. So those of a sequence of types that comes again
(``size($x, -1) % stack.stick != 0`` with other names and numbers) are kept as a plan, and made one after the other.
Lists that grow item by item are made at once there. A test compares this with a run over the tables.

Of a text that comes again (``size($x, -1)``) the pieces are remembered as well; only its place is another.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate
from operator import itemgetter
from typing import Any

from spyre_dsl.language.automaton import BAD, END, Action, Unexpected, run, tokenize
from spyre_dsl.language.records import record
from spyre_dsl.language.reductions import ACTIONS, LISTS, call_of

MAX_PLANS = 2_000
"""How many sequences of token types are remembered, the types of how many tokens, and how many texts."""

MAX_PLANNED = 200
"""The longest sequence of token types that is remembered; longer ones do not come again."""

Key = tuple[str, tuple[str, ...]]
"""What to parse (``expression``), and the types of the tokens."""

Step = tuple[Callable[[Any], Any], Action, int, int]
"""One reduction: takes its parts from all values so far, what it makes of them, its first and last token."""

_plans: dict[Key, list[Step] | None] = {}
"""The reductions for a sequence of token types; None where it has come only once."""


class _Kinds(dict[str, str]):
    """The type of each token by its text, which decides it; found out when a text comes for the first time."""

    def __missing__(self, text: str) -> str:
        kind = tokenize(text)[0][0]
        if len(self) < MAX_PLANS:
            self[text] = kind
        return kind


_split = re.compile(
    r"""(
        [A-Za-z_]\w*+ (?:\.[A-Za-z_]\w*+)*+
      | [(),]
      | \$[A-Za-z_]\w*+
      | (?:[0-9]+\.?[0-9]*|\.[0-9]+) (?:[eE][+-]?[0-9]+)?
      | [=!<>]=|//|\*\*|[-+*/%@<>=\[\]]
      | "(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'
    )""",
    re.ASCII | re.VERBOSE,
).split
"""Blanks and tokens in turn: the tokens of the grammar, in another order and with words taken together, since a token's
type is looked up by its text; in half the time of the grammar's own pattern."""

_kind = _Kinds().__getitem__


@record
class Pieces:
    """A text taken apart: the types of its tokens, their texts, and the length of each blank and token in turn."""

    kinds: tuple[str, ...]
    texts: list[str]
    lengths: list[int]


_pieces: dict[str, Pieces] = {}
"""The texts that came, the first of them."""


def parse(text: str, base: int, start: str) -> Any:
    """The value of ``start`` over ``text``, which stands at ``base``; raises as :func:`run` does."""
    pieces = _pieces.get(text) or take_apart(text)
    key = (start, pieces.kinds)
    plan = _plans.get(key) or _plan(key)
    if plan is None:
        return run(tokenize(text, base), start, ACTIONS)
    places = list(accumulate(pieces.lengths, initial=base))
    starts, ends = places[1:-1:2], places[2::2]
    values: list[Any] = list(zip(pieces.kinds, pieces.texts, starts, ends))
    keep = values.append
    for take, make, first, last in plan:
        keep(make(take(values), starts[first], ends[last]))
    return values[-1]


def take_apart(text: str) -> Pieces:
    """The pieces of a text; a single one of type ``BAD`` where a character starts no token."""
    split = _split(text)
    texts = split[1::2]
    readable = not "".join(split[::2]).strip(" \t\n")
    kinds = tuple(map(_kind, texts)) if readable else (BAD,)
    pieces = Pieces(kinds, texts, list(map(len, split)))
    if len(_pieces) < MAX_PLANS:
        _pieces[text] = pieces
    return pieces


def _plan(key: Key) -> list[Step] | None:
    """The reductions for a sequence of token types, if it fits the grammar and has come before."""
    start, kinds = key
    if key not in _plans:
        if len(_plans) < MAX_PLANS and len(kinds) <= MAX_PLANNED:
            _plans[key] = None
        return None
    numbered = [(kind, "", number, number) for number, kind in enumerate((*kinds, END))]
    planner = _Planner(len(kinds))
    try:
        run(numbered, start, planner)
    except Unexpected:
        return None
    _plans[key] = planner.steps
    return planner.steps


class _Planner(dict[str, Action]):
    """Stands for the actions, and writes down what they are asked for.

    Values are numbers: those of the tokens first, those of the steps behind them; a growing list is a list of them.
    """

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.steps: list[Step] = []
        self.keywords: set[int] = set()

    def __missing__(self, name: str) -> Action:
        def write_down(parts: list[Any], first: int, last: int) -> Any:
            numbers = [part[2] if isinstance(part, tuple) else part for part in parts]
            if name in LISTS:  # the items that are there, and perhaps a comma and a further one
                items = numbers[0] if isinstance(numbers[0], list) else numbers[:1]
                return items if name == "trailing_comma" or len(numbers) == 1 else [*items, numbers[-1]]
            if name == "call" and self.keywords.isdisjoint(numbers[2]):
                return self.step(call_of, [numbers[0], *numbers[2]], first, last)
            numbers = [self.step(_as_list, part, first, last) if isinstance(part, list) else part for part in numbers]
            made = self.step(ACTIONS[name], numbers, first, last)
            if name == "keyword":
                self.keywords.add(made)
            return made

        return write_down

    def step(self, make: Action, numbers: list[int], first: int, last: int) -> int:
        """One more step; returns the number of its value."""
        # several numbers give a tuple; a slice gives a list of one
        take = itemgetter(*numbers) if len(numbers) > 1 else itemgetter(slice(numbers[0], numbers[0] + 1))
        self.steps.append((take, make, first, last))
        return self.tokens + len(self.steps) - 1


def _as_list(items: Any, start: int, end: int) -> list[Any]:
    return list(items)
