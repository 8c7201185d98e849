"""Adapters that are not tried at all are told, each with the reason."""

from __future__ import annotations

import pytest
import torch

from spyre_dsl.assessment.set_aside import set_aside
from spyre_dsl.language.adapter import Adapter, AdapterSet, Requires
from spyre_dsl.language.parser import parse_expression
from tests.matching.rules import FakeStack, adapter, rule

STACK = FakeStack(name="2026-09", supported=("aten.pow",))
IN_USE = adapter(rule("pow($x, 3)"), name="in-use", expires='stack.supports("aten.exp", "float16")')
ELSEWHERE = adapter(rule("exp($x)"), name="elsewhere", requires=Requires({}, ("2026-06",)))


def expired(name: str, dtype: str = '"float16"') -> Adapter:
    """The condition stands at a place of its own, as in a file: not where nothing is (see NO_SPAN)."""
    condition = f'   stack.supports("aten.pow", {dtype})'
    return Adapter(name, "", IN_USE.gap, IN_USE.rules, expires=parse_expression(condition))


def notes(*adapters: Adapter, patched: bool = False) -> tuple[str, ...]:
    return set_aside(AdapterSet(adapters), torch.nn.Identity(), STACK, patched=patched)


@pytest.mark.parametrize("patched", [True, False])
@pytest.mark.parametrize("dtype", ["float16", '"float16"'])
def test_an_expired_adapter_is_named_with_the_stack(dtype: str, patched: bool) -> None:
    assert notes(expired("old", dtype), IN_USE, patched=patched) == ("old has expired on 2026-09",)


def test_several_share_one_note() -> None:
    assert notes(expired("old"), expired("older")) == ("old, older have expired on 2026-09",)


def test_an_adapter_for_another_stack_is_told_where_nothing_is_patched() -> None:
    assert notes(ELSEWHERE) == ("elsewhere not tried: the adapter is for the stacks 2026-06; this one is 2026-09",)
    assert notes(ELSEWHERE, patched=True) == ()


def test_nothing_is_said_of_what_is_tried() -> None:
    assert notes(IN_USE) == notes() == ()
