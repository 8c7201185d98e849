"""Every code has a page, every page a code, and every page shows exactly what lint prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import spyre_dsl.language
from spyre_dsl.language.codes import CODES, diagnose, page, pages_directory
from spyre_dsl.language.diagnostics import Severity
from spyre_dsl.language.source import Source
from spyre_dsl.language.syntax import Span
from tests.language.pages import DEEP, examples, expected, findings_text, lint, lint_for

MINE = [code for code in CODES if code > "SD201"]
"""Codes of names, captures, guards, rules and tests; those of YAML, schema and syntax have golden files."""


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert sorted(path.stem for path in pages_directory().glob("*.md")) == sorted(CODES)


@pytest.mark.parametrize("code", CODES)
def test_a_page_starts_with_its_code_and_title(code: str) -> None:
    assert page(code).startswith(f"# {code}: {CODES[code].title}\n")


def test_every_code_that_is_emitted_is_registered_and_the_other_way_round() -> None:
    folder = Path(spyre_dsl.language.__file__).parent
    texts = [path.read_text(encoding="utf-8") for path in folder.rglob("*.py") if path.name != "codes.py"]
    emitted = {code for text in texts for code in re.findall(r'"(SD\d{3})"', text)}
    assert emitted == set(CODES)


@pytest.mark.parametrize("code", MINE)
def test_a_page_shows_what_lint_prints_to_the_letter(code: str) -> None:
    assert findings_text(code, examples(code, "Wrong")) == expected(code)


@pytest.mark.parametrize("code", MINE)
def test_the_wrong_example_is_wrong_in_this_way_only(code: str) -> None:
    found = lint_for(code, examples(code, "Wrong"))
    assert {entry.code for entry in found} == {code}
    assert all(entry.severity is CODES[code].severity for entry in found)


@pytest.mark.parametrize("code", MINE)
def test_the_right_example_has_no_findings(code: str) -> None:
    assert lint(examples(code, "Right"), deep=code in DEEP) == ()


def test_a_diagnostic_has_the_severity_of_its_code_and_says_where_to_read_on() -> None:
    found = diagnose("SD302", "message", Source("f", "text"), Span(0, 1))
    assert found.severity is Severity.WARNING
    assert found.help == "spyre-dsl explain SD302"


def test_there_is_no_page_of_an_unknown_code() -> None:
    with pytest.raises(KeyError):
        page("SD999")
