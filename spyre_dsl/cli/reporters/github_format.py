"""Findings as workflow commands, which GitHub shows beside the lines of a pull request."""

from __future__ import annotations

from spyre_dsl.cli.reporters import Findings, reporter
from spyre_dsl.language.diagnostics import Diagnostic


@reporter("github")
def render_github(findings: Findings, *, colour: bool) -> str:
    """One ``::error`` or ``::warning`` line for each finding."""
    return "".join(f"{_command(found)}\n" for found in findings.diagnostics)


def _command(found: Diagnostic) -> str:
    start, end = found.source.position(found.span.start), found.source.position(found.span.end)
    properties = {
        "title": found.code,
        "file": found.source.name,
        "line": str(start.line),
        "col": str(start.column),
        "endLine": str(end.line),
        "endColumn": str(end.column),
    }
    if start.line != end.line:  # columns count only within one line
        del properties["col"], properties["endColumn"]
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    text = f"{found.message} ({found.label})" if found.label else found.message
    return f"::{found.severity.value} {listed}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
