"""A refused shape is told in the words of the model's config."""

from __future__ import annotations

import pytest
from transformers import BertConfig, CLIPConfig, GPT2Config, Qwen3Config

from spyre_dsl.assessment.dimensions import dimensions, names_of_sizes


def test_the_heads_of_minilm_are_called_by_their_settings() -> None:
    names = names_of_sizes(BertConfig(hidden_size=384, num_attention_heads=12, intermediate_size=1536), (4, 28))
    assert dimensions((4, 12, 28, 32), names) == ["batch", "num_attention_heads", "sequence", "head_dim"]
    assert dimensions((4, 28, 384), names) == ["batch", "sequence", "hidden_size"]


def test_a_width_of_heads_in_the_config_goes_before_one_that_is_worked_out() -> None:
    config = Qwen3Config(hidden_size=1024, num_attention_heads=16, num_key_value_heads=8, head_dim=128)
    names = names_of_sizes(config, (1, 5))
    assert (names[128], names.get(64), names[8]) == ("head_dim", None, "num_key_value_heads")


def test_one_size_of_two_settings_has_both_names() -> None:
    names = names_of_sizes(BertConfig(hidden_size=144, num_attention_heads=12), (4, 12))
    assert names[12] == "sequence or num_attention_heads or head_dim"


@pytest.mark.parametrize(("hidden", "heads"), [(100, 12), (64, 0)])
def test_heads_that_do_not_divide_the_width_give_no_name(hidden: int, heads: int) -> None:
    config = GPT2Config(n_embd=hidden, n_head=heads)
    assert "head_dim" not in names_of_sizes(config, (2, 3)).values()


def test_a_size_of_one_says_nothing() -> None:
    names = names_of_sizes(Qwen3Config(num_key_value_heads=1), (1, 1))
    assert dimensions((1, 7), names) == [None, None]


def test_the_config_of_the_text_part_is_asked() -> None:
    config = CLIPConfig()
    assert names_of_sizes(config, (2, 3))[config.text_config.hidden_size].split(" or ")[0] == "hidden_size"
