"""No rule changes a dtype, whatever dtypes its pattern is met in: it keeps the result's, or a guard refuses the match.

Every in-file test that is an expression is planned with its floating-point inputs in another dtype (whole numbers and
truth values among them), with and without the conversions that it writes. Where torch computes the expression, the plan
must be made, and the patched model must give tensors of the stock one's dtypes and shapes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from transformers import BertConfig, BertModel

from spyre_dsl.evidence.expressions import EvaluationError
from spyre_dsl.evidence.models_of_tests import TestModel, build
from spyre_dsl.evidence.rule_tests import DEFAULT_STACK, chosen_tests
from spyre_dsl.language.adapter import Adapter, AdapterSet, TestCase
from spyre_dsl.language.syntax import Name
from spyre_dsl.patching.plan import plan
from spyre_dsl.targets.profiles import load_stack
from tests.adapters.test_in_file_tests import ADAPTERS

DTYPES = ("int64", "bool", "float32", "bfloat16", "float64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
CASES = [
    (adapter, case, name)
    for adapter in ADAPTERS.values()
    for name, case in chosen_tests(adapter)
    if case.before is not None and not case.unchanged
]


def renamed(expression: Any, old: str, new: str) -> Any:
    """``expression`` with one dtype for another, wherever it is written."""
    if isinstance(expression, Name):
        return dataclasses.replace(expression, name=new) if expression.name == old else expression
    if isinstance(expression, tuple):
        return tuple(renamed(item, old, new) for item in expression)
    if not dataclasses.is_dataclass(expression) or isinstance(expression, type):
        return expression
    fields = {each.name: renamed(getattr(expression, each.name), old, new) for each in dataclasses.fields(expression)}
    return dataclasses.replace(expression, **fields)


def in_other_dtypes(case: TestCase) -> Iterator[tuple[str, TestCase]]:
    """The test with its floating-point inputs in another dtype, which replaces their own in conversions too, or not."""
    own = next((given.dtype for given in case.inputs if given.dtype in FLOATS), None)
    for dtype in DTYPES if own is not None else ():
        inputs = tuple(dataclasses.replace(each, dtype=dtype) if each.dtype in FLOATS else each for each in case.inputs)
        renamed_too = dataclasses.replace(case, inputs=inputs, before=renamed(case.before, own, dtype))
        yield dtype, renamed_too
        kept = dataclasses.replace(case, inputs=inputs)
        if kept.before != renamed_too.before:
            yield f"{dtype}, converted to {own}", kept


def computed(case: TestCase, stack: Any) -> tuple[TestModel, Any] | None:
    """The model and what it gives; None where torch does not compute the expression in these dtypes."""
    try:
        model = build(case, {"stack": stack})
        return model, model.run()
    except EvaluationError:
        return None


def difference(adapter: Adapter, case: TestCase, stack: Any) -> str:
    """What the adapter gets wrong in this test; empty if nothing."""
    found = computed(case, stack)
    if found is None:
        return ""
    model, stock = found
    try:
        made = plan(model.module, AdapterSet((adapter,)), (), dict(model.inputs), stack=stack)
        with made.applied(model.module):
            patched = model.run()
    except Exception as problem:  # whatever it is, a rule that fires must work
        return f"{type(problem).__name__}: {problem}"
    before, after = ([(t.dtype, t.shape) for t in torch.utils._pytree.tree_leaves(r)] for r in (stock, patched))
    return "" if before == after else f"{before} became {after}"


@pytest.mark.parametrize(("adapter", "case", "name"), CASES, ids=[f"{a.name}/{name}" for a, _, name in CASES])
def test_the_result_has_the_dtype_of_the_pattern(adapter: Adapter, case: TestCase, name: str) -> None:
    stack = load_stack(DEFAULT_STACK)
    told = {what: difference(adapter, other, stack) for what, other in in_other_dtypes(case)}
    assert {what: text for what, text in told.items() if text} == {}


@pytest.mark.parametrize("when", ["planned", "patched"])
def test_an_encoder_in_float64_computes_what_it_did(when: str) -> None:
    torch.manual_seed(0)
    config = BertConfig(vocab_size=64, hidden_size=64, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64)
    model = BertModel(config).eval()
    inputs = {"input_ids": torch.randint(3, 60, (2, 12)), "attention_mask": torch.ones(2, 12, dtype=torch.long)}
    inputs["attention_mask"][1, 8:] = 0
    if when == "planned":
        model.double()
    handle = plan(model, AdapterSet(tuple(ADAPTERS.values())), (), inputs, stack=load_stack(DEFAULT_STACK)).apply(model)
    with torch.no_grad():
        patched = model.double()(**inputs).last_hidden_state
        handle.revert()
        stock = model(**inputs).last_hidden_state
    seen = inputs["attention_mask"] > 0
    assert patched.dtype == torch.float64
    torch.testing.assert_close(patched[seen], stock[seen])
