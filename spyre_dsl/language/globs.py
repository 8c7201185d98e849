"""Globs over class names and module paths: can one name match two of them, and does one match all that another does?

In a class name ``*`` stands for any characters, and a glob without a dot may be the bare name of the class; in a path
``*`` stands for any characters of one segment, and a segment ``**`` for any number of segments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence


def _intersect(a: Sequence[str], b: Sequence[str], many: str, one: Callable[[str, str], bool]) -> bool:
    """Whether some sequence matches both; ``many`` stands for any number of items, ``one`` compares the others."""
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
    return any(_words_intersect(x, y) for x in _forms(a) for y in _forms(b))


def _words_intersect(a: str, b: str) -> bool:
    return _intersect(a, b, "*", _same)


def _forms(glob: str) -> tuple[str, ...]:
    """What a class glob means among qualified names."""
    return (glob,) if "." in glob else (glob, f"*.{glob}")


def paths_intersect(a: str, b: str) -> bool:
    """Whether one module path can match both globs."""
    return _intersect(a.split("."), b.split("."), "**", _words_intersect)


def class_narrower(a: str, b: str) -> bool:
    """Whether glob ``b`` matches every class name that ``a`` matches."""
    return all(any(_word_narrower(x, y) for y in _forms(b)) for x in _forms(a))


def _word_narrower(a: str, b: str) -> bool:
    return _covered(a, b, "*", _same)


def path_narrower(a: str, b: str) -> bool:
    """Whether glob ``b`` matches every path that ``a`` matches."""
    return _covered(a.split("."), b.split("."), "**", _word_narrower)


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
