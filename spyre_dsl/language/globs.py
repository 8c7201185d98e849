"""Globs over class names and module paths: can one name match two of them, and does one match all that another does?

In a class name ``*`` stands for any characters, in a path for any characters of one segment; a path segment ``**``
stands for any number of segments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence


def _intersect(a: Sequence[str], b: Sequence[str], many: str, one: Callable[[str, str], bool]) -> bool:
    """Whether some sequence matches both; ``many`` stands for any number of items, other items are compared with ``one``."""
    row = [True] + [False] * len(b)
    for j, item in enumerate(b, 1):
        row[j] = row[j - 1] and item == many
    for x in a:
        following = [row[0] and x == many]
        for j, y in enumerate(b, 1):
            if x == many or y == many:
                following.append(row[j] or following[j - 1])
            else:
                following.append(row[j - 1] and one(x, y))
        row = following
    return row[-1]


def _same(x: str, y: str) -> bool:
    return x == y


def classes_intersect(a: str, b: str) -> bool:
    """Whether one class name can match both globs.

    A subclass matches its base's name too, and a class with two bases matches both: that two globs have no name in
    common is taken to mean that no class matches both, which such a class would disprove.
    """
    return _intersect(a, b, "*", _same)


def paths_intersect(a: str, b: str) -> bool:
    """Whether one module path can match both globs."""
    return _intersect(a.split("."), b.split("."), "**", classes_intersect)


def class_narrower(a: str, b: str) -> bool:
    """Whether glob ``b`` matches every class name that ``a`` matches."""
    return _covered(a, b, "*", _same)


def path_narrower(a: str, b: str) -> bool:
    """Whether glob ``b`` matches every path that ``a`` matches."""
    return _covered(a.split("."), b.split("."), "**", class_narrower)


def _covered(a: Sequence[str], b: Sequence[str], many: str, one: Callable[[str, str], bool]) -> bool:
    """Whether ``b`` covers ``a``, where only ``many`` in ``b`` covers ``many`` in ``a`` (no is always safe)."""
    row = [True] + [False] * len(b)
    for j, item in enumerate(b, 1):
        row[j] = row[j - 1] and item == many
    for x in a:
        following = [False]
        for j, y in enumerate(b, 1):
            if y == many:
                following.append(row[j] or following[j - 1] or row[j - 1])
            else:
                following.append(x != many and row[j - 1] and one(x, y))
        row = following
    return row[-1]
