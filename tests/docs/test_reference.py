"""The reference is what the product's own tables say today."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

import spyre_dsl

DOCS = Path(__file__).parents[2] / "docs"


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_reference", DOCS / "generate_reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", sorted(generator().pages()))
def test_a_page_is_current(name: str) -> None:
    written = (DOCS / "reference" / name).read_text(encoding="utf-8")
    assert written == generator().pages()[name], "run python docs/generate_reference.py"


def test_there_is_no_page_that_nothing_writes() -> None:
    assert sorted(page.name for page in (DOCS / "reference").glob("*.md")) == sorted(generator().pages())


def test_the_python_page_has_every_public_name_and_what_its_objects_can_do() -> None:
    headings = set(re.findall(r"^#{3,4} (\S+)$", generator().pages()["api.md"], re.MULTILINE))
    assert set(spyre_dsl.__all__) <= headings
    assert {"Plan.apply", "Plan.applied", "Plan.to_json", "Comparison.passes"} <= headings
    assert {f"Applied.{name}" for name in ("revert", "refresh", "owners", "code")} <= headings
