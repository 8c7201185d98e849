"""Single ops of section 5's table: a function of one op, its arguments, and what each date of the stack makes of it.

The status string has one letter for each of STACKS: `.` native or decomposed and right, `H` on the host and right,
`C` refused when compiled, `R` refused when run, `W` runs and is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional as F

STACKS = ("2025-11", "2026-04", "2026-06", "2026-08", "2026-09", "ideal")

X = torch.linspace(-2, 2, 8 * 128).reshape(8, 128).half()
P = X.abs() + 0.5
Y = X.flip(0).contiguous()
Z = X.reshape(128, 8).t().contiguous()  # every row from -2 to 2
W = (torch.arange(128 * 64) % 7 - 3).reshape(128, 64).half() / 4
B3 = X[None].repeat(2, 1, 1)
Q = X.reshape(1, 2, 4, 128).repeat(1, 1, 16, 1)
T = torch.tensor(0.5).half()
IDS = torch.arange(8)
MASK = X > 0
IMAGE = torch.linspace(-1, 1, 2 * 4 * 8 * 64).reshape(2, 4, 8, 64).half()
FILTER = torch.linspace(-1, 1, 4 * 4 * 9).reshape(4, 4, 3, 3).half()


@dataclass(frozen=True)
class Single:
    """One row: `status` by stack, `facts` that say so."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    status: str
    facts: str


def _row(name: str, status: str, facts: str, function: Callable[..., Any], *args: Any) -> Single:
    return Single(name, function, args, status, facts)


