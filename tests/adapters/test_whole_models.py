"""All adapters together on small models: equal on the CPU; on the stack refused before, and right after."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
import torch
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    BertConfig,
    DebertaConfig,
    DebertaV2Config,
    FlaubertConfig,
    Gemma3TextConfig,
    GPT2Config,
    ModernBertConfig,
    MPNetConfig,
    PretrainedConfig,
    Qwen3Config,
    XLMRobertaConfig,
    XmodConfig,
)  # fmt: skip

import spyre_sim
from spyre_dsl.evidence.results import Outcome
from spyre_dsl.evidence.verify import verify
from spyre_dsl.language.adapter import AdapterSet
from spyre_dsl.patching.plan import Plan, plan
from spyre_dsl.targets.comparison import Comparison, compare
from spyre_dsl.targets.sim import SimTarget
from tests.adapters.test_in_file_tests import ADAPTERS

STACK = spyre_sim.load_stack("2026-06")
SET = AdapterSet(tuple(ADAPTERS.values()))
TOKENS = {"vocab_size": 512}


@dataclass(frozen=True)
class Case:
    config: PretrainedConfig
    causal: bool
    fires: dict[str, int]


CASES = {
    "bert with heads of 32": Case(
        BertConfig(hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=192, **TOKENS),
        False,
        {"pad-to-stick": 2, "pad-the-projection": 6, "widen-the-output-projection": 2, "boolean-to-finite": 2,
         "mask-on-host": 2},
    ),
    "gpt2 with heads of 64": Case(
        GPT2Config(n_embd=128, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0, **TOKENS),
        True,
        {"split-of-conv1d": 3, "cube-as-products": 1, "boolean-to-finite": 1, "mask-on-host": 1},
    ),
    "gpt2 with heads of 32": Case(
        GPT2Config(n_embd=128, n_layer=1, n_head=4, bos_token_id=0, eos_token_id=0, **TOKENS),
        True,
        {"split-of-conv1d": 3, "pad-to-stick": 1, "pad-the-projection": 3, "widen-the-conv1d-projection": 1,
         "cube-as-products": 1, "boolean-to-finite": 1, "mask-on-host": 1},
    ),
    "xlm-roberta with heads of 32": Case(
        XLMRobertaConfig(hidden_size=128, num_hidden_layers=1, num_attention_heads=4, intermediate_size=192, **TOKENS),
        False,
        {"token-types-at-positions": 1, "pad-to-stick": 1, "pad-the-projection": 3, "widen-the-output-projection": 1,
         "boolean-to-finite": 1, "mask-on-host": 1},
    ),
    # The epsilon is that of its published checkpoints; that of the config class is zero in the device's 16 bits (N7).
    "mpnet with heads of 32": Case(
        MPNetConfig(hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=192,
                    layer_norm_eps=1e-5, **TOKENS),
        False,
        {"running-count": 1, "bias-of-buckets": 1, "additive-mask-on-host": 1,
         "pad-spelt-out-attention-with-positions": 2, "pad-the-projection": 6, "widen-the-output-projection": 2},
    ),
    "modernbert": Case(
        ModernBertConfig(hidden_size=128, num_hidden_layers=1, num_attention_heads=2, intermediate_size=192,
                         pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2, **TOKENS),
        False,
        {"unbind-of-linear": 3, "split-of-linear": 2, "rotation-in-input-dtype": 2, "boolean-to-finite": 1,
         "mask-on-host": 1, "cosines": 1, "sines": 1},
    ),
    "gemma3": Case(
        Gemma3TextConfig(hidden_size=128, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1,
                         head_dim=64, query_pre_attn_scalar=64, intermediate_size=192, use_cache=False, **TOKENS),
        False,
        {"scaled-norm-in-input-dtype": 7, "slices": 2, "boolean-to-finite": 1, "mask-on-host": 1, "cosines": 1,
         "sines": 1, "heads": 2},
    ),
    "deberta-v2": Case(
        DebertaV2Config(hidden_size=128, num_hidden_layers=1, num_attention_heads=2, intermediate_size=192, **TOKENS),
        False,
        {"pairs-on-host": 1},
    ),
    "deberta": Case(
        DebertaConfig(hidden_size=128, num_hidden_layers=1, num_attention_heads=2, intermediate_size=192, **TOKENS),
        False,
        {"spelt-out-with-a-bias": 3, "split-of-heads": 3, "pairs-on-host": 1},
    ),
    "flaubert": Case(
        FlaubertConfig(emb_dim=128, n_layers=1, n_heads=2, n_words=512, vocab_size=512),
        False,
        {"softmax-of-widened-scores": 1, "padding-on-host": 1},
    ),
    "xmod": Case(
        XmodConfig(hidden_size=128, num_hidden_layers=1, num_attention_heads=2, intermediate_size=192,
                   languages=["en_XX", "de_DE"], default_language="de_DE", **TOKENS),
        False,
        {"token-types-at-positions": 1, "boolean-to-finite": 1, "mask-on-host": 1, "choose-among-all-texts": 2,
         "comparison-on-host": 2},
    ),
    "qwen3": Case(
        Qwen3Config(hidden_size=128, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1, head_dim=128,
                    intermediate_size=192, use_cache=False, **TOKENS),
        True,
        {"norm-in-input-dtype": 5, "slices": 2, "boolean-to-finite": 1, "mask-on-host": 1, "cosines": 1, "sines": 1},
    ),
}  # fmt: skip


@cache
def model_of(name: str) -> torch.nn.Module:
    case = CASES[name]
    torch.manual_seed(0)
    auto = AutoModelForCausalLM if case.causal else AutoModel
    return auto.from_config(case.config).eval()


def inputs_of(name: str) -> dict[str, Any]:
    tokens = torch.randint(0, 512, (2, 64), generator=torch.Generator().manual_seed(0))
    mask = torch.ones(2, 64, dtype=torch.long)
    mask[1, 40:] = 0
    given: dict[str, Any] = {"input_ids": tokens, "attention_mask": mask}
    return {**given, "use_cache": False} if CASES[name].causal else given


@cache
def reference_of(name: str) -> Any:
    with torch.no_grad():
        return model_of(name)(**inputs_of(name))


def judged(outputs: Any, name: str) -> Comparison:
    return compare(outputs, reference_of(name), inputs_of(name)["attention_mask"], causal=CASES[name].causal)


@cache
def on_the_stack(name: str) -> tuple[torch.nn.Module, Plan]:
    prepared = SimTarget().prepare(model_of(name))
    return prepared, plan(prepared, SET, (), inputs_of(name), stack=STACK)


@pytest.mark.parametrize("name", CASES)
def test_patched_equals_stock_on_the_cpu(name: str) -> None:
    model, inputs = model_of(name), inputs_of(name)
    with plan(model, SET, (), inputs, stack=STACK).applied(model), torch.no_grad():
        found = judged(model(**inputs), name)
    assert found.min_token_cosine is not None and found.min_token_cosine > 1 - 1e-9
    assert found.max_abs_diff is not None and found.max_abs_diff < 1e-5


@pytest.mark.parametrize("name", CASES)
def test_the_plan_is_what_the_model_needs(name: str) -> None:
    _, made = on_the_stack(name)
    assert Counter(patch.rule for patch in made.patches) == CASES[name].fires
    assert made.unmatched == ()


@pytest.mark.parametrize("name", CASES)
def test_refused_before_and_right_after(name: str) -> None:
    prepared, made = on_the_stack(name)
    assert SimTarget().run(prepared, inputs_of(name), STACK).refusals
    with made.applied(prepared):
        outcome = SimTarget().run(prepared, inputs_of(name), STACK)
    assert outcome.refusals == ()
    found = judged(outcome.outputs, name)
    assert found.passes(0.999), found


@pytest.mark.parametrize("name", ["gpt2 with heads of 32"])
def test_every_claim_holds_where_it_is_used(name: str) -> None:
    prepared, made = on_the_stack(name)
    reports = verify(prepared, SET, (), inputs_of(name), stack=STACK, trials=9)
    assert {report.math.outcome for report in reports} == {Outcome.OK}, [r for r in reports if r.math.details]
    claimed = Counter(report.rule for report in reports)
    placed = {"mask-on-host", "cosines", "sines"}
    assert claimed == {rule: count for rule, count in CASES[name].fires.items() if rule not in placed}
