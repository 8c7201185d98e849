"""Every diagnostic code: its title, how grave it is, and where its page is.

A code never changes its meaning; a code that is given up is not used again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from spyre_dsl.language.diagnostics import Diagnostic, Related, Severity
from spyre_dsl.language.records import record
from spyre_dsl.language.resources import resource
from spyre_dsl.language.source import Source
from spyre_dsl.language.syntax import Span

if TYPE_CHECKING:
    from pathlib import Path


@record
class Code:
    """One kind of finding."""

    code: str
    title: str
    severity: Severity


_TABLE: Final = """
SD001 error   YAML syntax
SD002 error   too large
SD003 error   nests too deep
SD004 error   not UTF-8
SD005 error   control character
SD006 error   tab
SD007 error   duplicate key
SD008 error   key is not a text
SD009 error   tag
SD010 error   several documents
SD011 error   empty file
SD012 error   unusable alias
SD101 error   unknown key
SD102 error   missing key
SD103 error   wrong type
SD104 error   unknown value
SD105 error   keys that exclude each other
SD106 error   key without the key it needs
SD107 error   empty
SD108 error   malformed text
SD109 error   number out of range
SD110 error   listed twice
SD201 error   expression syntax
SD202 error   unknown function
SD203 error   unknown op
SD204 error   unknown argument
SD205 error   wrong number of arguments
SD206 error   wrong kind of argument
SD207 error   unknown name
SD208 error   unknown attribute
SD209 error   does not belong here
SD210 error   unknown fact id
SD211 error   unknown stack
SD212 error   not a version range
SD213 error   unknown module class
SD214 error   unknown config key
SD215 error   unknown building block
SD216 error   module has no such name
SD217 error   division by zero
SD218 warning config key that not all model types have
SD301 error   unbound capture
SD302 warning unused capture
SD303 error   shadowed name
SD304 error   guard never holds
SD305 warning guard always holds
SD306 error   pattern matches anything
SD307 warning unused let
SD401 error   rule triggers itself
SD402 error   rules overlap
SD403 error   rules undo each other
SD404 warning rule never gets its turn
SD405 warning rules not all compared
SD501 error   duplicate adapter name
SD502 error   duplicate rule name
SD503 error   duplicate test name
SD504 error   no rule test
SD505 warning rule without a test
SD506 error   claim without a test
SD507 warning rule without a claim
SD508 error   unknown rule name
SD601 warning ignore that silences nothing
SD602 error   unknown code in an ignore
"""


def _codes() -> dict[str, Code]:
    found: dict[str, Code] = {}
    for line in _TABLE.strip().splitlines():
        code, severity, title = line.split(maxsplit=2)
        found[code] = Code(code, title, Severity(severity))
    return found


CODES: Final[Mapping[str, Code]] = _codes()
"""All codes, in order."""


def diagnose(
    code: str,
    message: str,
    source: Source,
    span: Span,
    *,
    label: str = "",
    suggestion: str | None = None,
    related: tuple[Related, ...] = (),
) -> Diagnostic:
    """A diagnostic with the severity that its code is registered with."""
    help_text = f"spyre-dsl explain {code}"
    return Diagnostic(code, CODES[code].severity, message, source, span, label, suggestion, help_text, related)


def pages_directory() -> Path:
    """Where the pages of the codes are.

    Raises:
        FileNotFoundError: they are not installed.
    """
    return resource("docs/diagnostics")


def page(code: str) -> str:
    """The page of a code, in Markdown.

    Raises:
        KeyError: no such code.
        OSError: the pages are not installed.
    """
    if code not in CODES:
        raise KeyError(code)
    return (pages_directory() / f"{code}.md").read_text(encoding="utf-8")
