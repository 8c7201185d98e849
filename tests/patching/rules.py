"""Rule files and models that the tests of patching share."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from transformers import AutoModelForCausalLM, BertConfig, BertModel, GPT2Config, Qwen3Config

from spyre_dsl.language.adapter import AdapterSet
from spyre_dsl.language.loader import load_text


@dataclass(frozen=True)
class Stack:
    """A stack profile with as much as guards may ask."""

    name: str = "2026-06"
    stick: int = 64

    def supports(self, op: str, dtype: str = "float16") -> bool:
        return False


STACK = Stack()


def adapters(*texts: str) -> AdapterSet:
    """The adapters of whole rule files; any error in them fails the test."""
    loaded = []
    for place, text in enumerate(texts):
        result = load_text(text, f"{place}.yaml")
        assert result.adapter is not None and not result.diagnostics, result.diagnostics
        loaded.append(result.adapter)
    return AdapterSet(tuple(loaded))


def rules(body: str, name: str = "test") -> AdapterSet:
    """An adapter set of one file; ``body`` is the list under ``rules``."""
    indented = "\n".join("  " + line for line in body.strip("\n").splitlines())
    return adapters(f"adapter: {name}\nsummary: for a test\ngap: {{kind: missing-lowering}}\nrules:\n{indented}\n")


def bert(layers: int = 2, seed: int = 0) -> BertModel:
    """A BERT with MiniLM's 32-wide heads, and otherwise tiny."""
    torch.manual_seed(seed)
    config = BertConfig(
        hidden_size=64, num_hidden_layers=layers, num_attention_heads=2, intermediate_size=96, vocab_size=100
    )
    return BertModel(config).eval()


def gpt2(layers: int = 2) -> torch.nn.Module:
    """A GPT-2 with tied embeddings."""
    torch.manual_seed(0)
    config = GPT2Config(
        n_layer=layers, n_embd=64, n_head=2, vocab_size=100, n_positions=64, bos_token_id=1, eos_token_id=2
    )
    return AutoModelForCausalLM.from_config(config).eval()


def qwen3(layers: int = 2) -> torch.nn.Module:
    """A Qwen3 with grouped queries."""
    torch.manual_seed(0)
    config = Qwen3Config(
        hidden_size=64, num_hidden_layers=layers, num_attention_heads=2, num_key_value_heads=1, head_dim=32,
        intermediate_size=96, vocab_size=100, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    return AutoModelForCausalLM.from_config(config).eval()


def text_inputs(batch: int = 2, length: int = 8, padded: bool = True, seed: int = 0) -> dict[str, torch.Tensor]:
    """Token ids with an attention mask; ``padded`` masks the end of the last row."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(3, 100, (batch, length), generator=generator)
    mask = torch.ones(batch, length, dtype=torch.long)
    if padded:
        mask[-1, length // 2 :] = 0
    return {"input_ids": ids, "attention_mask": mask}


HEAD_PADDING = """
adapter: head-padding
summary: Heads of a whole stick, and weights that make them so.
gap: {kind: alignment, evidence: [E10]}
rules:
  - name: pad-to-stick
    match:
      op: scaled_dot_product_attention($q, $k, $v, attn_mask=$mask, scale=$scale)
      where: size($q, -1) % stack.stick != 0
    rewrite:
      let:
        d: size($q, -1)
        to: round_up(d, stack.stick)
      op: >
        narrow(scaled_dot_product_attention(pad_last($q, to), pad_last($k, to), pad_last($v, to),
               attn_mask=$mask, scale=default($scale, d ** -0.5)), -1, 0, d)
    math: exact
  - name: pad-projection
    match:
      op: pad(transpose(reshape(linear($x, $w, $b), [$n, $s, $h, $d]), 1, 2), [0, $more])
    rewrite:
      let: {to: $d + $more}
      op: transpose(reshape(linear($x, pad_heads($w, $h, to), pad_heads($b, $h, to)), [$n, $s, $h, to]), 1, 2)
    math: exact
  - name: pad-output
    match:
      op: linear(reshape(transpose(narrow($o, -1, 0, $d), 1, 2), [$n, $s, $width]), $w, $b)
    rewrite:
      let: {h: "size($o, 1)", to: "size($o, -1)"}
      op: linear(reshape(transpose($o, 1, 2), [$n, $s, h * to]), pad_head_columns($w, h, to), $b)
    math: exact
"""

CUBE = """
adapter: cube
summary: A cube as products.
gap: {kind: missing-lowering, evidence: [S51]}
rules:
  - name: cube-as-products
    match:
      op: pow($x, 3)
    rewrite:
      op: $x * $x * $x
    math: exact
"""

SQUARES = """
adapter: squares
summary: A square as a product.
gap: {kind: missing-lowering, evidence: [S51]}
rules:
  - name: square-as-product
    match:
      op: pow($x, 2)
    rewrite:
      op: $x * $x
    math: exact
"""

ROPE = """
adapter: rope
summary: rotate_half as a product with a signed permutation.
gap: {kind: layout, evidence: [S5]}
rules:
  - name: rotate-half
    match:
      op: cat([neg(slice($x, -1, size($x, -1) // 2, end)), slice($x, -1, 0, size($x, -1) // 2)], -1)
    rewrite:
      op: matmul($x, rotate_half_matrix(size($x, -1)))
    math: exact
"""

FOLDED = """
- name: folded
  match: {op: "relu(linear($x, $w, $b))"}
  rewrite: {op: "relu(matmul($x, transpose($w * 2.0, 0, 1)) * 0.5 + $b)"}
"""
"""Gives a weight a folded value."""


class Layer(torch.nn.Module):
    """A projection and a relu: what ``FOLDED`` rewrites."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.dense = torch.nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.dense(x))


X = torch.randn(4, 8, generator=torch.Generator().manual_seed(1))
"""What ``layers`` are given."""


def layers(count: int = 2) -> torch.nn.Sequential:
    """Layers that ``FOLDED`` rewrites, each an owner."""
    torch.manual_seed(0)
    return torch.nn.Sequential(*(Layer() for _ in range(count))).eval()
