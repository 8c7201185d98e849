"""What the README promises is there: its commands, its links, its rule file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spyre_dsl.cli.main import COMMANDS
from spyre_dsl.language.checks import check
from spyre_dsl.language.loader import load_text

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
