"""A chain of rules: the second and the third match only what the first wrote, and the third spans two modules."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from tests.patching.rules import bert, text_inputs


@pytest.fixture(scope="module")
def planned(head_padding):
    return bert(), head_padding


def test_every_rule_of_the_chain_fires_in_every_layer(planned):
    _, made = planned
    assert Counter(patch.rule for patch in made.patches) == {"pad-to-stick": 2, "pad-projection": 6, "pad-output": 2}


def test_the_owner_is_the_deepest_module_that_holds_the_whole_chain(planned):
    _, made = planned
    assert {patch.owner for patch in made.patches} == {"encoder.layer.0.attention", "encoder.layer.1.attention"}


def test_layers_share_one_graph(planned):
    _, made = planned
    assert len({id(owner.table) for owner in made.owners}) == 1


@pytest.mark.parametrize("batch, length", [(2, 8), (3, 11), (4, 5)])
def test_the_patched_model_computes_the_same_at_any_size(planned, batch, length):
    model, made = planned
    inputs = text_inputs(batch, length)
    with torch.no_grad():
        stock = model(**inputs).last_hidden_state
        with made.applied(model):
            patched = model(**inputs).last_hidden_state
    torch.testing.assert_close(patched, stock, rtol=1e-5, atol=1e-6)


def test_other_sizes_do_not_need_another_graph(planned):
    model, made = planned
    before = len(made.owners[0].table.all())
    with made.applied(model), torch.no_grad():
        model(**text_inputs(5, 13))
    assert len(made.owners[0].table.all()) == before


def test_padded_weights_are_folded_and_the_padding_is_gone_from_the_code(planned):
    model, made = planned
    with made.applied(model) as handle:
        code = handle.code("encoder.layer.0.attention").partition("\n#")[0]
        folded = {
            tuple(buffer.shape)
            for name, buffer in model.encoder.layer[0].attention.named_buffers()
            if name.startswith("_spyre_folded")
        }
    assert "pad" not in code.replace("padding", "") and "slice" not in code
    assert code.count("scaled_dot_product_attention.default") == 1
    assert folded == {(128, 64), (128,), (64, 128)}


def test_attention_sees_heads_of_a_whole_stick(planned):
    _, made = planned
    graph = made.owners[0].table.all()[0].graph_module.graph
    attention = next(node for node in graph.nodes if "scaled_dot_product" in str(node.target))
    assert attention.meta["val"].shape[-1] == 64
    assert attention.kwargs["scale"] == pytest.approx(32**-0.5)
