"""Findings for people: place, message, the line with a mark under it, and where to read more."""

from __future__ import annotations

from spyre_dsl.cli.reporters import Findings, reporter
from spyre_dsl.language.diagnostics import Diagnostic, Related, Severity
from spyre_dsl.language.source import Source
from spyre_dsl.language.syntax import Span

WIDTH = 120
"""Longer lines are shown in part, around the place in question."""

_COLOURS = {Severity.ERROR: "\x1b[1;31m", Severity.WARNING: "\x1b[1;33m"}
_BOLD, _BLUE, _RESET = "\x1b[1m", "\x1b[1;34m", "\x1b[0m"


@reporter("text")
def render_text(findings: Findings, *, colour: bool) -> str:
    """Every finding with its frame, an empty line after each, and the summary line."""
    blocks = [_render(found, colour) for found in findings.diagnostics]
    return "\n\n".join([*blocks, findings.summary()]) + "\n"


def _render(found: Diagnostic, colour: bool) -> str:
    place = found.source.position(found.span.start)
    heading = f"{found.severity.value}[{found.code}]"
    head = f"{printable(found.source.name)}:{place.line}:{place.column}: "
    message = printable(found.message)
    gutter = " " * len(str(place.line))
    lines = [f"{head}{_paint(heading, _COLOURS[found.severity], colour)}: {_paint(message, _BOLD, colour)}"]
    lines += _frame(found, gutter, colour)
    lines += [f"{gutter} {_paint('=', _BLUE, colour)} note: {_related(entry)}" for entry in found.related]
    if found.help:
        lines.append(f"{gutter} {_paint('=', _BLUE, colour)} help: {found.help}")
    return "\n".join(lines)


def _frame(found: Diagnostic, gutter: str, colour: bool) -> list[str]:
    line, before, marked = excerpt(found.source, found.span)
    place = found.source.position(found.span.start)
    bar = _paint("|", _BLUE, colour)
    mark = _paint(
        f"{'^' * marked}{' ' + printable(found.label) if found.label else ''}", _COLOURS[found.severity], colour
    )
    number = _paint(str(place.line), _BLUE, colour)
    return [f"{gutter} {bar}", f"{number} {bar} {line}".rstrip(), f"{gutter} {bar} {' ' * before}{mark}"]


def _related(entry: Related) -> str:
    place = entry.source.position(entry.span.start)
    return f"{printable(entry.message)}: {printable(entry.source.name)}:{place.line}:{place.column}"


def _paint(text: str, code: str, colour: bool) -> str:
    return f"{code}{text}{_RESET}" if colour else text


def excerpt(source: Source, span: Span) -> tuple[str, int, int]:
    """The line that a span starts in, how many columns of it stand before the span, and how many the span takes.

    Of a line longer than ``WIDTH`` the part around the span; of a span over several lines what is in the first.
    """
    place = source.position(span.start)
    line = source.line(place.line) if source.text else ""
    start = place.column - 1
    end = max(start + 1, min(start + span.end - span.start, len(line)))
    first = 0 if len(line) <= WIDTH else max(0, min(start - WIDTH // 4, len(line) - WIDTH))
    last = min(len(line), first + WIDTH)
    head = "..." if first else ""
    tail = "..." if last < len(line) else ""
    before = head + printable(line[first:start])
    marked = printable(line[start : min(end, last)])
    shown = before + marked + printable(line[min(end, last) : last]) + tail
    return shown, columns(before), max(1, columns(marked))


def printable(text: str) -> str:
    """``text`` with what a terminal would act on (escape sequences, tabs, direction marks) replaced."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def columns(text: str) -> int:
    """How many columns of a terminal a text takes: East Asian wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)
