"""One resolution of a stack for every command and for Python: names, days, files, profiles."""

from __future__ import annotations

from pathlib import Path

import pytest

import spyre_sim
from spyre_dsl.targets.profiles import StackProblem, load_stack

MINE = "name: mine\ndate: 2026-06-24\ntitle: Mine\nextends: facts\n"


def test_a_name_a_day_a_file_and_a_profile_are_profiles(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(MINE)
    assert [load_stack(given).name for given in ("2026-08", "2026-07-15", file, str(file))] == [
        "2026-08", "2026-07-15", "mine", "mine",
    ]  # fmt: skip
    assert load_stack(load_stack("ideal")) is spyre_sim.load_stack("ideal")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2026-6", "no stack `2026-6`\n  help: did you mean `2026-06`? there are 2025-11, "),
        ("idael", "did you mean `ideal`?"),
        ("2030-01-01", "no stack `2030-01-01`\n  help: there are [^$]* the days from 2025-11-21 to 2026-09-24"),
        ("absent.yaml", "absent.yaml cannot be used\nabsent.yaml:1:1: there is no such file"),
    ],
)
def test_what_is_none_is_refused_with_what_there_is(given: str, expected: str) -> None:
    with pytest.raises(StackProblem, match=expected.replace("?", r"\?")):
        load_stack(given)


def test_a_file_with_mistakes_is_refused_with_all_of_them(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(MINE + "numeric: {}\nconstant: {}\n")
    with pytest.raises(
        StackProblem, match="mine.yaml:5:1: unknown key 'numeric'[^$]*mine.yaml:6:1: unknown key 'constant'"
    ):
        load_stack(file)
