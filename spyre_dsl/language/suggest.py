"""Did you mean: the known name that a misspelt one most likely stands for.

Plain Python on purpose: a compiled distance library costs more to import than the whole of a cold ``lint`` may
take, and names are only looked for when one is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def distance(a: str, b: str, limit: int) -> int:
    """The optimal string alignment distance (insertions, deletions, substitutions, swaps of neighbours).

    Anything above ``limit`` is reported as ``limit + 1``, and found out early.
    """
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    before: list[int] = []
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        current = [i]
        for j, y in enumerate(b, 1):
            cost = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        if min(current) > limit:
            return limit + 1
        before, previous = previous, current
    return min(previous[-1], limit + 1)


def _common_prefix(a: str, b: str) -> int:
    length = 0
    for x, y in zip(a, b):
        if x != y:
            break
        length += 1
    return length


def _unlikeliness(word: str, candidate: str) -> tuple[int, int, int]:
    """How unlikely a slip of the finger is to turn ``candidate`` into ``word``, among equal distances.

    Swapped neighbours and a doubled or undoubled letter are the commonest slips; then the further to the right two
    words part, and the more of their ends they share, the likelier it is that one was meant for the other. Of two
    that share as much, the one that begins alike is likelier: a letter too many is mostly the last.
    """
    if sorted(word) == sorted(candidate):
        slip = 0
    elif _undoubled(word) == _undoubled(candidate):
        slip = 1
    else:
        slip = 2
    prefix, suffix = _common_prefix(word, candidate), _common_prefix(word[::-1], candidate[::-1])
    return slip, -prefix - suffix, -prefix


def _undoubled(word: str) -> str:
    return "".join(letter for place, letter in enumerate(word) if place == 0 or word[place - 1] != letter)


def ranked(word: str, candidates: Iterable[str]) -> list[str]:
    """The candidates that ``word`` may stand for, the likeliest first; of equals, the one that came first.

    How many edits are forgiven grows with the length of the word: one up to four letters, two up to seven, then three.
    """
    limit = 1 if len(word) <= 4 else 2 if len(word) <= 7 else 3
    folded = word.casefold()
    found: list[tuple[int, tuple[int, int, int], int, str]] = []
    for place, candidate in enumerate(candidates):
        edits = distance(folded, candidate.casefold(), limit)
        if edits <= limit and (edits < len(candidate) or candidate.casefold() in folded):
            found.append((edits, _unlikeliness(folded, candidate.casefold()), place, candidate))
    return [entry[-1] for entry in sorted(found)]


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The likeliest of ``candidates`` for a misspelt ``word``, or None where none is near."""
    best = ranked(word, candidates)
    return best[0] if best else None


def meant_member(word: str, candidates: Sequence[str]) -> str | None:
    """As ``nearest``, for arguments and attributes: these are also cut short or written out (``eps``, ``epsilon``)."""
    near = nearest(word, candidates)
    if near is not None or len(word) < _SHORTEST:
        return near
    related = (
        name for name in candidates if len(name) >= _SHORTEST and (word.startswith(name) or name.startswith(word))
    )
    return max(related, key=lambda name: min(len(name), len(word)), default=None)


_SHORTEST = 3
"""Names shorter than this begin too many others."""
