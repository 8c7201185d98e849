"""Large constants wait in device memory as words: every kernel takes them, whatever operand they are."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import spyre_sim

SQUARE = torch.randn(128, 128, generator=torch.Generator().manual_seed(0)).half()
MASK = torch.where(SQUARE > 0.5, -1e4, 0.0).half()
HEADS = SQUARE.reshape(1, 2, 64, 128)[..., :64].repeat(1, 1, 2, 1).contiguous()

OPERANDS: dict[str, Callable[[Tensor], Tensor]] = {
    "left of a sum": lambda x: SQUARE + x,
    "right of a sum": lambda x: x + SQUARE,
    "right of a product": lambda x: x * SQUARE,
    "divided": lambda x: SQUARE / (x.abs() + 1),
    "both, in a residual sum and its norm": lambda x: F.layer_norm(x + SQUARE, (128,)),
    "left of a matrix product": lambda x: SQUARE @ x,
    "right of a matrix product": lambda x: x @ SQUARE,
    "transposed": lambda x: x @ SQUARE.t(),
    "sliced": lambda x: x[:, :64] + SQUARE[:, 64:],
    "concatenated": lambda x: torch.cat([x, SQUARE]),
    "chosen": lambda x: torch.where(x > 0, x, SQUARE),
    "the smaller": lambda x: torch.minimum(x, SQUARE),
    "scores": lambda x: torch.softmax(x @ SQUARE + MASK, -1),
    "masked softmax": lambda x: torch.softmax(x + MASK, -1),
    "reduced": lambda x: x + SQUARE.sum(-1, keepdim=True),
    "averaged": lambda x: x + SQUARE.mean(0),
    "through a function": lambda x: x + torch.exp(SQUARE),
    "through gelu": lambda x: x + F.gelu(SQUARE),
    "clamped": lambda x: x + SQUARE.clamp(-1, 1),
}  # fmt: skip

ATTENTION: dict[str, Callable[[Tensor], Tensor]] = {
    "mask": lambda x: F.scaled_dot_product_attention(x, x, x, attn_mask=MASK),
    "causal mask": lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    "query": lambda x: F.scaled_dot_product_attention(HEADS, x, x),
    "key": lambda x: F.scaled_dot_product_attention(x, HEADS, x),
    "value": lambda x: F.scaled_dot_product_attention(x, x, HEADS),
    "query and mask": lambda x: F.scaled_dot_product_attention(HEADS, x, x, attn_mask=MASK),
}


def agree(function: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    got = spyre_sim.compile(function, (x,))(x).double()
    wanted = function(x).double()
    return torch.nn.functional.cosine_similarity(got.flatten(), wanted.flatten(), dim=0).item() > 0.9999


@pytest.mark.parametrize("operand", OPERANDS)
def test_constant_matrices_are_operands_like_others(operand: str) -> None:
    assert agree(OPERANDS[operand], torch.randn(128, 128).half())


@pytest.mark.parametrize("operand", ATTENTION)
def test_constants_take_part_in_attention(operand: str) -> None:
    assert agree(ATTENTION[operand], torch.randn(1, 2, 128, 64).half())
