"""``# spyre-dsl: ignore[SD301] reason``: findings that the author of a file has seen and decided to live with.

The comment silences the codes it names on its own line, or, where it stands on a line by itself, on the next line
that holds anything else; if that line opens a block scalar (``op: >``), in all of it. An ignore that silences nothing
is itself a finding (SD601), as is a code that does not exist (SD602).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from spyre_dsl.language.codes import CODES, diagnose
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.records import record
from spyre_dsl.language.source import Source
from spyre_dsl.language.suggest import nearest
from spyre_dsl.language.syntax import Span

MAX_COMMENTS = 50
"""How many lines of comments may stand between an ignore and the line that it is for."""

_MARKER = "spyre-dsl:"
_BLOCK = r"(?:^|[:\-\s])[|>][0-9+-]{0,2}\s*(?:#.*)?$"
_COMMENT = r"(?:^|(?<=\s))#[ \t]*spyre-dsl:[ \t]*ignore\[([^\]\n]*)\]"


@record
class Ignore:
    """One code in an ignore comment: the first and the last line it silences, and where the code itself stands."""

    code: str
    first: int
    last: int
    span: Span


def ignores(source: Source) -> list[Ignore]:
    """Every code in every ignore comment of a file, in order."""
    text = source.text
    if _MARKER not in text:
        return []
    lines = text.split("\n")
    reaches: dict[int, tuple[int, int]] = {}
    found: list[Ignore] = []
    for comment in re.finditer(_COMMENT, text):
        place = source.position(comment.start())
        alone = not lines[place.line - 1][: place.column - 1].strip()
        first = _next_line(lines, place.line) if alone else place.line
        if first not in reaches:
            reaches[first] = (first, _end_of_block(lines, first))
        for code in re.finditer(r"[^\s,]+", comment.group(1)):
            start = comment.start(1) + code.start()
            found.append(Ignore(code.group(), *reaches[first], Span(start, start + len(code.group()))))
    return found


def _next_line(lines: Sequence[str], line: int) -> int:
    """The first line after ``line`` that holds more than a comment, of the next ``MAX_COMMENTS``; else ``line``."""
    for further, text in enumerate(lines[line : line + MAX_COMMENTS], line + 1):
        if text.strip() and not text.lstrip().startswith("#"):
            return further
    return line


def _end_of_block(lines: Sequence[str], line: int) -> int:
    """The last line of the block scalar that ``line`` opens, or ``line`` itself."""
    text = lines[line - 1]
    if not re.search(_BLOCK, text):
        return line
    indentation = len(text) - len(text.lstrip(" "))
    last = line
    for further, inner in enumerate(lines[line:], line + 1):
        if inner.strip():
            if len(inner) - len(inner.lstrip(" ")) <= indentation:
                break
            last = further
    return last


def suppress(
    sources: Iterable[Source], found: Sequence[Diagnostic], not_looked_for: Collection[str] = ()
) -> list[Diagnostic]:
    """``found`` without what the files silence, and with what is wrong with their ignores.

    Nothing is wrong with ignores of codes that this run did not look for: another may find them.
    """
    kept = list(found)
    for source in sources:
        listed = ignores(source)
        if listed:
            kept = _suppress_in(source, listed, kept, not_looked_for)
    return kept


def _suppress_in(
    source: Source, listed: list[Ignore], found: list[Diagnostic], not_looked_for: Collection[str]
) -> list[Diagnostic]:
    by_code: dict[str, list[Ignore]] = {}
    for ignore in listed:
        by_code.setdefault(ignore.code, []).append(ignore)
    used: set[Ignore] = set()
    kept: list[Diagnostic] = []
    for diagnostic in found:
        silencing = _silencing(source, by_code, diagnostic)
        if silencing is None:
            kept.append(diagnostic)
        else:
            used.add(silencing)
    idle = [ignore for ignore in listed if ignore not in used and ignore.code not in not_looked_for]
    return [*kept, *(_complaint(source, ignore) for ignore in idle)]


def _silencing(source: Source, by_code: Mapping[str, Sequence[Ignore]], diagnostic: Diagnostic) -> Ignore | None:
    if diagnostic.source is not source or diagnostic.code not in by_code:
        return None
    line = source.position(diagnostic.span.start).line
    return next((ignore for ignore in by_code[diagnostic.code] if ignore.first <= line <= ignore.last), None)


def _complaint(source: Source, ignore: Ignore) -> Diagnostic:
    if ignore.code not in CODES:
        near = nearest(ignore.code, CODES)
        label = f"did you mean `{near}`?" if near else "`spyre-dsl explain` lists all codes"
        message = f"unknown code `{ignore.code}` in an ignore"
        return diagnose("SD602", message, source, ignore.span, label=label, suggestion=near)
    lines = f"line {ignore.first}" if ignore.first == ignore.last else f"lines {ignore.first}-{ignore.last}"
    message = f"nothing on {lines} is reported as {ignore.code}"
    return diagnose("SD601", message, source, ignore.span, label="remove this ignore")
