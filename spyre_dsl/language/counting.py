"""Numbers of things in messages."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """``1 place``, ``2 places``; ``plural`` is for nouns that take more than an s."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
