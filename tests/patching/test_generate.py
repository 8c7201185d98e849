"""Patched decoding: caches are taken apart, carried through graphs, and written back."""

from __future__ import annotations

import pytest
import torch
from torch._dynamo.utils import counters
from transformers import AutoModelForCausalLM, DynamicCache, Gemma3TextConfig, MistralConfig, StaticCache
from transformers.generation.configuration_utils import CompileConfig

from spyre_dsl.patching.plan import plan
from tests.patching.rules import CUBE, ROPE, SQUARES, STACK, adapters, gpt2, qwen3, rules, text_inputs

MARK_ATTENTION = """
- name: mark
  match: {op: "scaled_dot_product_attention($q, $k, $v, attn_mask=$m, is_causal=$c, scale=$s)"}
  rewrite: {place: host}
"""


def generated(model, prompts, new_tokens=6, **more):
    return model.generate(**prompts, max_new_tokens=new_tokens, do_sample=False, **more)


@pytest.mark.parametrize(
    "make, texts, padded", [(gpt2, (CUBE,), False), (qwen3, (SQUARES, ROPE), True)], ids=["gpt2", "qwen3-padded"]
)
def test_greedy_tokens_are_the_stock_models(make, texts, padded):
    model = make(1)
    prompts = text_inputs(padded=False)
    if padded:
        prompts["attention_mask"][0, :3] = 0
    wanted = generated(model, prompts)
    made = plan(model, adapters(*texts), (), {**prompts, "use_cache": False}, stack=STACK)
    assert made.patches
    with made.applied(model):
        assert torch.equal(generated(model, prompts), wanted)
        assert torch.equal(generated(model, prompts), wanted)
    assert torch.equal(generated(model, prompts), wanted)


def test_a_dynamic_cache_grows_in_the_callers_own_object():
    model = gpt2(1)
    prompts = text_inputs(padded=False)
    made = plan(model, rules(MARK_ATTENTION), (), {**prompts, "use_cache": True}, stack=STACK)
    with torch.no_grad():
        stock = model(**prompts, use_cache=True)
        with made.applied(model):
            first = model(**prompts, use_cache=True)
            cache = first.cache
            held = cache.layers[0]
            step = model(input_ids=prompts["input_ids"][:, :1], cache=cache, use_cache=True)
        again = model(input_ids=prompts["input_ids"][:, :1], cache=stock.cache, use_cache=True)
    assert step.cache is cache and cache.layers[0] is held
    assert cache.get_seq_length() == 9 and held.keys.shape[-2] == 9
    torch.testing.assert_close(step.logits, again.logits)


def test_prefill_and_decode_are_two_signatures_and_later_steps_need_no_more():
    model = gpt2(1)
    prompts = text_inputs(padded=False)
    made = plan(model, rules(MARK_ATTENTION), (), {**prompts, "use_cache": False}, stack=STACK)
    with made.applied(model):
        generated(model, prompts, 3)
        tables = {id(owner.table): owner.table for owner in made.owners}.values()
        before = sum(len(table.all()) for table in tables)
        generated(model, prompts, 8)
        generated(model, text_inputs(3, 11, padded=False), 8)
        assert sum(len(table.all()) for table in tables) == before


SMALL = dict(
    hidden_size=64, num_attention_heads=2, num_key_value_heads=1, head_dim=32, intermediate_size=96, vocab_size=100,
    bos_token_id=1, eos_token_id=2, pad_token_id=0, sliding_window=12,
)  # fmt: skip
SLIDING = {
    "mistral": MistralConfig(num_hidden_layers=1, **SMALL),
    "gemma3": Gemma3TextConfig(num_hidden_layers=2, layer_types=["sliding_attention", "full_attention"], **SMALL),
}


@pytest.mark.parametrize("kind", SLIDING)
def test_the_steps_of_a_sliding_window_share_graphs(kind):
    """Two a family of owners that sees the cache (the window filling, and full), beside prefill: not one a token."""
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(SLIDING[kind]).eval()
    prompts = text_inputs(padded=False)
    wanted = generated(model, prompts, 16, min_new_tokens=16)
    made = plan(model, rules(MARK_ATTENTION), (), {**prompts, "use_cache": False}, stack=STACK)
    with made.applied(model):
        assert torch.equal(generated(model, prompts, 16, min_new_tokens=16), wanted)
        attention = model.get_submodule("model.layers.0.self_attn")
        assert len(attention._spyre_owner.table.all()) <= 2 + 3 * model.config.num_hidden_layers


def make_cache(kind, model):
    if kind == "dynamic":
        return DynamicCache(config=model.config)
    return StaticCache(config=model.config, max_cache_len=16)


@pytest.mark.parametrize("kind", ["dynamic", "static"])
def test_decoding_compiles_as_one_graph_once_its_calls_were_seen(kind):
    model = qwen3(1)
    ids = text_inputs(padded=False)["input_ids"]

    def decoded(run):
        cache = make_cache(kind, model)
        with torch.no_grad():
            for token in (ids, ids[:, :1], ids[:, 1:2], ids[:, 2:3]):
                out = run(input_ids=token, cache=cache, use_cache=True)
        return out.logits, int(cache.get_seq_length())

    wanted, length = decoded(model)
    made = plan(model, adapters(SQUARES, ROPE), (), {"input_ids": ids, "use_cache": False}, stack=STACK)
    torch._dynamo.reset()
    with made.applied(model):
        compiled = torch.compile(model, fullgraph=True, backend="eager")
        with pytest.raises(torch._dynamo.exc.Unsupported, match="run the patched model once with such inputs"):
            decoded(compiled)
        decoded(model)
        found, reached = decoded(compiled)
    torch.testing.assert_close(found, wanted)
    assert reached == length == 11


def test_a_static_cache_is_written_in_place():
    model = qwen3(1)
    prompts = text_inputs(padded=False)
    made = plan(model, adapters(SQUARES, ROPE), (), {**prompts, "use_cache": False}, stack=STACK)
    ids = prompts["input_ids"]

    def two_steps():
        cache = StaticCache(config=model.config, max_cache_len=16)
        with torch.no_grad():
            model(input_ids=ids, cache=cache, use_cache=True)
            return model(input_ids=ids[:, :1], cache=cache, use_cache=True).logits, cache

    wanted, stock_cache = two_steps()
    with made.applied(model):
        found, cache = two_steps()
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(cache.layers[0].keys, stock_cache.layers[0].keys)


def test_a_static_cache_decodes_in_one_compiled_graph_within_generate():
    """transformers compiles the forward itself; prefill runs eagerly, and left padding brings a mask."""
    model, prompts = qwen3(1), text_inputs(padded=False)
    prompts["attention_mask"][0, :3] = 0
    compiling = CompileConfig(backend="eager", fullgraph=True, mode=None)
    compiling._compile_all_devices = True
    wanted = generated(model, prompts, cache_implementation="static")
    made = plan(model, adapters(SQUARES, ROPE), (), {**prompts, "use_cache": False}, stack=STACK)
    torch.compiler.reset()
    with made.applied(model):
        assert torch.equal(generated(model, prompts, cache_implementation="static"), wanted)
        counters.clear()
        found = generated(model, prompts, cache_implementation="static", compile_config=compiling)
    assert torch.equal(found, wanted)
    assert counters["stats"]["unique_graphs"] == 1 and not counters["graph_break"]
