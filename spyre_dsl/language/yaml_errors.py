"""What YAML's syntax errors mean: the true cause, as far as the text around the place of the error tells it.

A YAML parser reports where it could not go on, which is often a line or more behind the mistake, in words of
YAML's specification. Each kind of report has a function here that looks at the text and says what was meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import yaml

from spyre_dsl.language.records import record
from spyre_dsl.language.source import Source
from spyre_dsl.language.yaml_tree import Scalar

MAX_DEPTH = 24
"""How deep mappings and lists may nest."""


@record
class Fault:
    """What is wrong with ``text[start:end]``, and what stands under the caret.

    ``entry`` is a place on the line where the entry begins that cannot be read, if that is another line.
    """

    start: int
    end: int
    message: str
    label: str = ""
    code: str = "SD001"
    entry: int | None = None


@record
class Report:
    """The parser's report: the text, where it stopped, where the thing began that it was reading, and what that is."""

    source: Source
    place: int
    context: int
    problem: str
    reading: str = ""

    @property
    def text(self) -> str:
        return self.source.text

    def line_of(self, offset: int) -> tuple[int, int]:
        """Start and end of the line that holds ``offset``."""
        end = self.text.find("\n", offset)
        return self.text.rfind("\n", 0, offset) + 1, len(self.text) if end < 0 else end

    def content_of(self, offset: int) -> tuple[int, int]:
        """The line's content, without indentation, list dashes and blanks at the end."""
        start, end = self.line_of(offset)
        content = _DASHES.match(self.text, start, end).end()  # type: ignore[union-attr]
        return content, start + len(self.text[start:end].rstrip())

    def line_before(self, offset: int) -> tuple[int, int] | None:
        """The content of the nearest line above that has some and is no comment."""
        start = self.line_of(offset)[0]
        while start > 0:
            content, end = self.content_of(start - 1)
            if content < end and self.text[content] != "#":
                return content, end
            start = self.line_of(start - 1)[0]
        return None

    def column(self, offset: int) -> int:
        return self.source.position(offset).column

    def character(self) -> str:
        return self.text[self.place : self.place + 1]


_DASHES = re.compile(r" *(?:- +)*")
_KEY = re.compile(r"(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s#:'\"\[\]{},&*!|>%@`-][^:#\n]*?) *:(?= |$)", re.MULTILINE)
_VALUE = re.compile(r"[^ \n]")


def explain(source: Source, error: yaml.MarkedYAMLError, last: Scalar | None = None) -> Fault:
    """The cause of a syntax error; ``last`` is the text that was read last before it."""
    size = len(source.text)
    mark, context = error.problem_mark or error.context_mark, error.context_mark or error.problem_mark
    place = min(mark.index, size) if mark else 0
    report = Report(
        source, place, min(context.index, size) if context else place, str(error.problem), str(error.context)
    )
    quoted = last if last is not None and _is_right_behind(report, last) else None
    if quoted is not None and _holds_a_key(report, quoted):
        return _runaway(report, quoted)
    for words, function in _CAUSES.items():
        if words in report.problem:
            fault = function(report)
            entry = fault.entry if quoted is None else quoted.start
            return Fault(fault.start, fault.end, fault.message, fault.label, fault.code, entry)
    return Fault(place, place + 1, f"YAML cannot read this: {report.problem}")


def _is_right_behind(report: Report, last: Scalar) -> bool:
    """Whether the error is right behind a quoted text over several lines."""
    several = last.style in ("'", '"') and "\n" in report.text[last.start : last.end]
    return several and not report.text[last.end : report.place].strip(" ")


def _holds_a_key(report: Report, text: Scalar) -> bool:
    """Whether a further line of a quoted text begins as an entry does."""
    lines = report.text[text.start : text.end].split("\n")[1:]
    return any(_KEY.match(line, _DASHES.match(line).end()) for line in lines)  # type: ignore[union-attr]


def _runaway(report: Report, text: Scalar) -> Fault:
    """A quote that was never closed: the next quote in the file closed it, and what stood between is part of it."""
    closed = report.source.position(text.end - 1)
    label = f"the closing quote is missing; the next one is in line {closed.line}"
    return Fault(text.start, text.start + 1, f"this {text.style} is never closed", label)


def _second_colon(report: Report) -> Fault:
    """``mapping values are not allowed in this context``, at a colon."""
    content, _ = report.content_of(report.place)
    key = _KEY.match(report.text, content)
    if key is not None and key.end() <= report.place:
        name = report.text[content : key.end() - 1].strip()
        label = f"quote the value of `{name}`, or start it on the next line after `>`"
        return Fault(report.place, report.place + 1, "a value cannot contain `: ` unless it is quoted", label)
    above = report.line_before(report.place)
    if above is None:
        return Fault(report.place, report.place + 1, "a colon is not allowed here", "quote the text if it is one")
    key_above = _KEY.match(report.text, above[0])
    if key_above is None:
        return _no_colon(report, above)
    name = report.text[above[0] : key_above.end() - 1].strip()
    label = f"`{name}` above has its value already: check the indentation"
    return Fault(content, report.place, f"`{report.text[content : report.place].strip()}` is indented too deep", label)


