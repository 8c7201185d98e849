"""Bytes to text: size, encoding and characters that no adapter file has."""

from __future__ import annotations

import re

from spyre_dsl.language.codes import diagnose
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.source import Source
from spyre_dsl.language.syntax import Span

MAX_BYTES = 64 * 1024
"""The largest file that is read. Ours have 1 to 4 kB."""

MAX_REPORTED = 20
"""How many characters of one kind are reported in one file."""

_UTF8_MARK = b"\xef\xbb\xbf"
_FOREIGN_MARKS = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_INDENT = re.compile(r"^[ \t]*", re.MULTILINE)


def decode(data: bytes, name: str) -> tuple[Source, tuple[Diagnostic, ...]]:
    """The text of a file with ``\\n`` line ends, and why it cannot be used if so.

    A UTF-8 byte order mark at the start is allowed and dropped.
    """
    if len(data) > MAX_BYTES:
        source = Source(name, "")
        message = f"the file is larger than {MAX_BYTES // 1024} KiB"
        label = "an adapter bridges one gap; split what is more"
        return source, (diagnose("SD002", message, source, Span(0, 0), label=label),)
    for mark, encoding in _FOREIGN_MARKS.items():
        if data.startswith(mark):
            source = Source(name, "")
            message = f"the file is {encoding}, and must be UTF-8"
            return source, (diagnose("SD004", message, source, Span(0, 0), label="save it as UTF-8"),)
    data = data.removeprefix(_UTF8_MARK)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _refuse_bytes(data, name, error)
    source = Source(name, _lines(text))
    problems = _control_characters(source) or _tabs(source)
    return source, problems


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _refuse_bytes(data: bytes, name: str, error: UnicodeDecodeError) -> tuple[Source, tuple[Diagnostic, ...]]:
    source = Source(name, _lines(data.decode("utf-8", "replace")))
    start = len(_lines(data[: error.start].decode("utf-8")))
    shown = " ".join(f"0x{byte:02x}" for byte in data[error.start : error.end])
    label = "save the file as UTF-8"
    message = f"{shown} is not UTF-8"
    return source, (diagnose("SD004", message, source, Span(start, start + 1), label=label),)


def _control_characters(source: Source) -> tuple[Diagnostic, ...]:
    found: list[Diagnostic] = []
    for match in _CONTROL.finditer(source.text):
        if len(found) == MAX_REPORTED:
            break
        character = ord(match.group())
        message = f"the character U+{character:04X} is not allowed"
        span = Span(match.start(), match.end())
        found.append(
            diagnose("SD005", message, source, span, label="delete it, or write it as an escape in double quotes")
        )
    return tuple(found)


def _tabs(source: Source) -> tuple[Diagnostic, ...]:
    if "\t" not in source.text:
        return ()
    found: list[Diagnostic] = []
    for match in re.finditer(r"\t+", source.text):
        if len(found) == MAX_REPORTED:
            break
        found.append(diagnose("SD006", "tabs are not allowed", source, Span(*match.span()), label="use spaces"))
    return tuple(found)
