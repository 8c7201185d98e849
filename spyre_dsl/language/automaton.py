"""Runs the LALR(1) tables of ``expressions.lark`` over a text.

This is the hot loop of ``lint``: a table walk with three parallel stacks. It differs from Lark's own driver in
two points. A chain of reductions that only pass a value on (``sum`` to ``comparison`` to ... to ``expression``) is
walked once and remembered. And since which reductions are made depends on the types of the tokens alone, those of
a sequence of types that comes again (``size($x, -1) % stack.stick != 0`` with other names and numbers) are kept, and
made without looking at the tables. Tests compare both drivers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from operator import itemgetter
from typing import Any

from spyre_dsl.language.expression_tables import ACTIONS, GOTOS, PATTERN, RULES, STARTS, WORDS

END = "$END"
ACCEPT = 0
BAD = "BAD"
"""The type of a token for a character that starts no token; no state accepts it."""

Token = tuple[str, str, int, int]
"""Type, text, start and end. The value of a token in a reduction is the token itself."""

Action = Callable[[list[Any], int, int], Any]
"""Makes the value of a reduction from the values of its parts, its start and its end."""

MAX_PLANS = 2_000
"""How many sequences of token types are remembered."""

MAX_PLANNED = 200
"""The longest sequence of token types that is remembered; longer ones do not come again."""

_SCAN = re.compile(PATTERN)
_KINDS = ["", *_SCAN.groupindex]
_BLANKS = re.compile(r"[ \t\n]*")
_settled: dict[tuple[int, str, str], int] = {}

Step = tuple[Callable[[Any], Any], str, int, int]
"""One reduction: takes its parts from all values so far, the name of its action, its first and last token."""

_plans: dict[tuple[str, tuple[str, ...]], list[Step] | None] = {}
"""The reductions for a start and a sequence of token types; None where it has come only once."""


class _Kinds(dict[str, str]):
    """The type of each token by its text, which decides it; found out when a text comes for the first time."""

    def __missing__(self, text: str) -> str:
        kind = tokenize(text)[0][0]
        if len(self) < MAX_PLANS:
            self[text] = kind
        return kind


_split = re.compile("(" + re.sub(r"\(\?P<\w+>", "(?:", PATTERN.partition("*+")[2]) + ")").split
_kinds = _Kinds()


class Unexpected(Exception):
    """No action for a token: ``position`` is its index, ``states`` the stack of states at that moment."""

    def __init__(self, position: int, states: tuple[int, ...]) -> None:
        self.position = position
        self.states = states

    def expected(self) -> set[str]:
        """The terminals that the grammar really allows here (the table row alone names too many)."""
        return {symbol for symbol in ACTIONS[self.states[-1]] if _accepts(list(self.states), symbol)}


def tokenize(text: str, base: int = 0) -> list[Token]:
    """All tokens of ``text``, which stands at ``base``, and a last one of type ``$END``.

    A character that starts no token ends the list early, with a token of type ``BAD`` before the last.
    """
    tokens: list[Token] = []
    match = _SCAN.scanner(text).match  # type: ignore[attr-defined]
    words = WORDS.get
    position = 0
    while found := match():
        index = found.lastindex
        kind = _KINDS[index]
        start, position = found.span(index)
        value = text[start:position]
        if kind == "NAME":
            kind = words(value, kind)
        tokens.append((kind, value, start + base, position + base))
    position = _BLANKS.match(text, position).end()  # type: ignore[union-attr]
    if position < len(text):
        tokens.append((BAD, text[position], position + base, position + 1 + base))
    tokens.append((END, "", position + base, position + base))
    return tokens


def parse(text: str, base: int, start: str, actions: Mapping[str, Action]) -> Any:
    """The value of ``start`` over ``text``, which stands at ``base``; raises as :func:`run` does."""
    pieces = _split(text)  # blanks and tokens in turn
    if "".join(pieces[::2]).strip(" \t\n"):  # a character that starts no token
        return run(tokenize(text, base), start, actions)
    texts = pieces[1::2]
    places = list(accumulate(map(len, pieces), initial=base))
    kinds = tuple(map(_kinds.__getitem__, texts))
    starts, ends = places[1:-1:2], places[2::2]
    values: list[Any] = list(zip(kinds, texts, starts, ends))
    key = (start, kinds)
    plan = _plans.get(key)
    if plan is None:
        plan = _plan(key)
        if plan is None:
            return run([*values, (END, "", places[-1], places[-1])], start, actions)
    make = values.append
    for take, name, first, last in plan:
        make(actions[name](take(values), starts[first], ends[last]))
    return values[-1]


def _plan(key: tuple[str, tuple[str, ...]]) -> list[Step] | None:
    """The reductions for a sequence of token types, once it has come twice and if it fits the grammar.

    They are found by a run over numbers instead of values: tokens first, results of reductions behind them.
    """
    start, kinds = key
    if key not in _plans:
        if len(_plans) < MAX_PLANS and len(kinds) <= MAX_PLANNED:
            _plans[key] = None
        return None
    steps: list[Step] = []

    def recorder(name: str) -> Action:
        def record(parts: list[Any], first: int, last: int) -> int:
            numbers = [part if type(part) is int else part[2] for part in parts]
            # a slice gives a list of one; several numbers give a tuple
            take = itemgetter(*numbers) if len(numbers) > 1 else itemgetter(slice(numbers[0], numbers[0] + 1))
            steps.append((take, name, first, last))
            return len(kinds) + len(steps) - 1

        return record

    numbered = [(kind, "", number, number) for number, kind in enumerate((*kinds, END))]
    try:
        run(numbered, start, _Recorders(recorder))
    except Unexpected:
        return None
    _plans[key] = steps
    return steps


class _Recorders(dict[str, Action]):
    """Stands for the actions of every name."""

    def __init__(self, recorder: Callable[[str], Action]) -> None:
        self._recorder = recorder

    def __missing__(self, name: str) -> Action:
        return self._recorder(name)


def run(tokens: Sequence[Token], start: str, actions: Mapping[str, Action]) -> Any:
    """The value of ``start`` over ``tokens``; raises :class:`Unexpected` at the first token that does not fit."""
    table, rules, settled = ACTIONS, RULES, _settled  # local names are quicker to find
    state = STARTS[start]
    states = [state]
    values: list[Any] = []
    starts: list[int] = []
    end = 0
    for position, token in enumerate(tokens):
        kind = token[0]
        while (action := table[state].get(kind)) is not None and action < 0:
            origin, count, name = rules[-1 - action]
            if count == 1:
                if name:
                    values[-1] = actions[name](values[-1:], starts[-1], end)
                del states[-1]
            else:
                parts = values[-count:]
                del values[1 - count :], starts[1 - count :], states[-count:]
                values[-1] = actions[name](parts, starts[-1], end)
            below = states[-1]
            known = settled.get((below, origin, kind))
            state = _settle(below, origin, kind) if known is None else known
            states.append(state)
        if action is None:
            raise Unexpected(position, tuple(states))
        if action == ACCEPT:
            return values[-1]
        state = action
        states.append(state)
        values.append(token)
        starts.append(token[2])
        _, _, _, end = token
    raise AssertionError("the last token is $END, which either ends the parse or does not fit")


def _settle(below: int, origin: str, kind: str) -> int:
    """The state after ``origin`` was made above state ``below``, and after all passing-on that ``kind`` asks for."""
    state = GOTOS[below][origin]
    while (action := ACTIONS[state].get(kind, ACCEPT)) < 0 and not RULES[-1 - action][2]:
        state = GOTOS[below][RULES[-1 - action][0]]
    _settled[below, origin, kind] = state
    return state


def _accepts(states: list[int], kind: str) -> bool:
    while (action := ACTIONS[states[-1]].get(kind)) is not None and action < 0:
        origin, count, _ = RULES[-1 - action]
        del states[-count:]
        states.append(GOTOS[states[-1]][origin])
    return action is not None
