"""``spyre-dsl explain``: the page of a code, or all codes."""

from __future__ import annotations

import os
import subprocess
import sys

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


@pytest.mark.parametrize("word", ["203", "sd-203", "E203", "sd_203"])
def test_a_code_is_guessed_by_its_number(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", word]) == 2
    assert capsys.readouterr().err == f"error: unknown code `{word}`; did you mean `SD203`?\n"


@pytest.mark.parametrize("arguments", [[], ["SD203"]])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_nobody_reads_to_its_end_is_no_error(arguments: list[str], unbuffered: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "spyre_dsl.cli.main", "explain", *arguments],
            stdout=writing, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": unbuffered}, check=False,
        )  # fmt: skip
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_silent_failure_is_explained_by_its_id(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "s51"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("S51: cube through pow\n")
    assert "interval:   from the first snapshot to 2026-09-11" in text and "known from: #4479" in text


def test_another_fact_is_no_code_and_said_to_be_a_fact(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "E10"]) == 2
    assert "`E10` is the id of a public fact" in capsys.readouterr().err
