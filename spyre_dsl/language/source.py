"""Text with positions: what diagnostics point into."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from spyre_dsl.language.records import record


@record(order=True)
class Position:
    """A place for people: line and column, both from 1, columns counted in characters."""

    line: int
    column: int


@record(lazy=True)
class Source:
    """The whole text of one file. ``name`` is what diagnostics print (``<stdin>`` for standard input)."""

    name: str
    text: str

    @cached_property
    def line_starts(self) -> list[int]:
        """The offset at which each line starts; a line ends at ``\\n`` only, after universal-newline decoding."""
        starts = [0]
        find = self.text.find
        position = find("\n")
        while position >= 0:
            starts.append(position + 1)
            position = find("\n", position + 1)
        return starts

    def position(self, offset: int) -> Position:
        """The line and column of a character offset; offsets past the end give the end."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self.line_starts, offset)
        return Position(line, offset - self.line_starts[line - 1] + 1)

    def place(self, offset: int) -> str:
        """``file:line:column`` of a character offset."""
        position = self.position(offset)
        return f"{self.name}:{position.line}:{position.column}"

    def line(self, number: int) -> str:
        """The text of line ``number`` (from 1) without its newline."""
        start = self.line_starts[number - 1]
        end = self.line_starts[number] - 1 if number < len(self.line_starts) else len(self.text)
        return self.text[start:end]
