"""The copy of a model that a device gets."""

from __future__ import annotations

import torch
from transformers import AutoModelForCausalLM, Qwen3Config

from spyre_dsl.targets.cast import cast_copy


def tiny_qwen() -> torch.nn.Module:
    torch.manual_seed(0)
    config = Qwen3Config(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1, head_dim=16,
        intermediate_size=32, vocab_size=50, tie_word_embeddings=True,
    )  # fmt: skip
    return AutoModelForCausalLM.from_config(config).eval()


def test_parameters_are_cast_and_the_original_is_not() -> None:
    model = tiny_qwen()
    copy = cast_copy(model, torch.float16)
    assert {parameter.dtype for parameter in copy.parameters()} == {torch.float16}
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


def test_tied_weights_stay_tied() -> None:
    copy = cast_copy(tiny_qwen(), torch.float16)
    assert copy.lm_head.weight is copy.model.embed_tokens.weight


def test_inverse_frequencies_keep_their_precision() -> None:
    """As from_pretrained(dtype=float16) leaves them: no checkpoint holds them."""
    assert cast_copy(tiny_qwen(), torch.float16).model.rotary_emb.inv_freq.dtype == torch.float32


def test_saved_buffers_are_cast_and_integers_stay() -> None:
    module = torch.nn.BatchNorm1d(4)
    copy = cast_copy(module, torch.float16)
    assert (copy.running_mean.dtype, copy.num_batches_tracked.dtype) == (torch.float16, torch.int64)


def test_nothing_is_shared_with_the_original() -> None:
    model = torch.nn.Linear(2, 2)
    copy = cast_copy(model, torch.float32)
    with torch.no_grad():
        copy.weight.zero_()
    assert model.weight.abs().sum() > 0


def test_shapes_without_data_are_cast_too() -> None:
    with torch.device("meta"):
        model = torch.nn.Linear(2, 2)
    assert cast_copy(model, torch.float16).weight.dtype == torch.float16
