"""``# spyre-dsl: ignore[SD301] reason``: findings that the author of a file has seen and decided to live with.

The comment silences the codes it names on its own line, or, where it stands on a line by itself, on the next line
that holds anything else. An ignore that silences nothing is itself a finding (SD601), as is a code that does not
exist (SD602). Comments inside block scalars are text, not comments, and silence nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spyre_dsl.language.codes import CODES, diagnose
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.source import Source
from spyre_dsl.language.suggest import nearest
from spyre_dsl.language.syntax import Span

_MARKER = "spyre-dsl:"
_COMMENT = re.compile(r"(?:^|(?<=\s))#[ \t]*spyre-dsl:[ \t]*ignore\[([^\]\n]*)\]")


@dataclass(frozen=True, slots=True)
class Ignore:
    """One code in an ignore comment: the line it silences and where the code itself stands."""

    code: str
    line: int
    span: Span


def ignores(source: Source) -> list[Ignore]:
    """Every code in every ignore comment of a file, in order."""
    text = source.text
    if _MARKER not in text:
        return []
    found: list[Ignore] = []
    for comment in _COMMENT.finditer(text):
        line = _silenced_line(source, comment.start())
        for code in re.finditer(r"[^\s,]+", comment.group(1)):
            start = comment.start(1) + code.start()
            found.append(Ignore(code.group(), line, Span(start, start + len(code.group()))))
    return found


def _silenced_line(source: Source, offset: int) -> int:
    line = source.position(offset).line
    if source.line(line)[: source.position(offset).column - 1].strip():
        return line
    for further in range(line + 1, len(source.line_starts) + 1):
        text = source.line(further).strip()
        if text and not text.startswith("#"):
            return further
    return line


def suppress(sources: Iterable[Source], found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """``found`` without what the files silence, and with what is wrong with their ignores."""
    kept = list(found)
    for source in sources:
        listed = ignores(source)
        if listed:
            kept = _suppress_in(source, listed, kept)
    return kept


def _suppress_in(source: Source, listed: list[Ignore], found: list[Diagnostic]) -> list[Diagnostic]:
    wanted = {(ignore.code, ignore.line) for ignore in listed if ignore.code in CODES}
    used: set[tuple[str, int]] = set()
    kept: list[Diagnostic] = []
    for diagnostic in found:
        key = (diagnostic.code, source.position(diagnostic.span.start).line)
        if diagnostic.source is source and key in wanted:
            used.add(key)
        else:
            kept.append(diagnostic)
    return [*kept, *(complaint for ignore in listed for complaint in _complaints(source, ignore, used))]


def _complaints(source: Source, ignore: Ignore, used: set[tuple[str, int]]) -> list[Diagnostic]:
    if ignore.code not in CODES:
        near = nearest(ignore.code, CODES)
        label = f"did you mean `{near}`?" if near else "`spyre-dsl explain` lists all codes"
        message = f"unknown code `{ignore.code}` in an ignore"
        return [diagnose("SD602", message, source, ignore.span, label=label, suggestion=near)]
    if (ignore.code, ignore.line) in used:
        return []
    message = f"nothing on line {ignore.line} is reported as {ignore.code}"
    return [diagnose("SD601", message, source, ignore.span, label="remove this ignore")]
