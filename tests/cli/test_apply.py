"""``spyre-dsl apply``: exit codes, what goes where, and what it says when the input cannot be used."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import jsonschema
import pytest

from spyre_dsl.cli import apply
from spyre_dsl.language.resources import resource
from tests.language.samples import CUBE

GPT2 = {
    "model_type": "gpt2", "n_embd": 64, "n_layer": 1, "n_head": 1, "vocab_size": 64,
    "bos_token_id": 0, "eos_token_id": 0,
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a tiny GPT-2's config and one adapter; the hub is not asked."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub-cache"))
    (tmp_path / "cube.yaml").write_text(CUBE)
    (tmp_path / "config.json").write_text(json.dumps(GPT2))
    return tmp_path


def run(*words: object) -> int:
    parser = argparse.ArgumentParser()
    apply.add_parser(parser.add_subparsers(dest="command"))
    return apply.run(parser.parse_args(["apply", *map(str, words)]))


def on_tiny_model(folder: Path, *words: object) -> int:
    model = ("--config", folder / "config.json", "--adapters", folder / "cube.yaml", "--text", "one two three")
    return run(*model, *words)


def report_of(text: str) -> dict[str, object]:
    """The JSON object, which must be all there is and must fit its schema."""
    report: dict[str, object] = json.loads(text)
    schema = json.loads(resource("schema/report.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator(schema).validate(report)
    return report


def test_on_the_cpu_the_patched_model_equals_the_stock_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert on_tiny_model(folder, "--random-weights", "--target", "cpu", "--json") == 0
    report = report_of(capsys.readouterr().out)
    assert report["verdict"] == "pass"
    assert report["max_abs_diff"] == pytest.approx(0.0, abs=1e-5)
    assert [patch["rule"] for patch in report["patches"]] == ["my-cube"]  # type: ignore[attr-defined]


def test_progress_goes_to_standard_error_and_the_report_to_standard_output(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert on_tiny_model(folder, "--random-weights", "--target", "cpu") == 0
    captured = capsys.readouterr()
    assert "running on cpu ..." in captured.err
    assert "running on cpu" not in captured.out
    assert captured.out.splitlines()[-1].startswith("verdict: PASS")


def test_verify_checks_the_claim_at_every_place(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert on_tiny_model(folder, "--random-weights", "--target", "cpu", "--verify", "--json") == 0
    claims = report_of(capsys.readouterr().out)["claims"]
    assert [(claim["rule"], claim["outcome"]) for claim in claims] == [("my-cube", "ok")]  # type: ignore[attr-defined]


def test_a_claim_that_does_not_hold_fails_the_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "cube.yaml").write_text(CUBE.replace("$x * $x * $x", "$x * $x * $x * 1.01"))
    assert on_tiny_model(folder, "--random-weights", "--target", "cpu", "--verify") == 1
    text = capsys.readouterr().out
    assert "math claims checked inside the model: 1 failed\n  my-cube/my-cube at transformer.h.0.mlp.act: " in text
    assert text.splitlines()[-1].startswith("verdict: CLAIMS REFUTED")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("    math: exact\n", "", "the rule makes no math claim"),
        (
            "op: pow($x, 3)\n    rewrite:\n      op: $x * $x * $x\n",
            'module: "*NewGELU*"\n    rewrite:\n      forward: return input * 1.01\n',
            "only expressions are tried inside a model",
        ),
    ],
)
def test_verify_says_what_it_did_not_check(
    old: str, new: str, why: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert old in CUBE
    (folder / "cube.yaml").write_text(CUBE.replace(old, new))
    on_tiny_model(folder, "--random-weights", "--target", "cpu", "--verify")
    text = capsys.readouterr().out
    assert f"math claims checked inside the model: 1 skipped\n  my-cube/my-cube x 1: not checked, {why}" in text


def test_a_report_file_is_written_beside_the_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert on_tiny_model(folder, "--random-weights", "--target", "cpu", "--report", folder / "report.json") == 0
    assert report_of((folder / "report.json").read_text())["verdict"] == "pass"
    assert "verdict: PASS" in capsys.readouterr().out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_a_report_that_cannot_be_written_loses_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert on_tiny_model(folder, "--random-weights", "--target", "cpu", "--json", "--report", "/dev/full") == 2
    printed = capsys.readouterr()
    assert report_of(printed.out)["verdict"] == "pass"
    assert "No space left on device" in printed.err


def test_a_dry_run_needs_no_weights_and_runs_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert on_tiny_model(folder, "--dry-run", "--json") == 0
    report = report_of(capsys.readouterr().out)
    assert (report["verdict"], report["min_token_cosine"], len(report["patches"])) == ("planned", None, 1)  # type: ignore[arg-type]


def test_a_rule_without_a_test_is_planned_with_a_warning(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "cube.yaml").write_text(CUBE[: CUBE.index("tests:")])
    assert on_tiny_model(folder, "--dry-run", "--json") == 0
    told = capsys.readouterr()
    assert len(report_of(told.out)["patches"]) == 1  # type: ignore[arg-type]
    assert "warning[SD504]: no test shows a rule of this file at work; nothing proves it" in told.err


@pytest.mark.parametrize("local", [True, False])
def test_the_report_says_which_adapters_were_read_by_default(
    local: bool, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    if local:
        (folder / "adapters.d").mkdir()
        (folder / "cube.yaml").rename(folder / "adapters.d" / "cube.yaml")
    assert run("--config", folder / "config.json", "--dry-run", "--json", "--text", "one two three") == 0
    report = report_of(capsys.readouterr().out)
    assert report["adapters_from"] == ["adapters.d" if local else str(resource("adapters.d"))]
    assert (report["adapters"] == ["my-cube"]) == local


def test_texts_that_are_cut_are_noted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "config.json").write_text(json.dumps(GPT2 | {"n_positions": 16}))
    long = ("--dry-run", "--text", " ".join(map(str, range(50))))
    assert on_tiny_model(folder, *long) == 0
    assert "note:    texts cut to 16 tokens, the model's limit\n" in capsys.readouterr().out
    assert on_tiny_model(folder, *long, "--json") == 0
    report = report_of(capsys.readouterr().out)
    assert report["batch"] == [2, 16] and "texts cut to 16 tokens, the model's limit" in report["notes"]  # type: ignore[operator]


def test_an_expired_adapter_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "cube.yaml").write_text(CUBE.replace("rules:", 'expires: stack.supports("aten.pow", "float16")\nrules:'))
    assert on_tiny_model(folder, "--dry-run", "--stack", "2026-09") == 0
    assert "note:    my-cube has expired on 2026-09\n" in capsys.readouterr().out


def test_an_adapter_can_be_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert on_tiny_model(folder, "--dry-run", "--without", "my-cube", "--json") == 0
    report = report_of(capsys.readouterr().out)
    assert (report["adapters"], report["patches"]) == ([], [])


def test_without_adapters_the_gaps_name_what_could_bridge_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert on_tiny_model(folder, "--random-weights", "--no-adapters", "--json") == 1
    report = report_of(capsys.readouterr().out)
    assert report["patches"] == [] and report["gaps"]


def test_a_config_alone_cannot_be_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert on_tiny_model(folder) == 2
    assert "add --random-weights, or --dry-run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), "name a MODEL, or give --config FILE"),
        (("a/b", "--config", "c.json"), "one of the two"),
        (("a/b", "--random-weights"), "--random-weights needs --config"),
        (("a/b", "--stack", "2026-6"), "no stack `2026-6`"),
        (("a/b", "--dry-run", "--verify"), "--verify needs a run"),
        (("a/b", "--dry-run", "--profile"), "--profile needs a run"),
        (("a/b", "--dry-run", "--trace", "t.json"), "--trace needs a run"),
        (("a/b", "--no-adapters", "--verify"), "--no-adapters applies none"),
        (("a/b", "--report", "."), ". cannot be written: it is a folder"),
        (("a/b", "--report", "absent/r.json"), "absent/r.json cannot be written: no such folder"),
        (("a/b", "--trace", "absent/t.json"), "absent/t.json cannot be written: no such folder"),
        (("a/b", "--adapters", "absent.d"), "no adapters at absent.d"),
        (("a/b", "--without", "my-cub"), "no adapter is called `my-cub`\n  help: did you mean `my-cube`?"),
        (("nobody/nothing",), "no model `nobody/nothing` was found; looked, in this order, at"),
        (("./absent",), "no model `./absent` was found"),
    ],
)
def test_unusable_input_is_exit_code_2_with_a_reason(
    folder: Path, words: tuple[str, ...], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    adapters = () if "--adapters" in words else ("--adapters", folder / "cube.yaml")
    assert run(*words, *adapters) == 2
    captured = capsys.readouterr()
    assert expected in captured.err and captured.out == ""
    assert run(*words, *adapters, "--json") == 2
    captured = capsys.readouterr()
    report = report_of(captured.out)
    assert report["verdict"] == "error" and expected in captured.err
    assert expected in str(report["error"])
    assert report["model"] == (words[0] if words and not words[0].startswith("-") else None)


def test_rule_files_with_errors_are_unusable_input(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "cube.yaml").write_text(CUBE.replace("pow($x, 3)", "powr($x, 3)"))
    assert on_tiny_model(folder, "--random-weights") == 2
    assert "cube.yaml:6:11: error[SD" in capsys.readouterr().err
    assert on_tiny_model(folder, "--random-weights", "--json") == 2
    report = report_of(capsys.readouterr().out)
    assert "cube.yaml:6:11" in str(report["error"]) and report["model"] == str(folder / "config.json")


def test_a_report_that_cannot_be_written_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--random-weights", "--target", "cpu", "--report", folder / "absent" / "report.json")
    assert on_tiny_model(folder, *words) == 2
    assert "report.json" in capsys.readouterr().err
