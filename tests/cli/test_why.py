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
    first, *places = capsys.readouterr().out.splitlines()
    assert first == "my-cube/cube matches"
    assert [place.split(",")[0] for place in places] == ["  at transformer.h.0.mlp.act", "  at transformer.h.1.mlp.act"]
    assert all(".py:" in place for place in places)


def test_a_guard_that_fails_is_shown_with_its_value_and_its_place(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, "wide-cube") == 1
    text = capsys.readouterr().out
    assert "my-cube/wide-cube does not match: " in text and "256" in text
    assert f"{folder / 'cube.yaml'}:14:14: size($x, -1) == 7" in text


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
