"""Variants of a test keep what its shapes have to do with each other."""

from __future__ import annotations

from itertools import islice

import torch

from spyre_dsl.evidence.expressions import Scope, evaluate
from spyre_dsl.evidence.variants import other_numbers, variants
from spyre_dsl.language.adapter import TestCase, TestInput
from spyre_dsl.language.parser import parse_expression
from spyre_dsl.language.printing import show


def case(before: str, **inputs: str) -> TestCase:
    made = []
    for name, text in inputs.items():
        kind, _, rest = text.partition("[")
        shape = tuple(int(extent) for extent in rest.rstrip("]").split(", "))
        made.append(TestInput(name, kind.split()[-1], shape, kind.startswith("parameter")))
    return TestCase("t", tuple(made), before=parse_expression(before))


HEADS = case(
    "transpose(reshape(linear(x, w), [2, 16, 12, 32]), 1, 2)", x="float16[2, 16, 384]", w="parameter float16[384, 384]"
)


def test_the_test_itself_comes_first_and_nothing_twice() -> None:
    found = list(variants(HEADS, {}, 0))
    assert found[0] is HEADS
    keys = [(each.inputs, each.before) for each in found]
    assert len(set(keys)) == len(keys) >= 4


def test_every_variant_has_a_value() -> None:
    for each in islice(variants(HEADS, {}, 1), 8):
        names = {i.name: torch.zeros(i.shape, dtype=getattr(torch, i.dtype)) for i in each.inputs}
        value = evaluate(each.before, Scope(names=names))  # type: ignore[arg-type]
        heads, width = value.shape[1], value.shape[3]
        assert heads * width == each.inputs[1].shape[0]


def test_shapes_ranks_and_dtypes_vary() -> None:
    found = list(variants(case("x * 2", x="float16[4, 64]"), {}, 0))
    assert {len(each.inputs[0].shape) for each in found} == {1, 2, 3}
    assert {each.inputs[0].dtype for each in found} == {"float16", "bfloat16", "float32"}
    assert len({each.inputs[0].shape for each in found}) > 10


def test_dtypes_that_are_named_follow_those_of_the_inputs() -> None:
    found = list(variants(case("to(to(x, float32) * 2, float16)", x="float16[4, 64]"), {}, 0))
    changed = next(each for each in found if each.inputs[0].dtype == "bfloat16")
    assert evaluate(changed.before, Scope(names={"x": torch.ones(1)})).dtype == torch.bfloat16  # type: ignore[arg-type]


def test_small_numbers_are_no_extents_outside_lists() -> None:
    for each in variants(case("pow(x, 3) + size(x, 0)", x="float16[3, 4, 64]"), {}, 0):
        assert each.before == HEADS.before or "3" in str(each.before)
        exponent = each.before.left.args[1].value  # type: ignore[union-attr]
        assert exponent == 3


def test_sections_still_add_up() -> None:
    made = case("split(x, [48, 32, 16], -1)[1]", x="float16[4, 96]")
    assert len(list(variants(made, {}, 0))) > 10


def test_variants_repeat_with_their_seed() -> None:
    assert list(variants(HEADS, {}, 3)) == list(variants(HEADS, {}, 3))


def test_a_module_has_one_variant() -> None:
    assert len(list(variants(TestCase("t", (), module="torch.nn.GELU"), {}, 0))) == 1


def test_other_numbers_take_turns_and_leave_extents_alone() -> None:
    given = case("where(m, reshape(x, [4, 16]) * 0.5, 1e-6 + 2)", m="bool[4, 16]", x="float16[64]")
    assert [show(each.before) for each in other_numbers(given)] == [
        "where(m, reshape(x, [4, 16]) * 0.25, 1e-06 + 2)",
        "where(m, reshape(x, [4, 16]) * 0.5, 0.25 + 2)",
    ]
