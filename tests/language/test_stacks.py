"""A rule file may name the stacks that the simulator takes, and no others."""

from __future__ import annotations

import os
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spyre_dsl.language.checks import check
from spyre_dsl.language.loader import load_text
from spyre_dsl.language.stacks import named_by, unknown_stack
from spyre_dsl.language.suggest import distance
from spyre_sim.stacks import StackError, UnknownStack, load_stack, stack_names

PROFILE = 'name: "mine"  # not mine.yaml\ndate: 2026-06-24\ntitle: "One of my own"\nextends: "2026-06"\n'
DAYS = st.dates(date(2025, 11, 1), date(2026, 10, 15)).map(str)
NEARLY = st.sampled_from([*stack_names(), "2026-07-20"]).flatmap(
    lambda name: st.integers(0, len(name) - 1).map(lambda place: name[:place] + name[place + 1 :])
)


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(PROFILE, encoding="utf-8")
    return tmp_path / "mine.yaml"


def loads(name: str) -> bool:
    try:
        load_stack(name)
    except UnknownStack:
        return False
    except StackError as problem:
        return "no such file" not in str(problem)
    except (ValueError, OSError):
        return False
    return True


@given(st.one_of(st.sampled_from(stack_names()), DAYS, NEARLY, st.text(max_size=12)))
@example("2026-02-30")
@example("2026-W30-1")
@example("nowhere.yaml")
@example("no/where")
def test_a_name_is_known_here_if_it_can_be_loaded(name: str) -> None:
    if not os.path.isdir(name):
        assert (unknown_stack(name) is None) is loads(name)


def test_a_file_is_found_where_it_will_be_loaded_from(profile: Path) -> None:
    for name in ("mine.yaml", "./mine.yaml", str(profile)):
        assert unknown_stack(name) is None
        assert load_stack(name).name == "mine"
        assert named_by(name, "mine")
        assert not named_by(name, "2026-06")
    assert unknown_stack("yours.yaml") == ("there is no such file, seen from the current folder", None)
    assert not named_by("yours.yaml", "yours")


@pytest.mark.parametrize("name", ["2026-6", "2026-o6", "idael", "2026-60"])
def test_a_slip_gets_a_suggestion(name: str) -> None:
    said = unknown_stack(name)
    assert said is not None and said[1] is not None
    assert distance(name, said[1], 2) <= 2 and said[0] == f"did you mean `{said[1]}`?"


@pytest.mark.parametrize("days", [-1, 308, 10_000])
def test_a_day_that_no_facts_are_of_is_told_the_days_there_are(days: int) -> None:
    name = str(date(2025, 11, 21) + timedelta(days))
    assert unknown_stack(name) == ("the days are those from 2025-11-21 to 2026-09-24", None)


def adapter(requires: str, test: str, where: str) -> str:
    return f"""adapter: a
summary: s
gap: {{kind: layout, evidence: [S5]}}
requires: {{stacks: [{requires}]}}
rules:
  - match: {{op: "pow($x, 3)", where: '{where}'}}
    rewrite: {{op: $x * $x * $x}}
    math: exact
tests:
  - inputs: {{x: "float16[4, 64]"}}
    before: pow(x, 3)
    after: x * x * x
    stack: {test}
"""


@pytest.mark.usefixtures("profile")
def test_all_three_kinds_of_names_may_stand_wherever_a_stack_is_named() -> None:
    text = adapter("2026-07-20, mine.yaml, ideal", "./mine.yaml", 'stack.name in ["2026-06", "mine"]')
    assert check([load_text(text, "a.yaml")]) == ()


def test_each_wrong_name_is_told_once_in_its_place() -> None:
    text = adapter("2026-10-20, mine.yaml, 2026-6", "2026-60", 'stack.name == "2026-6" or stack.name in ["idel"]')
    found = check([load_text(text, "a.yaml")])
    assert {entry.code for entry in found} == {"SD211"}
    places = [entry.source.text[entry.span.start : entry.span.end] for entry in found]
    assert places == ["2026-10-20", "mine.yaml", "2026-6", '"2026-6"', '"idel"', "2026-60"]
    assert [entry.suggestion for entry in found][2:] == ["2026-06", '"2026-06"', '"ideal"', "2026-06"]
