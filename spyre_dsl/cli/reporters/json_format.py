"""Findings as one JSON object."""

from __future__ import annotations

import json
from typing import Any

from spyre_dsl.cli.reporters import Findings, reporter
from spyre_dsl.language.codes import CODES
from spyre_dsl.language.diagnostics import Severity
from spyre_dsl.language.source import Source
from spyre_dsl.language.syntax import Span


@reporter("json")
def render_json(findings: Findings, *, colour: bool) -> str:
    """``{"version", "files", "errors", "warnings", "diagnostics": [...]}``; lines and columns count from 1."""
    document = {
        "version": 1,
        "files": findings.files,
        "errors": findings.count(Severity.ERROR),
        "warnings": findings.count(Severity.WARNING),
        "diagnostics": [
            {
                "code": found.code,
                "title": CODES[found.code].title,
                "severity": found.severity.value,
                "message": found.message,
                "label": found.label,
                "suggestion": found.suggestion,
                "help": found.help,
                **_place(found.source, found.span),
                "related": [{"message": entry.message, **_place(entry.source, entry.span)} for entry in found.related],
            }
            for found in findings.diagnostics
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def _place(source: Source, span: Span) -> dict[str, Any]:
    start, end = source.position(span.start), source.position(span.end)
    return {
        "file": source.name,
        "start": {"line": start.line, "column": start.column, "offset": span.start},
        "end": {"line": end.line, "column": end.column, "offset": span.end},
    }
