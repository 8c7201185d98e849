"""Polynomials over captures, with whole coefficients: what measures say of a pattern and of a result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from math import prod

from spyre_dsl.language.records import record

MAX_DEGREE = 6
"""The highest degree that is reckoned with: a monomial of degree n has ``2 ** n`` parts once it is shifted."""

MAX_MONOMIALS = 64
"""The most monomials that a product may have."""

Monomial = tuple[str, ...]
"""The captures that are multiplied, each as often as it is, in order; none for the constant."""


class TooComplex(Exception):
    """A product would be of a higher degree than ``MAX_DEGREE``, or of more than ``MAX_MONOMIALS``."""


@record
class Polynomial:
    """``sum(coefficient * product of captures)``."""

    coefficients: Mapping[Monomial, int]

    def times(self, other: Polynomial) -> Polynomial:
        """The product of the two.

        Raises:
            TooComplex: see there.
        """
        if len(self.coefficients) * len(other.coefficients) > MAX_MONOMIALS:
            raise TooComplex
        found: Counter[Monomial] = Counter()
        for one, times in self.coefficients.items():
            for two, more in other.coefficients.items():
                if len(one) + len(two) > MAX_DEGREE:
                    raise TooComplex
                found[tuple(sorted(one + two))] += times * more
        return Polynomial(found)

    def scaled(self, factor: int) -> Polynomial:
        return Polynomial({monomial: factor * times for monomial, times in self.coefficients.items()})

    def value(self, captures: Mapping[str, int]) -> int:
        """What it comes to where every capture is a number."""
        return sum(times * prod(captures[name] for name in monomial) for monomial, times in self.coefficients.items())


def number(value: int) -> Polynomial:
    return Polynomial({(): value})


def capture(name: str) -> Polynomial:
    return Polynomial({(name,): 1})


def total(parts: Iterable[Polynomial], more: int = 0) -> Polynomial:
    """The sum of polynomials, and ``more``."""
    found: Counter[Monomial] = Counter({(): more})
    for part in parts:
        found.update(part.coefficients)
    return Polynomial(found)


def least_difference(before: Polynomial, after: Polynomial, least: int) -> int | None:
    """How much ``before`` exceeds ``after`` at the least, where no capture is below ``least``; None: maybe by nothing.

    Sufficient, not necessary: with every capture written as ``least`` plus something, no coefficient of the
    difference may be negative (absolute positiveness). Then the difference is least where all are ``least``.
    """
    difference = Counter(before.coefficients)
    difference.subtract(after.coefficients)
    shifted: Counter[Monomial] = Counter()
    for monomial, times in difference.items():
        for part, power in _shifted(monomial):
            shifted[part] += times * least**power
    return shifted[()] if all(times >= 0 for times in shifted.values()) else None


def _shifted(monomial: Monomial) -> Iterator[tuple[Monomial, int]]:
    """The parts of a product of sums ``x + least``, and how often ``least`` is a factor of each."""
    for size in range(len(monomial) + 1):
        for part in combinations(monomial, size):
            yield part, len(monomial) - size
