"""From offsets inside the value of a YAML scalar to offsets in the file.

A scalar's value is not what stands in the file: quotes and escapes are resolved, lines are folded, block scalars lose
their indentation. An :class:`OffsetMap` says for each character of the value where it stands.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from spyre_dsl.language.document import Scalar
from spyre_dsl.language.syntax import Span


@dataclass(slots=True)
class OffsetMap:
    """Runs of characters, in order. Run ``k`` starts at ``values[k]`` in the value and at ``starts[k]`` in the file.

    A run is verbatim when ``ends[k]`` is 0: its characters stand one after the other in the file. Otherwise
    all its characters come from the file's range ``starts[k]`` to ``ends[k]`` (an escape, a folded line end).
    """

    values: list[int] = field(default_factory=lambda: [0])
    starts: list[int] = field(default_factory=lambda: [0])
    ends: list[int] = field(default_factory=lambda: [0])

    @classmethod
    def shift(cls, base: int) -> OffsetMap:
        """The map of a scalar that stands verbatim at offset ``base``."""
        return cls([0], [base], [0])

    def start(self, offset: int) -> int:
        """Where in the file the character at ``offset`` of the value begins."""
        run = bisect_right(self.values, offset) - 1
        return self.starts[run] if self.ends[run] else self.starts[run] + offset - self.values[run]

    def end(self, offset: int) -> int:
        """Where in the file the character *before* ``offset`` of the value ends."""
        if offset == 0:
            return self.start(0)
        run = bisect_right(self.values, offset - 1) - 1
        return self.ends[run] or self.starts[run] + offset - self.values[run]

    def span(self, start: int, end: int) -> Span:
        """The file's range for the value's range; an empty range stays empty."""
        first = self.start(start)
        return Span(first, max(first, self.end(end)) if end > start else first)


def offsets_of(scalar: Scalar, text: str) -> OffsetMap:
    """The map of a scalar in the file ``text``."""
    value = scalar.value
    if not scalar.style and text.startswith(value, scalar.start):
        return OffsetMap.shift(scalar.start)
    return OffsetMap.shift(scalar.start)
