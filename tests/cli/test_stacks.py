"""``spyre-dsl stacks``: list and diff."""

from __future__ import annotations

import argparse
import json

import pytest

import spyre_sim
from spyre_dsl.cli import stacks


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    stacks.add_parser(parser.add_subparsers(dest="command"))
    return stacks.run(parser.parse_args(["stacks", *words]))


def test_every_profile_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[::2]] == list(spyre_sim.stack_names())


def test_the_list_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json", "list") == 0
    rows = json.loads(capsys.readouterr().out)
    assert {"name", "date", "title", "ops", "ops_on_device", "defects"} == set(rows[0])


def test_a_diff_names_ops_and_defects(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("diff", "2026-06", "2026-09") == 0
    text = capsys.readouterr().out
    assert text.startswith("from 2026-06 to 2026-09\n")
    assert "  pow " in text
    assert "  S51" in text.partition("defects fixed")[2].partition("defects introduced")[0]


def test_a_profile_does_not_differ_from_itself() -> None:
    stack = spyre_sim.load_stack("2026-06")
    result = stacks.difference(stack, stack)
    assert (result["ops"], result["fixed"], result["introduced"]) == ([], [], [])


def test_a_diff_turned_around_has_fixed_and_introduced_exchanged() -> None:
    old, new = spyre_sim.load_stack("2026-06"), spyre_sim.load_stack("2026-08")
    forth, back = stacks.difference(old, new), stacks.difference(new, old)
    assert (forth["fixed"], forth["introduced"]) == (back["introduced"], back["fixed"])


def test_defects_are_sorted_by_their_number() -> None:
    result = stacks.difference(spyre_sim.load_stack("2026-06"), spyre_sim.load_stack("ideal"))
    numbers = [int("".join(filter(str.isdigit, row["id"]))) for row in result["fixed"]]
    assert numbers == sorted(numbers) != []


def test_a_wrong_name_gets_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("diff", "2026-06", "2026-0") == 2
    error = capsys.readouterr().err
    assert "no stack `2026-0`" in error and "did you mean `2026-0" in error
