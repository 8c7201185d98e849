"""What is said of a file that has the wrong shape: one diagnostic a mistake.

Each case of ``golden/schema.txt`` is an edit of a small valid file: lines of it, ``=>``, and what stands there instead
(``!`` is the whole file).
"""

from __future__ import annotations

import pytest

from spyre_dsl.language.checks import check as check_all
from spyre_dsl.language.diagnostics import Severity
from spyre_dsl.language.loader import load_text
from tests.language.golden_files import Case, check, read_cases, render
from tests.language.samples import SMALL


def edited(edit: str) -> str:
    old, _, new = edit.partition("=>\n")
    if old == "!\n":
        return new
    assert SMALL.count(old) == 1, old
    return SMALL.replace(old, new)


def test_one_diagnostic_a_mistake() -> None:
    check("schema.txt", lambda edit: render(load_text(edited(edit), "file").diagnostics) or "fine")


@pytest.mark.parametrize("case", read_cases("schema.txt"), ids=lambda case: case.title)
def test_no_check_adds_a_consequence(case: Case) -> None:
    """The semantic checks find no error in what is left of a file that has one of shape."""
    result = load_text(edited(case.text), "file")
    added = [found for found in check_all([result]) if found not in result.diagnostics]
    assert render(found for found in added if found.severity is Severity.ERROR) == ""