def written(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    x.add_(y)
    return x


def slice_written(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    x[2:4] = y[2:4]
    return x


TABLE = (
    _row("add", "......", "O4", lambda x, y: x + y, X, Y),
    _row("add number", "......", "O4 L49", lambda x: x + 1.5, X),
    _row("add 0-d", "......", "O4 L49", lambda x, t: x + t, X, T),
    _row("add row", "......", "O4 L40", lambda x, y: x + y, X, Y[0]),
    _row("add float32", "W.....", "A8 S44", lambda x, y: x + y, X.float(), Y.float()),
    _row("sub", "......", "O4", lambda x, y: x - y, X, Y),
    _row("rsub", "......", "O4", lambda x: 1.0 - x, X),
    _row("mul", "......", "O4", lambda x, y: x * y, X, Y),
    _row("mul float32", "......", "A8", lambda x, y: x * y, X.float(), Y.float()),
    _row("div", "......", "N21", lambda x, y: x / y, X, P),
    _row("abs", "......", "O4", torch.abs, X),
    _row("exp", "......", "O4", torch.exp, X),
    _row("exp float32", "......", "A13", torch.exp, X.float()),
    _row("log", "......", "O4", torch.log, P),
    _row("log float32", "CCCCC.", "A8", torch.log, P.float()),
    _row("sqrt", "......", "O4", torch.sqrt, P),
    _row("rsqrt", "......", "O4", torch.rsqrt, P),
    _row("reciprocal", "......", "O4", torch.reciprocal, P),
    _row("relu", "......", "O4", torch.relu, X),
    _row("tanh", "......", "O4", torch.tanh, X),
    _row("sigmoid", "......", "O4", torch.sigmoid, X),
    _row("neg", "C.....", "O4", torch.neg, X),
    _row("eq", "......", "N35", lambda x, y: x == y, X, Y),
    _row("ge", "......", "N35", lambda x, y: x >= y, X, Y),
    _row("ne", "CC....", "N35", lambda x, y: x != y, X, Y),
    _row("lt", "CC....", "N35", lambda x, y: x < y, X, Y),
    _row("le", "CC....", "N35", lambda x, y: x <= y, X, Y),
    _row("gt", "CC....", "N35", lambda x, y: x > y, X, Y),
    _row("ge integers", "CCCCC.", "N35 T23", lambda i: i >= 3, IDS),
    _row("where", "......", "O4", lambda m, x, y: torch.where(m, x, y), MASK, X, Y),
    _row("masked_fill", "......", "9.2", lambda x, m: x.masked_fill(m, -1.0), X, MASK),
    _row("maximum", "CC....", "O4", torch.maximum, X, Y),
    _row("minimum", "CC....", "O4", torch.minimum, X, Y),
    _row("floor", "C.....", "O4", torch.floor, X),
    _row("silu", "C.....", "O4", F.silu, X),
    _row("gelu", "C.....", "A16", F.gelu, X),
    _row("softplus", "C.....", "A14", F.softplus, X),
    _row("mish", "CC....", "O6", F.mish, X),
    _row("clamp", "C.....", "A16", lambda x: x.clamp(-1, 1), X),
    _row("ceil", "C.....", "9.2", torch.ceil, X),
    _row("sign", "C.....", "9.2", torch.sign, X),
    _row("logical_not", "C.....", "9.2", torch.logical_not, X),
    _row("bitwise_and", "CC....", "9.2", lambda m, n: m & n, MASK, ~MASK),
    _row("bitwise_xor", "CCHHH.", "O5", lambda m, n: m ^ n, MASK, ~MASK),
    _row("square", "C.....", "Q20", torch.square, X),
    _row("pow 2", "RRRR..", "E24 A33", lambda x: x**2, X),
    _row("pow 3", "RRWW..", "S51 A33", lambda x: x**3, X),
    _row("pow -0.5", "RRRR..", "E24 A33", lambda x: x**-0.5, P),
    _row("mm", "......", "O4", torch.mm, X, W),
    _row("mm, one column", "CCC...", "E5 O16", torch.mm, X, W[:, :1].contiguous()),
    _row("bmm", "C.....", "O4", torch.bmm, B3, W[None].repeat(2, 1, 1)),
    _row("matmul unit batch", "C..W..", "S30", torch.matmul, X[None], W),
    _row("addmm", "C.....", "9.2", torch.addmm, W[0], X, W),
    _row("linear", "C.....", "9.2", F.linear, X, W.t().contiguous()),
    _row("einsum", "C.....", "9.2", lambda x, w: torch.einsum("ij,jk->ik", x, w), X, W),
    _row("conv2d", "CCHHH.", "O11", lambda x, w: F.conv2d(x, w, padding=1), IMAGE, FILTER / 4),
    _row("conv2d stride 3", "CCCCC.", "O11", lambda x, w: F.conv2d(x, w, stride=3), IMAGE, FILTER / 4),
    _row("conv1d", "CCCCC.", "section 5", lambda x, w: F.conv1d(x, w), IMAGE[:, :, 0], FILTER[:, :, 0] / 4),
    _row("sum", "......", "A1", lambda x: x.sum(0), X),
    _row("mean", "C.....", "A32", lambda x: x.mean(-1), P),
    _row("amax", "......", "section 5", lambda x: x.amax(-1), X),
    _row("max.dim", "HHHHH.", "9.2 O5", lambda x: x.max(-1), X),
    _row("argmax", "CHHHH.", "O5", lambda x: x.argmax(-1), X),
    _row("any", "RHH...", "O5 O7", lambda m: m.any(-1), MASK),
    _row("all", "RHR...", "O7 A34", lambda m: m.all(-1), MASK),
    _row("prod", "RHR...", "O7", lambda x: x.prod(0), P),
    _row("std", "CCCCC.", "O7", lambda x: x.std(-1), X),
    _row("cumsum", "CHHHH.", "O5", lambda x: x.cumsum(0), X),
    _row("sort", "CCCCC.", "section 5", lambda x: x.sort(-1), X),
    _row("topk", "CC....", "O9", lambda x: x.topk(2, -1)[0], X),
    _row("topk 8", "CCC...", "O9 W8", lambda x: x.topk(8, -1)[0], X),
    _row("softmax", "......", "A27", lambda x: x.softmax(-1), X),
    _row("log_softmax", "......", "A27", lambda x: x.log_softmax(-1), X),
    _row("vector_norm", "CC....", "O6", lambda x: torch.linalg.vector_norm(x, dim=-1), X),
    _row("layer_norm", "......", "A20 S11", lambda x, w: F.layer_norm(x, (128,), w, w), Z, P[0]),
    _row("rms_norm", "CC....", "A25", lambda x: F.rms_norm(x, (128,), eps=1e-5), X),
    _row("sdpa", "CC....", "A28 A29", lambda x: F.scaled_dot_product_attention(x, x, x), Q),
    _row("sdpa bool mask", "CCCCC.", "T23", lambda x, m: F.scaled_dot_product_attention(x, x, x, m), Q,
         torch.ones(64, 64).tril().bool()),
    _row("embedding", "CHH...", "O5 O12", F.embedding, IDS, X),
    _row("index_select", "CHH...", "O5 O12", lambda x, i: x.index_select(0, i), X, IDS),
    _row("index", "CC....", "Q13", lambda x, i: x[i], X, IDS),
    _row("gather", "CCCCC.", "O12", lambda x: x.gather(0, torch.zeros(1, 128, dtype=torch.int64)), X),
    _row("flip", "CCW...", "O10 S55", lambda x: x.flip(0), X),
    _row("triu", "CHH...", "O5 A34", torch.triu, X),
    _row("tril", "CHHHH.", "O5", torch.tril, X),
    _row("sin", "CHHH..", "O5 A17", torch.sin, X),
    _row("cos", "CHHH..", "O5 A17", torch.cos, X),
    _row("repeat", "CH....", "O5", lambda x: x.repeat(2, 1), X),
    _row("repeat_interleave", "CC....", "A28", lambda x: x.repeat_interleave(2, 0), X),
    _row("stack", "CC....", "O6", lambda x, y: torch.stack([x, y]), X, Y),
    _row("cat", "C.....", "L50", lambda x, y: torch.cat([x, y], -1), X, Y),
    _row("cat off the stick", "CCCCC.", "E13", lambda x, y: torch.cat([x[:, :32].clone(), y], -1), X, Y),
    _row("pad", "C.....", "L50", lambda x: F.pad(x, (0, 64)), X),
    _row("split", "C.....", "O14", lambda x: x.split(64, -1), X),
    _row("split inside a stick", "CCCCC.", "O14", lambda x: x.split(32, -1)[1] + 0, X),
    _row("select", "C.....", "O14", lambda x: x[3] + 0, X),
    _row("slice", "C.....", "O14", lambda x: x[2:6] + 0, X),
    _row("narrow heads", "CCCCC.", "E10", lambda x: x.view(8, 4, 32) + 0, X),
    _row("transpose", "......", "L46", lambda x: x.t().contiguous(), X),
    _row("two outputs", "......", "O4", lambda x, y: (x + y, x - y), X, Y),
    _row("in place", "......", "O4", written, X, Y),
    _row("slice write", "CW....", "L50 S66", slice_written, X, Y),
    _row("to float32", ".H....", "N34 N40", lambda x: x.float().half(), X),
    _row("full", "......", "O5", lambda x: torch.full((8, 128), 2.0, dtype=torch.float16) * x, X),
    _row("arange", "......", "O5", lambda x: torch.arange(128, dtype=torch.float16) * x, X),
)  # fmt: skip
