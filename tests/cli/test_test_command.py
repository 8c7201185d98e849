"""``spyre-dsl test``: a line a test, what went wrong below it, and an exit code to build on."""

from __future__ import annotations

import json
import re
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
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[0].startswith("cubes/becomes products  fires ok  math ok (4 trials)  gap ok (wrong S51 (cosine -")
    assert re.fullmatch(r"1 test of 1 adapter, 4 trials, \d+ s: all passed", lines[-1])
    assert "not checked" not in shown.out
    told = ["loading torch ...", "1 test of 1 adapter, 4 trials each", "[1/1] cubes/becomes products ..."]
    assert shown.err.splitlines() == told


def test_a_failure_shows_the_place_and_the_counterexample(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = GOOD.replace("$x * $x * $x", "$x * $x * $x * 1.0001")
    good.write_text(wrong.replace("after: x * x * x", "after: x * x * x * 1.0001"))
    assert main(["test", str(good), *FAST, "--no-gap"]) == 1
    out = capsys.readouterr().out
    assert "math FAILED (not exact)  gap -" in out
    assert f"    {good}:8:11: math: not exact" in out
    assert "$x = float16[" in out and "before at [" in out and "rounding explains" in out
    assert "-: not checked (not asked for)" in out.splitlines()
    assert out.splitlines()[-1].endswith(" s: 1 failed; exit code 1")


def test_an_approximate_claim_says_bound_and_error_where_the_claim_stands(
    good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = GOOD.replace("$x * $x * $x", "$x * $x * $x * 1.0001")
    wrong = wrong.replace("math: exact", "math: {approximate: {max_relative: 1e-6}}")
    good.write_text(wrong.replace("after: x * x * x", "after: x * x * x * 1.0001"))
    assert main(["test", str(good), *FAST, "--no-gap"]) == 1
    says = f"{good}:8:11: math: not approximate: relative error 0.0001 > max_relative 1e-06"
    assert says in capsys.readouterr().out


def test_a_rule_that_does_not_fire_has_its_reason(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good.write_text(GOOD.replace('match: {op: "pow($x, 3)"}', 'match: {op: "pow($x, 3)", where: rank($x) == 3}'))
    assert main(["test", str(good), *FAST, "--no-gap"]) == 1
    out = capsys.readouterr().out
    assert "cubes/cube does not match at `pow`: the guard needs a value == 3; it is 2" in out
    assert f"{good}:6:38: rank($x) == 3" in out
    assert "-: not checked (the test already failed)" in out


def test_a_finding_about_the_adapter_fails_the_run(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", str(good), *FAST, "--stack", "2026-09"]) == 1
    out = capsys.readouterr().out
    assert "gap not shown here (the code before is right)" in out
    assert "cubes: no test shows the gap on 2026-09" in out
    assert out.splitlines()[-1].endswith(" s: 1 passed, 1 finding about cubes; exit code 1")


def test_json_is_one_object(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", str(good), *FAST, "--json"]) == 0
    printed = capsys.readouterr()
    shown = json.loads(printed.out)
    (test,) = shown["adapters"][0]["tests"]
    assert printed.err.splitlines() == ["loading torch ..."]
    assert shown["passed"] is test["passed"] is True and shown["seconds"] > 0
    assert (test["fires"]["outcome"], test["math"]["trials"], test["gap"]["outcome"]) == ("ok", 4, "ok")


def test_json_holds_the_counterexample_and_no_number_that_json_lacks(
    good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = GOOD.replace("$x * $x * $x", "$x * $x * $x * $x / $x")  # not a number at 0
    good.write_text(wrong.replace("after: x * x * x", "after: x * x * x * x / x"))
    assert main(["test", str(good), "--trials", "24", "--no-gap", "--json"]) == 1
    shown = json.loads(capsys.readouterr().out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    math = shown["adapters"][0]["tests"][0]["math"]
    assert (math["outcome"], math["place"]) == ("failed", f"{good}:8:11")
    assert any("$x = float" in line for line in math["details"])
    assert any(line.startswith("before at [") for line in math["details"])
    assert math["counterexample"]["after"] == "nan"


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
