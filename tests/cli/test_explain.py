"""``spyre-dsl explain``: the page of a code, or all codes."""

from __future__ import annotations

import pytest

from spyre_dsl.cli.main import main
from spyre_dsl.language.codes import CODES, page


def test_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "SD203"]) == 0
    assert capsys.readouterr().out.strip() == page("SD203").strip()


def test_case_does_not_matter(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "sd203"]) == 0


def test_all_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:5] for line in lines] == list(CODES)
    assert "SD302  warning  unused capture" in lines


def test_an_unknown_code_is_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "SD2O3"]) == 2
    assert capsys.readouterr().err == "error: unknown code `SD2O3`; did you mean `SD203`?\n"
    assert main(["explain", "nothing-like-it"]) == 2
    assert "lists all codes" in capsys.readouterr().err
