"""What to say about a text that is no expression."""

from __future__ import annotations

from dataclasses import dataclass

from spyre_dsl.language.automaton import END, Token


@dataclass(frozen=True, slots=True)
class Slip:
    """A mistake at ``text[start:end]``: what is wrong, what stands under the caret, what would replace it."""

    start: int
    end: int
    message: str
    label: str = ""
    suggestion: str | None = None


def explain(text: str, tokens: list[Token], position: int, expected: set[str], start: str) -> Slip:
    """The most helpful account of why ``tokens[position]`` does not fit."""
    kind, value, first, last = tokens[position]
    found = "the end of the expression" if kind == END else f"`{value}`"
    return Slip(first, max(last, first + 1), f"unexpected {found}")
