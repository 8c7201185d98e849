"""``spyre-dsl stacks``: list, show, diff and check."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import get_args

import pytest

import spyre_sim
from spyre_dsl.cli import stack_text, stacks
from spyre_sim.stacks.model import OpKind


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
    assert (result["ops"], result["settings"], result["fixed"], result["introduced"]) == ([], [], [], [])


OUR_BRANCH = """\
name: our-branch
date: 2026-06-24
title: June 2026 as our branch has it
extends: "2026-06"
"""
SETTINGS = {
    "numerics": {"sdpa": "flash", "matmul_chunk": 64, "exp_mask": -10000.0, "softplus_divides": True},
    "constants": {"launch_us": 3.5, "hbm_pool": False},
}


@pytest.mark.parametrize(("section", "name"), [(part, name) for part, names in SETTINGS.items() for name in names])
def test_a_changed_setting_is_named_with_both_values(
    section: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = SETTINGS[section][name]
    (tmp_path / "our.yaml").write_text(f"{OUR_BRANCH}{section}:\n  {name}: {json.dumps(value)}\n")
    before = getattr(getattr(spyre_sim.load_stack("2026-06"), section), name)
    assert before != value
    assert run("diff", "2026-06", str(tmp_path / "our.yaml"), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["settings"] == [{"setting": f"{section}.{name}", "old": before, "new": value}]
    assert run("diff", "2026-06", str(tmp_path / "our.yaml")) == 0
    lines = capsys.readouterr().out.splitlines()
    after = lines[lines.index("settings that differ: 1") + 1]
    assert after.split() == [f"{section}.{name}", *stacks._value(before).split(), "->", stacks._value(value)]


@pytest.mark.parametrize("name", spyre_sim.stack_names())
def test_a_diff_is_strict_json(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("diff", "2026-06", name, "--json") == 0

    def refuse(constant: str) -> None:
        raise AssertionError(f"JSON has no {constant}")

    json.loads(capsys.readouterr().out, parse_constant=refuse)


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


@pytest.mark.parametrize("name", [*spyre_sim.stack_names(), "2026-07-15"])
def test_every_op_of_a_profile_is_shown_once_under_its_status(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", name) == 0
    stack = spyre_sim.load_stack(name)
    ops, _, defects = capsys.readouterr().out.partition("\nknown defects")
    sections = re.split(r"\n(?=\w+ \(\d+\): )", ops)[1:]
    assert [section.split(" ", 1)[0] for section in sections] == list(stack_text.LEGEND)
    for section in sections:
        kind, listed = section.split(" ", 1)[0], section.partition("\n\n")[0].split("\n")[1:]
        shown = [word.removesuffix("*") for word in " ".join(listed).split()]
        assert shown == sorted(op for op, status in stack.ops.items() if status.kind == kind)
    assert re.findall(r"^  (S\d+) ", defects, re.MULTILINE) == sorted(stack.defects, key=stack_text.by_number)


def test_the_legend_explains_every_status_there_is() -> None:
    assert set(stack_text.LEGEND) == set(get_args(OpKind))


def test_a_defect_is_shown_with_its_symptom(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "2026-06") == 0
    assert "  S51   cube through pow: relative error 1.5\n" in capsys.readouterr().out


@pytest.mark.parametrize("words", [("show", "2026-06", "--json"), ("--json", "show", "2026-06")])
def test_show_as_json_has_limits_too(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*words) == 0
    shown = json.loads(capsys.readouterr().out)
    ops = {op["op"]: op for op in shown["ops"]}
    assert ops["pow"]["kind"] == "broken" and ops["topk"]["restrictions"]
    assert {"id": "S51", "fixed": "2026-09-11"}.items() <= {row["id"]: row for row in shown["defects"]}["S51"].items()


MINE = "name: mine\ndate: 2026-06-24\ntitle: Mine\nextends: facts\n"


def test_a_profile_of_ones_own_is_checked_line_by_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(MINE + "numeric: {}\nconstant: {}\n")
    assert run("check", str(file)) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{file}:5:1: unknown key 'numeric'; did you mean 'numerics'?",
        f"{file}:6:1: unknown key 'constant'; did you mean 'constants'?",
    ]
    assert run("check", str(file), "--json") == 1
    found = json.loads(capsys.readouterr().out)["problems"]
    assert [(each["line"], each["column"]) for each in found] == [(5, 1), (6, 1)]


def test_a_usable_profile_has_no_problems_and_can_be_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(MINE)
    assert run("check", str(file)) == 0
    assert capsys.readouterr().out == f"{file}: usable\n"
    assert run("show", str(file)) == 0
    assert capsys.readouterr().out.startswith("mine, the stack of 2026-06-24: Mine\n")


def test_a_profile_that_extends_an_unusable_one_is_unusable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "parent.yaml").write_text(MINE + "numeric: {}\n")
    (tmp_path / "mine.yaml").write_text(MINE.replace("extends: facts", "extends: parent.yaml"))
    assert run("check", str(tmp_path / "mine.yaml")) == 2
    assert "parent.yaml:5:1: unknown key 'numeric'" in capsys.readouterr().err
