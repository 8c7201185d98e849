"""Findings as SARIF 2.1.0, the format that code scanning services read."""

from __future__ import annotations

import json
import os
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote

from spyre_dsl import __version__
from spyre_dsl.cli.reporters import Findings, reporter
from spyre_dsl.language.codes import CODES, Code
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.source import Source
from spyre_dsl.language.syntax import Span

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


@reporter("sarif")
def render_sarif(findings: Findings, *, colour: bool) -> str:
    """One run, with the codes that occur as its rules; suggestions are fixes."""
    used = sorted({found.code for found in findings.diagnostics})
    indices = {code: place for place, code in enumerate(used)}
    run = {
        "tool": {
            "driver": {
                "name": "spyre-dsl",
                "semanticVersion": __version__,
                "rules": [_rule(CODES[code]) for code in used],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(found, indices[found.code]) for found in findings.diagnostics],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(code: Code) -> dict[str, Any]:
    return {
        "id": code.code,
        "name": "".join(word.capitalize() for word in code.title.replace("-", " ").split()),
        "shortDescription": {"text": code.title},
        "help": {"text": f"spyre-dsl explain {code.code}"},
        "defaultConfiguration": {"level": code.severity.value},
    }


def _result(found: Diagnostic, rule_index: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": found.code,
        "ruleIndex": rule_index,
        "level": found.severity.value,
        "message": {"text": f"{found.message}: {found.label}" if found.label else found.message},
        "locations": [{"physicalLocation": _location(found.source, found.span)}],
    }
    if found.related:
        result["relatedLocations"] = [
            {"id": number, "message": {"text": entry.message}, "physicalLocation": _location(entry.source, entry.span)}
            for number, entry in enumerate(found.related, 1)
        ]
    if found.suggestion is not None and _stands_as_it_is(found):
        replacement = {
            "deletedRegion": _region(found.source, found.span),
            "insertedContent": {"text": found.suggestion},
        }
        change = {"artifactLocation": _artifact(found.source), "replacements": [replacement]}
        result["fixes"] = [{"description": {"text": f"write `{found.suggestion}`"}, "artifactChanges": [change]}]
    return result


def _stands_as_it_is(found: Diagnostic) -> bool:
    """Whether the text to replace holds no escape of a quoted scalar, which the new text would have to have as well."""
    replaced = found.source.text[found.span.start : found.span.end]
    return "\\" not in replaced and "''" not in replaced


def _location(source: Source, span: Span) -> dict[str, Any]:
    return {"artifactLocation": _artifact(source), "region": _region(source, span)}


def _artifact(source: Source) -> dict[str, Any]:
    path = PurePath(source.name)
    return {"uri": path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))}


def _region(source: Source, span: Span) -> dict[str, Any]:
    start, end = source.position(span.start), source.position(span.end)
    return {"startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column}
