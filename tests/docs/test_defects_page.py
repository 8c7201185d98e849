"""docs/defects.md says what the simulator does, and every failure that it calls reproduced has a test."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from spyre_sim.defects import EMERGENT, MODELLED
from spyre_sim.stacks import facts

SCRIPT = Path(__file__).parents[2] / "docs" / "generate_defects.py"
SPEC = importlib.util.spec_from_file_location("generate_defects", SCRIPT)
assert SPEC is not None and SPEC.loader is not None
GENERATOR = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(GENERATOR)
REPRODUCED = [name for name, found in facts.defects().items() if found.modelled]


def test_the_page_is_what_would_be_written() -> None:
    assert GENERATOR.PAGE.read_text(encoding="utf-8") == GENERATOR.page()


@pytest.mark.parametrize("name", REPRODUCED)
def test_what_is_reproduced_has_a_test(name: str) -> None:
    assert GENERATOR.tests_of(name)


def test_what_is_reproduced_is_a_switch_or_emerges() -> None:
    assert {*MODELLED, *EMERGENT} == set(REPRODUCED)
    assert not set(MODELLED) & set(EMERGENT)


def test_whatever_is_left_out_has_a_reason() -> None:
    assert set(GENERATOR.REASONS) == set(facts.defects()) - set(REPRODUCED)
