"""Published figures as data, what counts as agreement, and the one registry that they are in."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..stacks import Stack, load_stack


@dataclass(frozen=True)
class Criterion:
    """When a value agrees with the published one; sequences agree element by element."""

    text: str
    holds: Callable[[Any, Any], bool]

    def __call__(self, published: Any, value: Any) -> bool:
        if isinstance(published, (tuple, list)):
            return (
                isinstance(value, Sequence)
                and len(value) == len(published)
                and all(self(*pair) for pair in zip(published, value, strict=True))
            )
        return self.holds(published, value)


SAME = Criterion("the same", lambda published, value: bool(published == value))
AT_MOST = Criterion("at most that", lambda published, value: bool(value <= published))


def within(share: float) -> Criterion:
    """A relative difference of at most `share`."""
    return Criterion(f"within {share:.3g} of it", lambda p, v: abs(v - p) <= share * abs(p))


def near(distance: float) -> Criterion:
    """An absolute difference of at most `distance`, for figures about zero."""
    return Criterion(f"within {distance:g}, absolute", lambda p, v: abs(v - p) <= distance)


def factor(limit: float) -> Criterion:
    """Neither `limit` times larger nor smaller: for figures whose input was not published."""
    return Criterion(f"factor {limit:g}", lambda p, v: v > 0 and p > 0 and abs(math.log(v / p)) <= math.log(limit))


# Sums and conversions of published inputs leave nothing open but the digits that were printed.
PRINTED_DIGITS = within(5e-5)


@dataclass(frozen=True)
class Figure:
    """One published figure. `stack` is the profile it is measured on: that of the day it was published.

    `note` says what had to be assumed, or why the two do not agree.
    """

    id: str
    what: str
    published: Any
    source: str
    measure: Callable[[Stack], Any]
    criterion: Criterion = SAME
    stack: str = "2026-06"
    note: str = ""


@dataclass(frozen=True)
class Family:
    """Figures on one subject, in their order; `unmodelled` holds (id, what was published, why it is not simulated)."""

    title: str
    figures: list[Figure] = field(default_factory=list)
    unmodelled: list[tuple[str, str, str]] = field(default_factory=list)

    def figure(
        self,
        id: str,
        what: str,
        *,
        published: Any,
        source: str,
        criterion: Criterion = SAME,
        stack: str = "2026-06",
        note: str = "",
    ) -> Callable[[Callable[[Stack], Any]], Callable[[Stack], Any]]:
        """Register a figure with the function that measures it: given the stack it returns the simulator's value."""

        def register(function: Callable[[Stack], Any]) -> Callable[[Stack], Any]:
            self.figures.append(Figure(id, what, published, source, function, criterion, stack, note))
            return function

        return register

    def leave_out(self, id: str, published: str, why: str) -> None:
        """List a figure that the simulator has nothing to say about."""
        self.unmodelled.append((id, published, why))


FAMILIES: list[Family] = []


def family(title: str) -> Family:
    """A new family in the registry."""
    made = Family(title)
    FAMILIES.append(made)
    return made


@dataclass(frozen=True)
class Measured:
    """A figure with the simulator's value."""

    figure: Figure
    value: Any

    @property
    def agrees(self) -> bool:
        return self.figure.criterion(self.figure.published, self.value)


def measure(figure: Figure) -> Measured:
    """Run the simulator for one figure."""
    return Measured(figure, figure.measure(load_stack(figure.stack)))
