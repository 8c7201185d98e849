"""How many rows an output head is padded to so that its sticks can be divided over the cores (facts M20, T19)."""

from __future__ import annotations

from .division import MAX_SPAN_BYTES

LANES = 64


def largest_prime_factor(number: int) -> int:
    """The largest prime factor of a number above 1; 1 for 1."""
    largest, factor = 1, 2
    while factor * factor <= number:
        while number % factor == 0:
            largest, number = factor, number // factor
        factor += 1
    return max(largest, number) if number > 1 else largest


def max_residual_sticks(hidden: int, dtype_bytes: int = 2) -> int:
    """The most sticks of vocabulary that one core can address: 256 MB of `hidden` rows of sticks."""
    return MAX_SPAN_BYTES // (hidden * LANES * dtype_bytes)


def smooth_vocabulary(vocabulary: int, hidden: int, dtype_bytes: int = 2) -> int:
    """The padded vocabulary: the next stick count whose largest prime factor fits into one core's span (M20)."""
    sticks = -(-vocabulary // LANES)
    limit = max_residual_sticks(hidden, dtype_bytes)
    if limit < 2:
        raise ValueError(f"no stick count fits: one stick of {hidden} rows fills a core's span")
    while largest_prime_factor(sticks) > limit:
        sticks += 1
    return sticks * LANES