def _no_colon(report: Report, line: tuple[int, int]) -> Fault:
    start, end = line
    colon = re.compile(r"^[\w.-]+:(?=\S)").match(report.text[start:end])
    if colon is not None:
        place = start + colon.end() - 1
        return Fault(place, place + 1, "a blank is missing after the colon", "write `key: value`")
    label = "write `key: value`, or indent it deeper if it continues the value above"
    return Fault(start, end, "this is no `key: value`", label)


def _colon_expected(report: Report) -> Fault:
    return _no_colon(report, report.content_of(report.context))


def _key_expected(report: Report) -> Fault:
    """``did not find expected key``: bad indentation, or something behind a value that is over."""
    start, end = report.line_of(report.place)
    content, _ = report.content_of(report.place)
    character = report.character()
    if character in ("]", "}"):
        return Fault(report.place, report.place + 1, f"`{character}` closes nothing", "drop it, or quote the value")
    if character == ":":
        return Fault(report.place, report.place + 1, "there is no key before this colon", "write `key: value`")
    if report.place > content:
        return _behind_value(report)
    comment = _comment_before(report)
    if comment is not None:
        label = "move the comment to a line of its own above the text"
        return Fault(*comment, "a comment ends the text before it, and here it goes on", label, entry=content)
    label = "indent it as the line that it belongs with; a text over several lines is indented deeper than its key"
    return Fault(report.place, end, "the indentation of this line fits nothing above", label)


def _comment_before(report: Report) -> tuple[int, int] | None:
    """The comment at the end of the line above, if this line is none of its own and goes on with the text above."""
    above = report.line_before(report.place)
    comment = _COMMENT.search(report.text, *above) if above is not None else None
    content, _ = report.content_of(report.place)
    return comment.span() if comment is not None and _KEY.match(report.text, content) is None else None


_COMMENT = re.compile(r"(?<=[ ])#.*")


def _behind_value(report: Report) -> Fault:
    """Something on the line of a value that was over: after a closing quote, an alias or an anchor."""
    content, end = report.content_of(report.place)
    key = _KEY.match(report.text, content)
    found = _VALUE.search(report.text, key.end() if key is not None else content)
    value = found.start() if found is not None else report.place
    if report.text[value] in "*&":
        kind = "alias" if report.text[value] == "*" else "anchor"
        return Fault(
            value, end, f"a value that starts with `{report.text[value]}` is an {kind} to YAML", "quote the value"
        )
    if report.text[value] in "'\"":
        quote = report.text[value]
        inside = "''" if quote == "'" else '\\"'
        label = f"put the whole value in quotes, and write the quotes inside as `{inside}`"
        return Fault(report.place, end, "there is text behind the closing quote", label)
    return Fault(report.place, end, "this cannot follow the value before it", "quote the value")


def _dash_expected(report: Report) -> Fault:
    content, end = report.content_of(report.place)
    column = report.column(report.context)
    label = (
        f"the items of this list start with `-` in column {column}, and what is in an item stands to the right of that"
    )
    return Fault(content, end, "this line is in the middle of a list, and is no item of it", label)


def _block_end_expected(report: Report) -> Fault:
    """What PyYAML's own parser says in place of the two above."""
    return _dash_expected(report) if "collection" in report.reading else _key_expected(report)


def _comma_expected(report: Report) -> Fault:
    """``did not find expected ',' or ']'``: a bracket that is never closed, or a value that needs quotes."""
    opening = report.text[report.context : report.context + 1]
    line, _ = report.line_of(report.place)
    opened_line, _ = report.line_of(report.context)
    content, end = report.content_of(report.place)
    if report.place >= len(report.text) or (line > opened_line and content - line <= _indent(report, opened_line)):
        return _unclosed(report, opening)
    character = report.character()
    if character and character in "[{":
        start = max(report.text.rfind(mark, 0, report.place) for mark in " ,{[") + 1
        close = report.text.find("]" if character == "[" else "}", report.place)
        last = close + 1 if 0 <= close < end else report.place + 1
        value = report.text[start:last]
        return Fault(start, last, "inside brackets a value that contains brackets must be quoted", f'write "{value}"',
                     entry=report.context)  # fmt: skip
    if character == ":":
        return Fault(report.place, report.place + 1, "a comma is missing before this key, or the value must be quoted",
                     "items in brackets are separated by commas", entry=report.context)  # fmt: skip
    closing = "]" if opening == "[" else "}"
    label = f"`{opening}` in line {report.source.position(report.context).line} is still open"
    message = f"expected a comma or `{closing}` here"
    return Fault(report.place, report.place + 1, message, label, entry=report.context)


