"""Decoders with all adapters: rotary embeddings of every kind, ALiBi, fused projections, norms of heads."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    BloomConfig,
    CohereConfig,
    Exaone4Config,
    GlmConfig,
    GPTJConfig,
    GPTNeoXConfig,
    MptConfig,
    Olmo2Config,
    PretrainedConfig,
)  # fmt: skip

from spyre_dsl.patching.plan import Plan, plan
from spyre_dsl.targets.comparison import Comparison, compare
from spyre_dsl.targets.sim import SimTarget
from tests.adapters.test_whole_models import SET, STACK

SMALL: dict[str, Any] = {"vocab_size": 512, "hidden_size": 256, "num_hidden_layers": 1, "num_attention_heads": 2}
LLAMA_LIKE: dict[str, Any] = {**SMALL, "num_key_value_heads": 1, "intermediate_size": 192, "use_cache": False}
TOKENS: dict[str, Any] = {"vocab_size": 512, "bos_token_id": 0, "eos_token_id": 1}

CONFIGS: dict[str, PretrainedConfig] = {
    "gpt_neox, a quarter of each head rotated": GPTNeoXConfig(**SMALL, intermediate_size=192),
    "gptj, neighbours in a quarter of each head": GPTJConfig(n_embd=256, n_layer=1, n_head=2, rotary_dim=32, **TOKENS),
    "glm, neighbours in half of each head": GlmConfig(**LLAMA_LIKE, head_dim=128, pad_token_id=0, eos_token_id=1),
    "cohere, neighbours rotated in float32": CohereConfig(**LLAMA_LIKE, bos_token_id=0, eos_token_id=1),
    "olmo2, tables in float32": Olmo2Config(**LLAMA_LIKE, pad_token_id=0, eos_token_id=1),
    "exaone4, norms of heads": Exaone4Config(**LLAMA_LIKE, sliding_window=32, bos_token_id=0, eos_token_id=1),
    "bloom, ALiBi": BloomConfig(hidden_size=128, n_layer=1, n_head=2, use_cache=False, **TOKENS),
    "mpt, ALiBi": MptConfig(d_model=128, n_layers=1, n_heads=2, max_seq_len=128, expansion_ratio=2, vocab_size=512),
}
FIRES: dict[str, dict[str, int]] = {
    "gpt_neox, a quarter of each head rotated": {
        "slices": 2,
        "split-of-heads": 3,
        "boolean-to-finite": 1,
        "cosines": 1,
        "sines": 1,
        "rotate-by-zero": 2,
        "mask-on-host": 1,
    },
    "gptj, neighbours in a quarter of each head": {
        "neighbours": 2,
        "twice-each": 4,
        "rows-of-positions": 1,
        "boolean-to-finite": 1,
        "cube-as-products": 1,
        "rotate-by-zero": 2,
        "mask-on-host": 1,
    },
    "glm, neighbours in half of each head": {
        "norm-in-input-dtype": 3,
        "neighbours": 2,
        "split-of-linear": 2,
        "boolean-to-finite": 1,
        "cosines": 1,
        "sines": 1,
        "rotate-by-zero": 2,
        "mask-on-host": 1,
    },
    "cohere, neighbours rotated in float32": {
        "spelt-out": 2,
        "neighbours": 2,
        "boolean-to-finite": 1,
        "cosines": 1,
        "sines": 1,
        "tables-on-host": 1,
        "widened-for-the-rotation": 2,
        "mask-on-host": 1,
    },
    "olmo2, tables in float32": {
        "scaled-norm-in-input-dtype": 5,
        "slices": 2,
        "boolean-to-finite": 1,
        "tables-on-host": 5,
        "widened-by-its-tables": 2,
        "mask-on-host": 1,
    },
    "exaone4, norms of heads": {
        "norm-in-input-dtype": 5,
        "slices": 2,
        "boolean-to-finite": 1,
        "cosines": 1,
        "sines": 1,
        "heads": 2,
        "mask-on-host": 1,
    },
    "bloom, ALiBi": {
        "product-added-to-a-bias": 1,
        "slopes-times-distances-on-host": 1,
        "select-of-linear": 3,
        "additive-mask-on-host": 1,
    },
    "mpt, ALiBi": {
        "filled-scores": 1,
        "split-of-linear": 3,
        "mask-on-host": 1,
    },
}


@cache
def model_of(name: str) -> torch.nn.Module:
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(CONFIGS[name]).eval()


def inputs() -> dict[str, Any]:
    tokens = torch.randint(0, 512, (2, 64), generator=torch.Generator().manual_seed(0))
    mask = torch.ones(2, 64, dtype=torch.long)
    mask[1, 40:] = 0
    return {"input_ids": tokens, "attention_mask": mask, "use_cache": False}


@cache
def reference_of(name: str) -> Any:
    with torch.no_grad():
        return model_of(name)(**inputs())


def judged(outputs: Any, name: str) -> Comparison:
    return compare(outputs, reference_of(name), inputs()["attention_mask"], causal=True)


@cache
def on_the_stack(name: str) -> tuple[torch.nn.Module, Plan]:
    prepared = SimTarget().prepare(model_of(name))
    return prepared, plan(prepared, SET, (), inputs(), stack=STACK)


@pytest.mark.parametrize("name", CONFIGS)
def test_patched_equals_stock_on_the_cpu(name: str) -> None:
    model = model_of(name)
    with plan(model, SET, (), inputs(), stack=STACK).applied(model), torch.no_grad():
        found = judged(model(**inputs()), name)
    assert found.min_token_cosine is not None and found.min_token_cosine > 1 - 1e-9
    assert found.max_abs_diff is not None and found.max_abs_diff < 1e-5


@pytest.mark.parametrize("name", CONFIGS)
def test_the_plan_is_what_the_model_needs(name: str) -> None:
    _, made = on_the_stack(name)
    assert Counter(patch.rule for patch in made.patches) == FIRES[name]
    assert made.unmatched == ()


@pytest.mark.parametrize("name", CONFIGS)
def test_refused_before_and_right_after(name: str) -> None:
    prepared, made = on_the_stack(name)
    assert SimTarget().run(prepared, inputs(), STACK).refusals
    with made.applied(prepared):
        outcome = SimTarget().run(prepared, inputs(), STACK)
    assert outcome.refusals == ()
    found = judged(outcome.outputs, name)
    assert found.passes(0.999), found
