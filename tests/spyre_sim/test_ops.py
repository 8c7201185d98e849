"""Single ops of the table of section 5: what each date does with them, and right numbers where it gives any."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

import spyre_sim

DATES = ("2025-11", "2026-04", "2026-06", "2026-08", "2026-09")

X = torch.linspace(-2, 2, 8 * 128).reshape(8, 128).half()
P = X.abs() + 0.5
Y = X.flip(0).contiguous()
W = (torch.arange(128 * 64) % 7 - 3).reshape(128, 64).half() / 4
IDS = torch.arange(8)

# name -> (function, arguments); in the order of section 5's table
OPS = {
    "add": (lambda x, y: x + y, (X, Y)),
    "sub": (lambda x, y: x - y, (X, Y)),
    "mul": (lambda x, y: x * y, (X, Y)),
    "div": (lambda x, y: x / y, (X, P)),
    "abs": (torch.abs, (X,)),
    "exp": (torch.exp, (X,)),
    "log": (torch.log, (P,)),
    "sqrt": (torch.sqrt, (P,)),
    "rsqrt": (torch.rsqrt, (P,)),
    "reciprocal": (torch.reciprocal, (P,)),
    "relu": (torch.relu, (X,)),
    "tanh": (torch.tanh, (X,)),
    "sigmoid": (torch.sigmoid, (X,)),
    "neg": (torch.neg, (X,)),
    "eq": (lambda x, y: x == y, (X, Y)),
    "ge": (lambda x, y: x >= y, (X, Y)),
    "ne": (lambda x, y: x != y, (X, Y)),
    "lt": (lambda x, y: x < y, (X, Y)),
    "where": (lambda x, y: torch.where(x > y, x, y), (X, Y)),
    "masked_fill": (lambda x, y: x.masked_fill(x > y, -1.0), (X, Y)),
    "maximum": (torch.maximum, (X, Y)),
    "minimum": (torch.minimum, (X, Y)),
    "floor": (torch.floor, (X,)),
    "silu": (F.silu, (X,)),
    "gelu": (F.gelu, (X,)),
    "softplus": (F.softplus, (X,)),
    "mish": (F.mish, (X,)),
    "clamp": (lambda x: x.clamp(-1, 1), (X,)),
    "ceil": (torch.ceil, (X,)),
    "sign": (torch.sign, (X,)),
    "logical_not": (torch.logical_not, (X,)),
    "square": (torch.square, (X,)),
    "pow 2": (lambda x: x**2, (X,)),
    "pow -0.5": (lambda x: x**-0.5, (P,)),
    "mm": (torch.mm, (X, W)),
    "bmm": (torch.bmm, (X[None].repeat(2, 1, 1), W[None].repeat(2, 1, 1))),
    "addmm": (torch.addmm, (W[0], X, W)),
    "linear": (F.linear, (X, W.t().contiguous())),
    "sum": (lambda x: x.sum(0), (X,)),
    "mean": (lambda x: x.mean(-1), (P,)),
    "max": (lambda x: x.max(-1)[0], (X,)),
    "amax": (lambda x: x.amax(-1), (X,)),
    "argmax": (lambda x: x.argmax(-1), (X,)),
    "std": (lambda x: x.std(-1), (X,)),
    "cumsum": (lambda x: x.cumsum(0), (X,)),
    "topk": (lambda x: x.topk(2, -1)[0], (X,)),
    "softmax": (lambda x: x.softmax(-1), (X,)),
    "log_softmax": (lambda x: x.log_softmax(-1), (X,)),
    "vector_norm": (lambda x: torch.linalg.vector_norm(x, dim=-1), (X,)),
    "layer_norm": (lambda x: F.layer_norm(x, (128,)), (X,)),
    "rms_norm": (lambda x: F.rms_norm(x, (128,)), (X,)),
    "sdpa": (lambda x: F.scaled_dot_product_attention(x, x, x), (X.reshape(1, 2, 4, 128).repeat(1, 1, 16, 1),)),
    "embedding": (F.embedding, (IDS, X)),
    "index": (lambda x, i: x[i], (X, IDS)),
    "flip": (lambda x: x.flip(0), (X,)),
    "triu": (torch.triu, (X,)),
    "tril": (torch.tril, (X,)),
    "sin": (torch.sin, (X,)),
    "cos": (torch.cos, (X,)),
    "repeat": (lambda x: x.repeat(2, 1), (X,)),
    "repeat_interleave": (lambda x: x.repeat_interleave(2, 0), (X,)),
    "stack": (lambda x, y: torch.stack([x, y]), (X, Y)),
    "cat": (lambda x, y: torch.cat([x, y], -1), (X, Y)),
    "pad": (lambda x: F.pad(x, (0, 64)), (X,)),
    "split": (lambda x: x.split(64, -1)[1] + 0, (X,)),
    "select": (lambda x: x[3] + 0, (X,)),
    "slice": (lambda x: x[2:6] + 0, (X,)),
    "transpose": (lambda x: x.t().contiguous(), (X,)),
    "to float32": (lambda x: x.float().half(), (X,)),
    "einsum": (lambda x, w: torch.einsum("ij,jk->ik", x, w), (X, W)),
}

# What is not plain success, by date in the order of DATES: R raises when run, C when compiled, H on the host, W wrong.
KNOWN = {
    "pow 2": "RRRR.",
    "pow -0.5": "RRRR.",
    "std": "CCCCC",
    "argmax": "?HHHH",
    "cumsum": "?HHHH",
    "sin": "CHHH.",
    "cos": "CHHH.",
    "tril": "CHHHH",
    "triu": "CHH..",
    "flip": "C?W..",
    "embedding": "CHH..",
}


def verdict(name: str, date: str) -> str:
    function, args = OPS[name]
    found = spyre_sim.check(function, args, stack=date)
    if found:
        assert all(refusal.text and refusal.op for refusal in found)
        return {"run": "R", "compile": "C"}[found[0].when]
    compiled = spyre_sim.compile(function, args, stack=date)
    got = compiled(*args)
    exact = function(*[a.double() if a.is_floating_point() else a for a in args])
    close = torch.allclose(got.double(), exact.double(), rtol=0.01, atol=0.02)
    if not close:
        return "W"
    return "H" if compiled.report.host_fallbacks else "."


@pytest.mark.parametrize("name", OPS)
def test_june(name: str) -> None:
    assert verdict(name, "2026-06") == KNOWN.get(name, ".....")[2]


@pytest.mark.parametrize("name", KNOWN)
def test_how_it_changes(name: str) -> None:
    for date, expected in zip(DATES, KNOWN[name], strict=True):
        if expected != "?":
            assert (date, verdict(name, date)) == (date, expected)


def test_there_are_at_least_60() -> None:
    assert len(OPS) >= 60
