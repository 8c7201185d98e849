"""The sweep on a few types: what it says of each, and that no refusal leaves its reader without a place to look."""

from __future__ import annotations

import pytest

from tests.zoo.sweep_types import Finding, by_op, examine, line, summary
from tests.zoo.tiny_models import EMBEDDING, small_config


@pytest.fixture(scope="module")
def bert() -> Finding:
    return examine("bert", False, "2026-06", adapters=False)


@pytest.fixture(scope="module")
def gpt2() -> Finding:
    return examine("gpt2", True, "2026-06", adapters=True)


def test_a_stock_model_is_refused_for_its_mask(bert: Finding) -> None:
    assert bert.verdict() == "refused"
    assert "scaled_dot_product_attention[T23] x2" in by_op(bert.refusals)


def test_every_refusal_names_op_module_line_fact_and_words(bert: Finding, gpt2: Finding) -> None:
    for refusal in (*bert.refusals, *gpt2.refusals):
        assert refusal.op.startswith("aten.")
        assert refusal.source_line.partition(":")[2].isdigit()
        assert refusal.fact
        assert refusal.text
        assert all(part in str(refusal) for part in (refusal.op, refusal.source_line, refusal.fact, refusal.text))
    assert any(refusal.module_path for refusal in bert.refusals)


def test_with_its_adapters_a_decoder_passes(gpt2: Finding) -> None:
    assert not gpt2.crash
    assert gpt2.patches
    assert gpt2.verdict() == "pass"
    assert gpt2.cosine > 0.99


def test_a_model_that_branches_on_a_value_has_no_graph() -> None:
    found = examine("longformer", False, "2026-06", adapters=False)
    assert found.verdict() == "no graph"
    assert "data-dependent" in line(found)


def test_a_mistake_of_ours_is_a_crash_with_its_frames() -> None:
    found = examine("no-such-type", False, "2026-06", adapters=False)
    assert found.verdict() == "crash"
    assert "KeyError" in line(found)
    assert "1 crash" in summary([found])


@pytest.mark.parametrize("name", EMBEDDING)
def test_every_type_has_a_small_config(name: str) -> None:
    assert small_config(name).model_type == name
