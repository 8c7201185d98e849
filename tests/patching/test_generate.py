"""Patched decoding: caches are taken apart, carried through graphs, and written back."""

from __future__ import annotations

import pytest
import torch
from transformers import StaticCache

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
