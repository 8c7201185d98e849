"""Walking over compiled patterns."""

from __future__ import annotations

from collections.abc import Iterator

from spyre_dsl.matching.patterns import Pattern


def walk(pattern: Pattern) -> Iterator[Pattern]:
    """``pattern`` and every pattern inside it."""
    yield pattern
    for part in pattern.parts():
        yield from walk(part)
