"""``spyre-dsl why``: where a rule matches, and the first condition that fails where it does not."""

from __future__ import annotations

import argparse
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from spyre_dsl.cli import why
from spyre_dsl.graphs.capture import Capture, capture
from spyre_dsl.matching.explain import Attempt

CUBE = """\
adapter: my-cube
summary: The stack computes the third power wrongly.
gap: {kind: missing-lowering, evidence: [S51]}
rules:
  - name: cube
    match:
      op: pow($x, 3)
    rewrite:
      op: $x * $x * $x
    math: exact
  - name: wide-cube
    match:
      op: pow($x, 3)
      where: size($x, -1) == 7
    rewrite:
      op: $x * ($x * $x)
    math: exact
tests:
  - inputs: {x: "float16[4, 64]"}
    before: pow(x, 3)
    after: x * x * x
  - inputs: {x: "float16[4, 7]"}
    before: pow(x, 3)
    after: x * (x * x)
"""
TALL = """\
  - name: of-tanh
    match:
      op: tanh(mul(pow($x, 3), 7))
    rewrite:
      op: tanh($x)
  - name: wide-cube
    match:
      op: pow($x, 3)"""
GPT2 = {
    "model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 1, "vocab_size": 64,
    "bos_token_id": 0, "eos_token_id": 0,
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cube.yaml").write_text(CUBE)
    (tmp_path / "config.json").write_text(json.dumps(GPT2))
    return tmp_path


@pytest.fixture(autouse=True)
def one_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    """All tests look at the same model, so it is captured once."""
    monkeypatch.setattr("spyre_dsl.graphs.capture.capture", capture_once)


@cache
def _captured() -> list[Capture]:
    return []


def capture_once(*call: Any) -> Capture:
    if not _captured():
        _captured().append(capture(*call))
    return _captured()[0]


def run(folder: Path, *words: str) -> int:
    parser = argparse.ArgumentParser()
    why.add_parser(parser.add_subparsers(dest="command"))
    options = ["--config", str(folder / "config.json"), "--adapters", str(folder / "cube.yaml")]
    return why.run(parser.parse_args(["why", *words, *options]))


def test_places_that_match_are_listed_with_their_source_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "my-cube/cube") == 0
    first, place = capsys.readouterr().out.splitlines()
    assert first == "my-cube/cube matches"
    assert place.startswith("  at transformer.h.*.mlp.act, ") and ".py:" in place and place.endswith("  x 2")


def test_a_rule_can_be_asked_about_before_it_has_a_test(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "cube.yaml").write_text(CUBE[: CUBE.index("tests:")])
    assert run(folder, "my-cube/cube") == 0
    told = capsys.readouterr()
    assert told.out.startswith("my-cube/cube matches\n")
    assert "cube.yaml:1:10: warning[SD504]: no test shows a rule of this file at work; nothing proves it" in told.err


def test_all_lists_every_layer_by_itself(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "my-cube/cube", "--all") == 0
    _, *places = capsys.readouterr().out.splitlines()
    assert [place.split(",")[0] for place in places] == ["  at transformer.h.0.mlp.act", "  at transformer.h.1.mlp.act"]


