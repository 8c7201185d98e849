"""Small graphs for tests: functions traced on the spot, and tiny models with random weights, captured once a run."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from transformers import AutoModel, AutoModelForCausalLM, BertConfig, GPT2Config, Qwen3Config

from spyre_dsl.graphs.canonical import canonicalize
from spyre_dsl.graphs.capture import Capture, capture
from spyre_dsl.graphs.node import CanonicalGraph


def traced(function: Callable[..., Any], *inputs: torch.Tensor, dynamic: bool = False) -> CanonicalGraph:
    """The canonical graph of a function of tensors; with ``dynamic`` every dimension is a symbol."""
    mode = "symbolic" if dynamic else "fake"
    apart = [item.clone() for item in inputs]  # one tensor given twice would be traced as one input
    with torch.no_grad():
        return canonicalize(make_fx(function, tracing_mode=mode, pre_dispatch=True)(*apart))


def ops(graph: CanonicalGraph) -> list[str]:
    """The ops of a graph in order, leaves left out."""
    return [node.op for node in graph.nodes if not node.is_leaf]


def _inputs(vocabulary: int = 100) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, vocabulary, (2, 16), generator=generator)
    mask = torch.ones(2, 16, dtype=torch.long)
    mask[1, 10:] = 0
    return {"input_ids": ids, "attention_mask": mask}


@cache
def bert() -> Capture:
    config = BertConfig(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=96, vocab_size=100
    )
    return capture(AutoModel.from_config(config).eval(), (), _inputs())


@cache
def gpt2() -> Capture:
    config = GPT2Config(n_layer=2, n_embd=64, n_head=2, vocab_size=100, bos_token_id=0, eos_token_id=0)
    return capture(AutoModelForCausalLM.from_config(config).eval(), (), {**_inputs(), "use_cache": False})


@cache
def qwen3(dtype: torch.dtype = torch.float16) -> Capture:
    config = Qwen3Config(
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
        intermediate_size=96,
        vocab_size=100,
    )
    model = AutoModelForCausalLM.from_config(config).eval().to(dtype)
    return capture(model, (), {**_inputs(), "use_cache": False})
