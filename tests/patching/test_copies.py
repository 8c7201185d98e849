"""Rules that copy: the copy is no part of the value, and yet it is there when the model runs."""

from __future__ import annotations

import pytest
import torch

import spyre_sim
from spyre_dsl.patching.errors import RewriteLoop
from spyre_dsl.patching.plan import plan
from tests.patching.rules import STACK, bert, rules

COPYING = rules("""
- name: copy
  match:
    op: scaled_dot_product_attention($q, $k, $v, attn_mask=$mask, is_causal=$causal, scale=$scale)
    where: not is_contiguous($q)
  rewrite:
    op: >
      scaled_dot_product_attention(contiguous($q), contiguous($k), contiguous($v), attn_mask=$mask, is_causal=$causal,
                                   scale=$scale)
""")
INPUTS = {"input_ids": torch.arange(24).reshape(2, 12)}


def test_a_copy_is_written_once_and_shown() -> None:
    model = bert()
    made = plan(model, COPYING, (), INPUTS, stack=STACK)
    assert [patch.owner for patch in made.patches] == [f"encoder.layer.{n}.attention.self" for n in range(2)]
    assert "(contiguous($q), contiguous($k), contiguous($v)" in made.patches[0].after
    with made.applied(model) as handle:
        assert handle.code(made.patches[0].owner).count("torch.ops.aten.contiguous") == 3


def test_the_patched_model_computes_the_same_bit_for_bit() -> None:
    model = bert()
    with torch.no_grad():
        stock = model(**INPUTS).last_hidden_state
        with plan(model, COPYING, (), INPUTS, stack=STACK).applied(model):
            assert torch.equal(model(**INPUTS).last_hidden_state, stock)


class Attention(torch.nn.Module):
    """Two heads of 64, transposed as encoders leave them."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = torch.nn.ModuleList(torch.nn.Linear(64, 128) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (each(x).unflatten(-1, (2, 64)).transpose(1, 2) for each in self.qkv)
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)


def test_the_copy_bridges_what_the_device_gets_wrong() -> None:
    """On the stack of 2026-08 attention reads transposed heads wrongly (fact S6); a copy before it bridges that."""
    torch.manual_seed(0)
    model, x = Attention().half(), torch.randn(2, 64, 64).half()
    with torch.no_grad():
        wanted = model(x).flatten().float()
    stock = spyre_sim.compile(model, (x,), {}, stack="2026-08")
    assert similarity(stock(x), wanted) < 0.9 and "S6" in stock.report.defects
    with plan(model, COPYING, (x,), {}, stack=STACK).applied(model):
        patched = spyre_sim.compile(model, (x,), {}, stack="2026-08")
    assert similarity(patched(x), wanted) > 0.999 and "S6" not in patched.report.defects


def similarity(found: torch.Tensor, wanted: torch.Tensor) -> float:
    return float(torch.nn.functional.cosine_similarity(found.flatten().float(), wanted, dim=0))


def test_a_rule_that_takes_the_copy_away_again_is_a_loop() -> None:
    undoing = rules("""
- name: copy
  match: {op: exp($x), where: not is_contiguous($x)}
  rewrite: {op: exp(contiguous($x))}
- name: undo
  match: {op: exp($x), where: is_contiguous($x)}
  rewrite: {op: exp($x)}
""")
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), Transposed())
    with pytest.raises(RewriteLoop, match="copy.*undo|undo.*copy"):
        plan(model, undoing, (torch.ones(2, 3, 4),), stack=STACK)


class Transposed(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.transpose(0, 1).exp()
