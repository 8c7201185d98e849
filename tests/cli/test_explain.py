"""``spyre-dsl explain``: the page of a code, what a fact says, or all codes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from spyre_dsl.cli.fact_text import fact_text
from spyre_dsl.cli.main import main
from spyre_dsl.language.codes import CODES, page
from spyre_dsl.language.fact_texts import SECTIONS, fact, section
from spyre_dsl.language.facts import fact_ids


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


def test_what_a_silent_failure_does_in_the_simulator_is_told_apart_from_the_fact(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["explain", "S51", "S71"]) == 0
    modelled, left_out = capsys.readouterr().out.split("\n\nS71")
    fact_said, simulated = modelled.split("\n\nin the simulator\n")
    assert "Remedy: x*x*x" in fact_said and "simulated:  yes\neffect:     x ** 3: exp(3 log" in simulated
    assert "simulated:  no\n" in left_out and "effect:" not in left_out


def test_a_fact_says_what_it_states_and_where_it_is_known_from(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "e10"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("E10: error texts\n\n`Unexpected stick expression {expr}: expected Mod(var, 64)")
    assert "\nsupport:    documented, in the source" in text
    assert "\nsource:     torch-spyre #3138; torch-spyre #2851; torch-spyre #2017\n" in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_fact_names_the_adapters_and_ops_that_cite_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "O9"]) == 0
    assert "\ncited by:   op topk\n" in capsys.readouterr().out
    assert main(["explain", "T12"]) == 0
    assert "\ncited by:   adapter attention-head-padding\n" in capsys.readouterr().out
    assert main(["explain", "V13"]) == 0
    assert "cited by" not in capsys.readouterr().out


def test_several_words_are_explained_once_each_in_the_order_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "O14", "SD203", "l42B", "O14"]) == 0
    text = capsys.readouterr().out
    starts = [text.find(word) for word in ("O14: ops", page("SD203").strip(), "L42b: layouts")]
    assert starts == sorted(starts) and starts[0] == 0 and text.count("O14: ") == 1


def test_what_is_unknown_does_not_hide_what_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "E70", "E10", "nothing-like-it"]) == 2
    told = capsys.readouterr()
    assert told.out.startswith("E10: ")
    assert told.err.splitlines() == [
        "error: unknown code `E70`; did you mean `E7`?",
        "error: unknown code `nothing-like-it`; `spyre-dsl explain` lists all codes; facts are in docs/facts.md",
    ]


@pytest.mark.parametrize(("typo", "meant"), [("S511", "S51"), ("N8", "N1"), ("T1O", "T1"), ("l42c", "L42")])
def test_an_unknown_fact_is_guessed_within_its_letter(
    typo: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", typo]) == 2
    assert f"unknown code `{typo}`; did you mean `{meant}" in capsys.readouterr().err


@pytest.mark.parametrize("letter", SECTIONS)
def test_a_letter_lists_its_facts(letter: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", letter.lower()]) == 0
    heading, _, *lines = capsys.readouterr().out.splitlines()
    assert heading == f"{letter}: {SECTIONS[letter]}"
    assert [line.split()[0] for line in lines if line[0] != " "] == list(section(letter))


@pytest.mark.parametrize("words", [["section", "5"], ["Section 5"], ["5"]])
def test_a_section_without_ids_is_a_table(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *words]) == 0
    text = capsys.readouterr().out
    assert text.startswith("section 5: ops by date\n")
    assert "\npow: X | X | B: only x * x is safe | B | D (#4479, about September 11)\n" in text


@pytest.mark.parametrize("words", [["section", "7"], ["section"], [""]])
def test_another_section_is_unknown(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *words]) == 2
    assert f"error: unknown code `{' '.join(words)}`" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["E10", "S51", "section 5"])
def test_nothing_heavy_is_imported_for_a_fact(word: str) -> None:
    code = (
        "import sys; from spyre_dsl.cli.main import main; main(['explain', sys.argv[1]]); "
        "sys.exit(bool({'torch', 'numpy', 'transformers', 'numba', 'lark'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code, word], stdout=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.parametrize("identifier", sorted(fact_ids()))
def test_every_fact_can_be_explained(identifier: str) -> None:
    text = fact_text(identifier)
    assert text.startswith(f"{identifier}: ") and " ".join(fact(identifier).text.split()) in " ".join(text.split())


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("S999", "`spyre-dsl explain S` lists the facts of this letter, docs/facts.md all of them"),
        ("n98765", "`spyre-dsl explain N` lists the facts of this letter, docs/facts.md all of them"),
        ("nothing-like-it", "`spyre-dsl explain` lists all codes; facts are in docs/facts.md"),
    ],
)
def test_where_all_facts_and_codes_are_listed_is_said(word: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", word]) == 2
    assert capsys.readouterr().err == f"error: unknown code `{word}`; {says}\n"
