"""Tiny checkpoints made on the spot: a folder with a config and random safetensors."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel

TINY_BERT = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
TINY_GPT2 = {"n_embd": 32, "n_layer": 1, "n_head": 2, "vocab_size": 60, "bos_token_id": 0, "eos_token_id": 0}


@pytest.fixture(scope="session")
def bert_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT encoder of one layer, saved as transformers saves it; read only."""
    folder = tmp_path_factory.mktemp("bert")
    torch.manual_seed(0)
    BertModel(BertConfig(vocab_size=60, **TINY_BERT)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def gpt2_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GPT-2 decoder of one layer; read only."""
    folder = tmp_path_factory.mktemp("gpt2")
    torch.manual_seed(0)
    GPT2LMHeadModel(GPT2Config(**TINY_GPT2)).save_pretrained(folder)
    return folder


@pytest.fixture
def bert_copy(bert_checkpoint: Path, tmp_path: Path) -> Path:
    """A copy of the BERT checkpoint that a test may damage."""
    copy = tmp_path / "bert"
    copy.mkdir()
    for item in bert_checkpoint.iterdir():
        (copy / item.name).write_bytes(item.read_bytes())
    return copy


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty hub cache, and a hub that must not be asked."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub-cache"))
