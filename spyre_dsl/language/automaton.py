"""Runs the LALR(1) tables of ``expressions.lark`` over a text.

It differs from Lark's own driver in one point: a chain of reductions that only pass a value on (``sum`` to
``comparison`` to ... to ``expression``) is walked once and remembered, which makes it about ten times as fast. A test
compares both drivers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
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

_SCAN = re.compile(PATTERN)
_KINDS = ["", *_SCAN.groupindex]
_BLANKS = re.compile(r"[ \t\n]*")
_settled: dict[tuple[int, str, str], int] = {}


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
