"""From offsets inside the value of a YAML scalar to offsets in the file.

A scalar's value is not what stands in the file: quotes and escapes are resolved, lines are folded, block scalars lose
their indentation. An :class:`OffsetMap` says for each character of the value where it stands.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from spyre_dsl.language.document import Scalar
from spyre_dsl.language.records import field, record
from spyre_dsl.language.syntax import Span


@record(frozen=False)
class OffsetMap:
    """Runs of characters, in order. Run ``k`` starts at ``values[k]`` in the value and at ``starts[k]`` in the file.

    A run is verbatim when ``ends[k]`` is 0: its characters stand one after the other in the file. Otherwise
    all its characters come from the file's range ``starts[k]`` to ``ends[k]`` (an escape, a folded line end).
    """

    values: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    @classmethod
    def shift(cls, base: int) -> OffsetMap:
        """The map of a text that stands verbatim at offset ``base``."""
        return cls([0], [base], [0])

    @property
    def base(self) -> int | None:
        """Where the value stands if it is verbatim as a whole."""
        return self.starts[0] if len(self.starts) == 1 and not self.ends[0] else None

    def add(self, value: int, start: int, end: int = 0) -> None:
        """Appends a run: verbatim from ``start``, or made of the range ``start`` to ``end``."""
        self.values.append(value)
        self.starts.append(start)
        self.ends.append(end)

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
        if start < end:
            return Span(self.start(start), self.end(end))
        place = self.end(start)
        return Span(place, place)


def offsets_of(scalar: Scalar, text: str) -> OffsetMap:
    """The map of a scalar in the file ``text``.

    Raises:
        ValueError: the scalar's value is not what YAML makes of the text at its place.
    """
    base = verbatim_at(scalar, text)
    if base is not None:
        return OffsetMap.shift(base)
    if not scalar.style:
        return _plain(scalar, text)
    return _quoted(scalar, text) if scalar.style in "'\"" else _block(scalar, text)


def verbatim_at(scalar: Scalar, text: str) -> int | None:
    """Where the value of a scalar stands in the file ``text`` as it is, which nearly all do; None if it does not."""
    start = scalar.start
    if not scalar.style:
        return start if text.startswith(scalar.value, start) else None
    if scalar.style in "'\"" and len(scalar.value) == scalar.end - start - 2:
        return start + 1 if text.startswith(scalar.value, start + 1) else None
    return None


_FOLD = re.compile(r"(?<! )[ ]*\n[ \n]*")  # the look-behind keeps the search linear in long runs of blanks
_SINGLE = re.compile(r"(?P<fold>[ ]*\n[ \n]*)|(?P<escape>'')|[^'\n ]+|[ ]+")
_DOUBLE = re.compile(
    r"(?P<fold>[ ]*\n[ \n]*)"
    r"|(?P<joined>\\\n[ \n]*)"
    r"|(?P<escape>\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.))"
    r"|[^\\\n ]+|[ ]+"
)


def _folded(breaks: str) -> int:
    """How many characters YAML makes of line ends and the blanks around them: a blank, or all line ends but one."""
    return max(1, breaks.count("\n") - 1)


def _plain(scalar: Scalar, text: str) -> OffsetMap:
    """A plain scalar over several lines."""
    offsets = OffsetMap()
    value, position = 0, scalar.start
    for fold in _FOLD.finditer(text, scalar.start, scalar.end):
        if value >= len(scalar.value):
            break
        offsets.add(value, position)
        value += fold.start() - position
        offsets.add(value, fold.start(), fold.end())
        value += _folded(fold.group())
        position = fold.end()
    offsets.add(value, position)
    return offsets


def _quoted(scalar: Scalar, text: str) -> OffsetMap:
    """A quoted scalar: what stands between the quotes, piece by piece."""
    offsets = OffsetMap()
    value = 0
    pattern = _SINGLE if scalar.style == "'" else _DOUBLE
    for piece in pattern.finditer(text, scalar.start + 1, scalar.end - 1):
        kind = piece.lastgroup
        start, end = piece.span()
        if kind == "fold":
            offsets.add(value, start, end)
            value += _folded(piece.group())
        elif kind == "escape":
            offsets.add(value, start, end)
            value += 1
        elif kind == "joined":  # an escaped line end stands for nothing, or for the empty lines after it
            empty = piece.group().count("\n") - 1
            if empty:
                offsets.add(value, start, end)
                value += empty
        else:
            offsets.add(value, start)
            value += end - start
    if not offsets.values:
        offsets.add(0, scalar.start + 1)
    return offsets


def _block(scalar: Scalar, text: str) -> OffsetMap:
    """A block scalar, line by line as YAML scans it."""
    header = text.find("\n", scalar.start, scalar.end)
    if header < 0:
        return OffsetMap.shift(scalar.end)
    indent = _indentation(scalar, text, header + 1)
    offsets = OffsetMap()
    value, pending, after_blank = 0, header, True
    breaks = 0
    position = header + 1
    while position < scalar.end:
        line_end = text.find("\n", position, scalar.end)
        line_end = scalar.end if line_end < 0 else line_end
        start = min(position + indent, line_end)
        if text[position:start].strip(" ") == "" and start < line_end:
            blank = text[start] == " "
            joined = scalar.style == ">" and not after_blank and not blank and breaks > 0
            made = (breaks - 1 or 1) if joined else breaks
            if made:
                offsets.add(value, pending, start)
                value += made
            offsets.add(value, start)
            value += line_end - start
            pending, breaks, after_blank = line_end, 0, blank
        breaks += 1 if line_end < scalar.end else 0
        position = line_end + 1
    if not offsets.values or value < len(scalar.value):
        offsets.add(value, min(pending, scalar.end), max(min(pending, scalar.end) + 1, scalar.end))
    return offsets


def _indentation(scalar: Scalar, text: str, start: int) -> int:
    """How many blanks YAML took off each line, told by the first line that has content."""
    written = next((line for line in text[start : scalar.end].split("\n") if line.strip(" ")), "")
    kept = next((line for line in scalar.value.split("\n") if line.strip(" ")), "")
    return (len(written) - len(written.lstrip(" "))) - (len(kept) - len(kept.lstrip(" ")))
