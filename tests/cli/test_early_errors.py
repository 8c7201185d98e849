"""What is quick to find wrong is told before torch is imported; a verdict's seconds count from the start."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spyre_dsl.cli.main import main
from tests.language.samples import CUBE

# The command line, in a Python that has no torch to import.
WITHOUT_TORCH = (
    "import sys; sys.modules['torch'] = None; from spyre_dsl.cli.main import main; sys.exit(main({words!r}))"
)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["apply", "./absent"], "no model `./absent` was found"),
        (["apply", "pkg:absent_package/model"], "the installed package absent_package: it is not installed"),
        (["apply", "pkg:spyre_dsl/absent"], "the folder absent in the package spyre_dsl: there is none"),
        (["apply", "nobody/nothing"], "no model `nobody/nothing` was found"),
        (["apply", "."], "there is no config.json"),
        (["apply", "bare"], "there are no weights"),
        (["apply", "broken"], "not valid JSON"),
        (
            ["apply", "bare/config.json"],
            "help: name the folder it is in, or build the model from it: --config bare/config.json",
        ),
        (["apply", "--config", "absent.json", "--dry-run"], "absent.json: there is no such file"),
        (["apply", "--config", "broken/config.json", "--dry-run"], "not valid JSON"),
        (
            ["apply", "--config", "bare", "--dry-run", "--stack", "2026-6"],
            "no stack `2026-6`\n  help: did you mean `2026-06`?",
        ),
        (["apply", "--config", "bare", "--dry-run", "--stack", "2020-01-01"], "the days from 2025-11-21 to 2026-09-24"),
        (["apply", "--config", "bare", "--dry-run", "--adapters", "absent.d"], "no adapters at absent.d"),
        (
            ["apply", "--config", "bare", "--dry-run", "--adapters", "bare", "--adapters", "typo"],
            "no adapter files (*.yaml, *.yml) in bare, typo",
        ),
        (["why", "./absent", "gelu-new-cube", "--adapters", "bare"], "no adapter files (*.yaml, *.yml) in bare"),
        (["test", "bare"], "no adapter files (*.yaml, *.yml) in bare"),
        (["apply", "--config", "typo", "--dry-run"], "no model type `brt`\n  help: did you mean `bart`?"),
        (["apply", "typo"], "there are no weights"),
        (["apply", "--config", "bare", "--dry-run"], "there is no `model_type`"),
        (["apply", "--config", "quantised", "--dry-run"], "this checkpoint is quantised (awq)"),
        (["why", "--config", "typo", "gelu-new-cube"], "no model type `brt`\n  help: did you mean `bart`?"),
        (["why", "./absent", "gelu-new-cube"], "no model `./absent` was found"),
        (["why", "--config", "absent.json", "gelu-new-cube"], "absent.json: there is no such file"),
        (["why", "./absent", "gelu-new-cub"], "did you mean `gelu-new-cube`?"),
        (["why", "./absent", "gelu-new-cube", "--stack", "2026-6"], "did you mean `2026-06`?"),
        (["test", "absent.yaml"], "there is no `absent.yaml`"),
    ],
)
def test_no_torch_is_needed_to_refuse(
    words: list[str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub-cache"))
    quantised = '{"model_type": "bert", "quantization_config": {"quant_method": "awq"}}'
    texts = {"bare": "{}", "broken": "{", "typo": '{"model_type": "brt"}', "quantised": quantised}
    for name, text in texts.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(text)
    code = WITHOUT_TORCH.format(words=words)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert expected in done.stderr


def test_a_json_file_in_this_folder_is_no_hub_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.json").write_text("{}")
    assert main(["apply", "config.json"]) == 2
    assert "--config config.json --random-weights" in capsys.readouterr().err


def test_the_seconds_of_the_verdict_count_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = {"model_type": "gpt2", "n_embd": 64, "n_layer": 1, "n_head": 1, "vocab_size": 64, "bos_token_id": 0}
    (tmp_path / "config.json").write_text(json.dumps({**config, "eos_token_id": 0}))
    from spyre_dsl.cli import adapter_files

    load = adapter_files.load_untested

    def slowly(*places: object) -> object:
        time.sleep(0.5)
        return load(*places)  # type: ignore[arg-type]

    monkeypatch.setattr(adapter_files, "load_untested", slowly)
    words = ["--config", str(tmp_path / "config.json"), "--dry-run", "--text", "one two", "--json"]
    assert main(["apply", *words]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["seconds"] > sum(report["timings"].values()) + 0.5


@pytest.mark.parametrize("stack", ["2026-07-15", "mine.yaml"])
@pytest.mark.parametrize("words", [["stacks", "show"], ["stacks", "diff", "2026-06"]])
def test_a_day_and_a_file_are_stacks_wherever_one_is_named(
    words: list[str], stack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text("name: mine\ndate: 2026-06-24\ntitle: Mine\nextends: facts\n")
    assert main([*words, stack]) == 0
    assert re.search(stack.removesuffix(".yaml"), capsys.readouterr().out)


@pytest.mark.parametrize("stack", ["2026-07-15", "mine.yaml"])
def test_apply_and_test_take_a_day_and_a_file(
    stack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text("name: mine\ndate: 2026-06-24\ntitle: Mine\nextends: facts\n")
    Path("cube.yaml").write_text(CUBE)
    Path("config.json").write_text(
        '{"model_type": "gpt2", "n_embd": 64, "n_layer": 1, "n_head": 1, "vocab_size": 64, "bos_token_id": 0, '
        '"eos_token_id": 0}'
    )
    model = ["--config", "config.json", "--adapters", "cube.yaml", "--stack", stack]
    assert main(["apply", *model, "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stack"] == stack.removesuffix(".yaml")
    assert main(["why", *model, "my-cube"]) == 0
    assert main(["test", "cube.yaml", "--stack", stack, "--trials", "2"]) == 0
