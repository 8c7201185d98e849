"""What the README promises is there: its commands, its links, its rule file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import spyre_dsl
from spyre_dsl.cli.main import COMMANDS
from spyre_dsl.language.checks import check
from spyre_dsl.language.loader import load_paths, load_text

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_the_two_commands_are_there_on_one_line_each() -> None:
    lines = "".join(blocks(ROOT / "README.md", "sh")).splitlines()
    assert [line for line in lines if line.endswith("spyre-dsl apply sentence-transformers/all-MiniLM-L6-v2")]
    assert [line for line in lines if "-m pytest" in line]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_is_one_that_there_is(page: Path) -> None:
    used = re.findall(r"spyre-dsl ([a-z]+)", "".join(blocks(page, "sh")))
    assert set(used) <= set(COMMANDS)


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs" / "tutorial.md"], ids=lambda page: page.name)
def test_whole_rule_files_lint_clean(page: Path) -> None:
    files = [text for text in blocks(page, "yaml") if "\nadapter:" in text]
    assert files
    for text in files:
        assert check([load_text(text, page.name)]) == ()


def test_the_sample_adapter_can_stand_beside_the_shipped_ones() -> None:
    (sample,) = [text for text in blocks(ROOT / "README.md", "yaml") if "\nadapter:" in text]
    assert check([load_text(sample, "README.md"), *load_paths([ROOT / "adapters.d"])]) == ()


def test_the_python_sample_runs_and_ends_in_a_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a BERT of one layer with random weights in place of the real model."""
    from spyre_dsl.models.loading import random_model

    config = {"model_type": "bert", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    (tmp_path / "config.json").write_text(json.dumps({**config, "intermediate_size": 64, "vocab_size": 100}))
    monkeypatch.setattr(spyre_dsl, "load_model", lambda name: random_model(tmp_path / "config.json"), raising=False)
    monkeypatch.chdir(ROOT)
    (sample,) = blocks(ROOT / "README.md", "python")
    names: dict[str, Any] = {}
    exec(compile(sample, "README.md", "exec"), names)
    plan, outcome, verdict = names["plan"], names["outcome"], names["compared"]
    assert plan.patches and outcome.refusals == () and verdict.passes()
    printed = capsys.readouterr().out
    assert f"{plan}\n{outcome}\n" in printed and printed.endswith(" PASS\n")
    assert "forward" not in {name for module in names["on_device"].modules() for name in vars(module)}
