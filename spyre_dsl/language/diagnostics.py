"""Diagnostics as plain data: collected in lists, never printed and never raised through."""

from __future__ import annotations

from enum import Enum

from spyre_dsl.language.records import record
from spyre_dsl.language.source import Source
from spyre_dsl.language.syntax import Span


class Severity(str, Enum):
    """``error`` makes a file unusable; ``warning`` is a finding that ``--strict`` turns into an error."""

    ERROR = "error"
    WARNING = "warning"


@record
class Related:
    """A second place that a diagnostic speaks of (the other rule of an overlap, say)."""

    message: str
    source: Source
    span: Span


@record
class Diagnostic:
    """One finding: what was expected, what was found and how to mend it, at a precise place.

    ``label`` stands under the caret; ``suggestion`` is the text that would replace the span, where there is one.
    """

    code: str
    severity: Severity
    message: str
    source: Source
    span: Span
    label: str = ""
    suggestion: str | None = None
    help: str = ""
    related: tuple[Related, ...] = ()


class SpyreDslError(Exception):
    """The root of the product's own exceptions."""


class RuleError(SpyreDslError):
    """Raised by ``spyre_dsl.load`` when the files have errors; carries all their diagnostics."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        self.diagnostics = diagnostics
        places = []
        for found in diagnostics:
            place = found.source.place(found.span.start)
            places.append(f"{place}: {found.severity.value}[{found.code}]: {found.message}")
        super().__init__("\n".join(places))
