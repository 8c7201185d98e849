"""How ``lint`` prints what it found: one module a format, registered where it is defined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Final, Protocol

from spyre_dsl.language.diagnostics import Diagnostic, Severity
from spyre_dsl.language.records import record

FORMATS: Final = ("text", "json", "github", "sarif")
"""Every format; the module of each is ``spyre_dsl.cli.reporters.NAME_format``."""


@record
class Findings:
    """What a run of ``lint`` found in ``files`` files."""

    diagnostics: Sequence[Diagnostic]
    files: int

    def count(self, severity: Severity) -> int:
        return sum(found.severity is severity for found in self.diagnostics)

    def summary(self) -> str:
        """The summary line: ``2 errors and 1 warning in 13 files``."""
        files = _plural(self.files, "file")
        counts = [_plural(n, severity.value) for severity in Severity if (n := self.count(severity))]
        return f"{' and '.join(counts)} in {files}" if counts else f"no findings in {files}"


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


class Reporter(Protocol):
    """Renders findings as text; ``colour`` is whether escape sequences may be used."""

    def __call__(self, findings: Findings, *, colour: bool) -> str: ...


_REPORTERS: dict[str, Reporter] = {}


def reporter(name: str) -> Callable[[Reporter], Reporter]:
    """Registers a function as the reporter for a format."""

    def register(function: Reporter) -> Reporter:
        _REPORTERS[name] = function
        return function

    return register


def find_reporter(name: str) -> Reporter:
    """The reporter for a format, its module imported only now.

    Raises:
        KeyError: no such format.
    """
    if name not in FORMATS:
        raise KeyError(name)
    import_module(f"{__name__}.{name}_format")
    return _REPORTERS[name]
