"""``why``: for each place the first predicate that failed, near misses first."""

from __future__ import annotations

import pytest

from spyre_dsl.language.adapter import AdapterSet
from spyre_dsl.language.loader import load_text
from spyre_dsl.matching.explain import UnknownRule, why
from tests.captured import bert, gpt2, qwen3
from tests.matching.rules import FakeStack

TEXT = """
adapter: head-padding
summary: Pad heads to whole sticks.
gap: {kind: alignment, evidence: [E10]}
rules:
  - name: pad
    match:
      op: >
        scaled_dot_product_attention($q, $k, $v,
          attn_mask=$mask, scale=$scale)
      where: rank($q) == 4 and size($q, -1) % 16 != 0
    rewrite:
      op: $q
  - name: cube
    match:
      op: pow($x, 3)
    rewrite:
      op: $x * $x * $x
  - name: scaled-cube
    match:
      op: 0.5 * ($x + pow($x, 3))
    rewrite:
      op: $x
  - name: norms
    match:
      module: "*RMSNorm"
      path: "encoder.**"
    rewrite:
      place: host
  - name: elsewhere
    match:
      op: pow($x, 3)
      config: {model_type: llama}
    rewrite:
      op: $x * $x * $x
"""


@pytest.fixture(scope="module")
def adapters() -> AdapterSet:
    loaded = load_text(TEXT, "padding.yaml")
    assert loaded.adapter is not None, loaded.diagnostics
    return AdapterSet((loaded.adapter,))


def test_the_failed_guard_its_value_and_its_place(adapters):
    first, second = why(bert(), adapters, "pad", stack=FakeStack())
    assert (
        first.module_path == "encoder.layer.0.attention.self" and second.module_path == "encoder.layer.1.attention.self"
    )
    assert first.source_line.startswith("modeling_bert.py:")
    assert first.predicate == "size($q, -1) % 16 != 0"
    assert first.reason == "the guard needs a value != 0; it is 0" and first.actual == "0"
    assert TEXT[first.span.start : first.span.end] == first.predicate
    assert str(first).startswith("encoder.layer.0.attention.self scaled_dot_product_attention (modeling_bert.py:")


def test_a_place_where_it_applies(adapters):
    found = why(gpt2(), adapters, "cube")
    assert [attempt.matched for attempt in found] == [True, True]
    assert str(found[0]).endswith("matches")


def test_near_misses_first(adapters):
    found = why(gpt2(), adapters, "scaled-cube")
    assert [attempt.score for attempt in found] == sorted((attempt.score for attempt in found), reverse=True)
    assert not any(attempt.matched for attempt in found)
    assert found[0].score > found[-1].score


def test_only_below_a_path(adapters):
    found = why(gpt2(), adapters, "cube", "transformer.h.1")
    assert [attempt.module_path for attempt in found] == ["transformer.h.1.mlp.act"]
    assert len(why(gpt2(), adapters, "cube", "transformer.h.*.mlp")) == 2


def test_no_such_op_there(adapters):
    (found, *_) = why(gpt2(), adapters, "cube", "transformer.h.1.attn")
    assert found.reason.startswith("expected `pow`, found `") and found.predicate == "pow($x, 3)"


def test_no_such_op_at_all(adapters):
    (found,) = why(bert(), adapters, "cube")
    assert found.reason.startswith("there is no `pow` in this model") and found.node is None


def test_no_such_place(adapters):
    (found,) = why(bert(), adapters, "cube", "decoder")
    assert found.reason == "no op runs in `decoder`"


def test_not_for_this_model(adapters):
    (found,) = why(gpt2(), adapters, "elsewhere")
    assert found.reason == "config.model_type must be llama; it is gpt2"
    assert found.predicate == "model_type: llama" or "llama" in found.predicate


def test_modules(adapters):
    found = why(qwen3(), adapters, "norms")
    assert not any(attempt.matched for attempt in found)
    reasons = {attempt.reason for attempt in found}
    assert "the path must fit `encoder.**`; it is `model.norm`" in reasons


def test_a_whole_adapter_by_its_name(adapters):
    assert {attempt.rule for attempt in why(gpt2(), adapters, "head-padding")} == {
        f"head-padding/{name}" for name in ("pad", "cube", "scaled-cube", "norms", "elsewhere")
    }


def test_a_rule_that_there_is_not(adapters):
    with pytest.raises(UnknownRule, match="no rule is called `cubes`; did you mean `cube`?"):
        why(bert(), adapters, "cubes")