def _indent(report: Report, line_start: int) -> int:
    return report.content_of(line_start)[0] - line_start


def _unclosed(report: Report, opening: str) -> Fault:
    closing = "]" if opening == "[" else "}"
    return Fault(report.context, report.context + 1, f"this `{opening}` is never closed", f"`{closing}` is missing")


def _end_of_stream(report: Report) -> Fault:
    quote = report.text[report.context : report.context + 1]
    return Fault(report.context, report.context + 1, f"this {quote} is never closed", "the closing quote is missing")


def _content_expected(report: Report) -> Fault:
    character = report.character()
    if character in ("]", "}", ","):
        return Fault(
            report.place, report.place + 1, f"there is nothing before this `{character}`", "a value is missing"
        )
    return Fault(report.place, report.place + 1, "a value is expected here")


def _bad_start(report: Report) -> Fault:
    character = report.character()
    content, _ = report.content_of(report.place)
    key = _KEY.match(report.text, content)
    before = report.text[key.end() if key is not None else content : report.place].strip()
    if before[:1] in ("'", '"'):
        return _behind_value(report)
    return Fault(report.place, report.place + 1, f"a value cannot start with `{character}`", "quote the value")


def _bad_name(report: Report) -> Fault:
    """``did not find expected alphabetic or numeric character``, after ``*`` or ``&``."""
    return _behind_value(report)


def _dash_after_key(report: Report) -> Fault:
    return Fault(report.place, report.place + 1, "a list cannot start on the line of its key",
                 "put each `- item` on a line of its own, or write `[item, item]`")  # fmt: skip


def _bad_escape(report: Report) -> Fault:
    start = report.text.rfind("\\", report.context, report.place + 1)
    start = report.place if start < 0 else start
    label = "in single quotes a backslash is just a backslash"
    return Fault(start, start + 2, f"`{report.text[start : start + 2]}` is not an escape of YAML", label)


def _block_header(report: Report) -> Fault:
    _, end = report.content_of(report.place)
    indicator = report.text[report.context : report.context + 1]
    return Fault(report.place, max(end, report.place + 1), f"the text after `{indicator}` starts on the next line",
                 "move this to the next line, indented")  # fmt: skip


def _nesting(report: Report) -> Fault:
    return Fault(report.place, report.place + 1, f"the file nests deeper than {MAX_DEPTH} levels", "too deep", "SD003")


def _tag_handle(report: Report) -> Fault:
    end = re.compile(r"[^ \n]*").match(report.text, report.context).end()  # type: ignore[union-attr]
    tag = report.text[report.context : end]
    label = "write `not ...` instead of `!`, or quote the value"
    return Fault(report.context, end, f"`{tag[:60]}` is a YAML tag, and tags are not allowed", label, "SD009")


def _document_start(report: Report) -> Fault:
    label = "move what follows into a file of its own"
    return Fault(report.place, report.place + 1, "a file holds one adapter, so one YAML document", label, "SD010")


def _directive(report: Report) -> Fault:
    _, end = report.line_of(report.context)
    return Fault(report.context, end, "lines that start with `%` are directives to YAML, and none is needed", "drop it")


_CAUSES: dict[str, Callable[[Report], Fault]] = {
    "mapping values are not allowed": _second_colon,
    "could not find expected ':'": _colon_expected,
    "did not find expected key": _key_expected,
    "did not find expected '-' indicator": _dash_expected,
    "expected <block end>": _block_end_expected,
    "expected ',' or": _comma_expected,
    "found unexpected end of stream": _end_of_stream,
    "found unexpected document indicator": _end_of_stream,
    "node content": _content_expected,
    "cannot start any token": _bad_start,
    "alphabetic or numeric character": _bad_name,
    "sequence entries are not allowed": _dash_after_key,
    "unknown escape character": _bad_escape,
    "hexdecimal number": _bad_escape,
    "hexadecimal numbers": _bad_escape,
    "invalid Unicode character code": _bad_escape,
    "did not find expected comment or line break": _block_header,
    "chomping or indentation indicators": _block_header,
    "found an indentation indicator equal to 0": _block_header,
    "exceeded maximum nesting depth": _nesting,
    "undefined tag handle": _tag_handle,
    "did not find expected '!'": _tag_handle,
    "<document start>": _document_start,
    "directive": _directive,
    "incompatible YAML document": _directive,
}
"""By words of libyaml and of PyYAML without it; the first that occur in the report decide."""