def test_a_rule_is_told_once_for_each_reason_and_no_rule_hides_another(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tall = CUBE.replace("  - name: wide-cube\n    match:\n      op: pow($x, 3)", TALL)
    (folder / "cube.yaml").write_text(tall)
    assert run(folder, "my-cube") == 0
    told = [line.split(" ")[0] for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert told[0] == "my-cube/cube" and set(told) == {"my-cube/cube", "my-cube/of-tanh", "my-cube/wide-cube"}
    assert told == sorted(told, key=told.index) and told.count("my-cube/of-tanh") <= why.OUTCOMES


def attempt(rule: str, reason: str, layer: int, score: float) -> Attempt:
    return Attempt(rule, None, f"layer.{layer}.act", "m.py:1", score, False, reason=reason)


def test_equal_reasons_are_folded_and_the_nearest_misses_stand_first() -> None:
    near = [attempt("a/one", "near", layer, 0.9) for layer in range(30)]
    far = [attempt("a/one", f"far {reason}", layer, 0.1) for layer in range(30) for reason in range(4)]
    other = [attempt("a/two", "nothing like it", 0, 0.0)]
    text = why._text([*near, *far, *other], False)
    assert text.splitlines() == [
        "a/one does not match: near", "  at layer.*.act, m.py:1  x 30",
        "a/one does not match: far 0", "  at layer.*.act, m.py:1  x 30",
        "a/one does not match: far 1", "  at layer.*.act, m.py:1  x 30",
        "  and 60 places that fail earlier, for 2 reasons; --all shows them",
        "a/two does not match: nothing like it", "  at layer.0.act, m.py:1",
    ]  # fmt: skip
    assert why._text([*near, *far, *other], True).count("  at ") == 151


def test_a_parameter_in_a_reason_does_not_keep_layers_apart() -> None:
    found = [attempt("a/one", f"found `parameter` (layer.{layer}.weight)", layer, 0.5) for layer in range(3)]
    assert why._text(found, False).splitlines() == [
        "a/one does not match: found `parameter` (layer.*.weight)", "  at layer.*.act, m.py:1  x 3",
    ]  # fmt: skip
    assert "(layer.2.weight)" in why._text(found, True)


def test_places_that_have_nothing_in_common_are_cut() -> None:
    places = [Attempt("a/one", None, f"block{name}", "", 0.5, False, reason="no") for name in "abcdefgh"]
    lines = why._text(places, False).splitlines()
    assert (len(lines), lines[-1]) == (2 + why.PLACES, "  and at 3 more places; --all shows them")


def test_a_guard_that_fails_is_shown_with_its_value_and_its_place(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, "wide-cube") == 1
    text = capsys.readouterr().out
    assert "my-cube/wide-cube does not match: " in text and "256" in text
    assert f"{folder / 'cube.yaml'}:14:14: size($x, -1) == 7" in text


@pytest.mark.parametrize("op", ["0.04475 * $x ** 3", "$x ** 3 * 0.04475"])
def test_a_wrong_constant_is_told_once_for_all_layers(
    folder: Path, op: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "cube.yaml").write_text(CUBE.replace("op: pow($x, 3)\n    rewrite", f"op: {op}\n    rewrite", 1))
    assert run(folder, "my-cube/cube") == 1
    first, place, where, *_ = capsys.readouterr().out.splitlines()
    assert first == "my-cube/cube does not match: expected 0.04475, found 0.044715"
    assert place.endswith(": 0.04475") and where.endswith("  x 2")


def test_a_path_narrows_it_down(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "cube", "transformer.h.1") == 0
    assert "h.0" not in capsys.readouterr().out


def test_json_has_every_place(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "wide-cube", "--json") == 1
    attempts = json.loads(capsys.readouterr().out)
    assert [attempt["module_path"] for attempt in attempts] == ["transformer.h.0.mlp.act", "transformer.h.1.mlp.act"]
    assert {attempt["matched"] for attempt in attempts} == {False}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cub", "did you mean `cube`?"),
        ("my-cube/cub", "did you mean `my-cube/cube`?"),
        ("nothing-like-it", "there are my-cube/cube, my-cube/wide-cube"),
    ],
)
def test_a_wrong_rule_gets_the_nearest_before_the_model_is_loaded(
    folder: Path, name: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "config.json").unlink()
    assert run(folder, name) == 2
    assert capsys.readouterr().err == f"error: no rule is called `{name}`\n  help: {hint}\n"


@pytest.mark.parametrize("words", [["one", "two", "three"]])
def test_too_many_names_are_refused(folder: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, *words) == 2
    assert "takes --config FILE RULE [PATH]" in capsys.readouterr().err


def test_what_could_match_nowhere_has_no_place(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "cube.yaml").write_text(
        CUBE.replace("op: pow($x, 3)", "op: cumsum($x, 1)").replace("pow(x, 3)", "cumsum(x, 1)")
    )
    assert run(folder, "cube") == 1
    text = capsys.readouterr().out
    assert "there is no `cumsum` in this model" in text and "\n  at " not in text


def test_a_rule_for_other_models_has_no_place(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    llama = "      op: pow($x, 3)\n      config: {model_type: llama}\n"
    (folder / "cube.yaml").write_text(CUBE.replace("      op: pow($x, 3)\n", llama))
    assert run(folder, "cube") == 1
    text = capsys.readouterr().out
    assert "config.model_type must be llama; it is gpt2" in text and "\n  at " not in text
