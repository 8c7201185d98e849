"""What lint knows of the stacks is what the profiles say."""

from __future__ import annotations

import pytest

from spyre_dsl.language.stack_tables import UNSUPPORTED
from spyre_dsl.targets import stack_tables


def test_the_module_is_what_would_be_written_today() -> None:
    written = stack_tables.TABLES.read_text(encoding="utf-8")
    assert written == stack_tables.render(), "run python -m spyre_dsl.targets.stack_tables"


@pytest.mark.parametrize(
    ("op", "lacking"), [("pow", True), ("sin", True), ("erf", True), ("mul", False), ("div", False), ("softmax", False)]
)
def test_an_op_is_lacking_if_none_of_its_overloads_computes_on_the_device(op: str, lacking: bool) -> None:
    assert (op in UNSUPPORTED) is lacking


def test_a_later_stack_lacks_less() -> None:
    assert set(stack_tables.unsupported("2026-09")) < set(stack_tables.unsupported("2025-11"))
