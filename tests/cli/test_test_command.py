"""``spyre-dsl test``: a line a test, what went wrong below it, and an exit code to build on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spyre_dsl.cli.main import main

GOOD = """\
adapter: cubes
summary: an example
gap: {kind: missing-lowering, evidence: [S51]}
rules:
  - name: cube
    match: {op: "pow($x, 3)"}
    rewrite: {op: $x * $x * $x}
    math: exact
tests:
  - name: becomes products
    inputs: {x: "float16[4, 64]"}
    before: pow(x, 3)
    after: x * x * x
    fires: cube
"""
FAST = ["--trials", "4"]


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "cubes.yaml"
    path.write_text(GOOD)
    return path


def test_a_test_that_passes_takes_one_line(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", str(good), *FAST]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("cubes/becomes products  fires ok  math ok (4 trials)  gap ok (wrong S51 (cosine -")
    assert lines[-1] == "1 tests of 1 adapters, 4 trials, all passed"


def test_a_failure_shows_the_place_and_the_counterexample(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = GOOD.replace("$x * $x * $x", "$x * $x * $x * 1.0001")
    good.write_text(wrong.replace("after: x * x * x", "after: x * x * x * 1.0001"))
    assert main(["test", str(good), *FAST, "--no-gap"]) == 1
    out = capsys.readouterr().out
    assert "math FAILED (not exact)  gap -" in out
    assert f"    {good}:10: math: not exact" in out
    assert "$x = float16[" in out and "before at [" in out and "rounding explains" in out
    assert out.splitlines()[-1].endswith("1 failed")


def test_a_finding_about_the_adapter_fails_the_run(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", str(good), *FAST, "--stack", "2026-09"]) == 1
    assert "cubes: no test shows the gap on 2026-09" in capsys.readouterr().out


def test_json_is_one_object(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", str(good), *FAST, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    (test,) = shown["adapters"][0]["tests"]
    assert shown["passed"] is True
    assert (test["fires"]["outcome"], test["math"]["trials"], test["gap"]["outcome"]) == ("ok", 4, "ok")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere.yaml"], "there is no `nowhere.yaml`"),
        (["GOOD", "--rule", "cubed"], "did you mean `cube`?"),
        (["GOOD", "--stack", "2026-60"], "no stack `2026-60`"),
        (["GOOD", "--trials", "0"], "at least 1"),
    ],
)
def test_what_cannot_be_run_says_why(
    good: Path, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["test", *(str(good) if word == "GOOD" else word for word in arguments)]) == 2
    assert says in capsys.readouterr().err


def test_files_with_errors_are_not_run(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good.write_text(GOOD.replace("pow($x, 3)", "powr($x, 3)"))
    assert main(["test", str(good)]) == 2
    assert "unknown op `powr`" in capsys.readouterr().err
