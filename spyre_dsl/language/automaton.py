"""Runs the LALR(1) tables of ``expressions.lark`` over a text.

This is the hot loop of ``lint``: a table walk with three parallel stacks. It differs from Lark's own driver in
one point: a chain of reductions that only pass a value on (``sum`` to ``comparison`` to ... to ``expression``) is
walked once and remembered, which makes it about ten times as fast. A test compares both drivers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spyre_dsl.language.expression_tables import ACTIONS, GOTOS, PATTERN, RULES, STARTS, WORDS

END = "$END"
BAD = "BAD"
"""The type of a token for a character that starts no token; no state accepts it."""

Token = tuple[str, str, int, int]
"""Type, text, start and end (offsets in the text that was given)."""

Action = Callable[[Sequence[Any], Sequence[int], Sequence[int]], Any]
"""Makes the value of a reduction from the values, starts and ends of its parts."""

_SCAN = re.compile(PATTERN)
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


def tokenize(text: str) -> list[Token]:
    """All tokens of ``text`` and a last one of type ``$END``. A character that starts no token ends the list."""
    tokens: list[Token] = []
    match = _SCAN.scanner(text).match  # type: ignore[attr-defined]
    position = 0
    while (found := match()) is not None:
        kind = found.lastgroup
        start, position = found.span(kind)
        value = text[start:position]
        tokens.append((WORDS.get(value, kind) if kind == "NAME" else kind, value, start, position))
    position = _BLANKS.match(text, position).end()  # type: ignore[union-attr]
    if position < len(text):
        tokens.append((BAD, text[position], position, position + 1))
    tokens.append((END, "", position, position))
    return tokens


def run(tokens: Sequence[Token], start: str, actions: Mapping[str, Action]) -> Any:
    """The value of ``start`` over ``tokens``; raises :class:`Unexpected` at the first token that does not fit."""
    states = [STARTS[start]]
    values: list[Any] = []
    starts: list[int] = []
    ends: list[int] = []
    for position, (kind, text, first, last) in enumerate(tokens):
        while True:
            action = ACTIONS[states[-1]].get(kind)
            if action is None:
                raise Unexpected(position, tuple(states))
            if action >= 0:
                break
            origin, count, name = RULES[-1 - action]
            if name:
                values[-count:] = (actions[name](values[-count:], starts[-count:], ends[-count:]),)
                starts[-count:] = (starts[-count],)
                ends[-count:] = (ends[-1],)
            del states[-count:]
            states.append(_settle(states[-1], origin, kind))
        if kind == END:
            return values[-1]
        states.append(action)
        values.append(text)
        starts.append(first)
        ends.append(last)
    raise AssertionError("the last token is $END, which either ends the parse or does not fit")


def _settle(below: int, origin: str, kind: str) -> int:
    """The state after ``origin`` was made above state ``below``, and after all passing-on that ``kind`` asks for."""
    key = (below, origin, kind)
    state = _settled.get(key)
    if state is None:
        state = GOTOS[below][origin]
        while (action := ACTIONS[state].get(kind, 0)) < 0 and not RULES[-1 - action][2]:
            state = GOTOS[below][RULES[-1 - action][0]]
        _settled[key] = state
    return state


def _accepts(states: list[int], kind: str) -> bool:
    while (action := ACTIONS[states[-1]].get(kind)) is not None and action < 0:
        origin, count, _ = RULES[-1 - action]
        del states[-count:]
        states.append(GOTOS[states[-1]][origin])
    return action is not None
