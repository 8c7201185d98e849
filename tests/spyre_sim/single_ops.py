"""Functions of one op with their arguments, by the names of op_table.yaml, which says what becomes of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import yaml
from torch.nn import functional as F

STACKS = ("2025-11", "2026-04", "2026-06", "2026-08", "2026-09")
REFUSED = "XRE"

X = torch.linspace(-2, 2, 8 * 128).reshape(8, 128).half()
P = X.abs() + 0.5
Y = X.flip(0).contiguous()
Z = X.reshape(128, 8).t().contiguous()  # every row from -2 to 2
W = (torch.arange(128 * 64) % 7 - 3).reshape(128, 64).half() / 4
B3 = X[None].repeat(2, 1, 1)
Q = X.reshape(1, 2, 4, 128).repeat(1, 1, 16, 1)
T = torch.tensor(0.5).half()
IDS = torch.arange(8)
TWICE = torch.tensor([1, 1, 2])
MASK = X > 0
IMAGE = torch.linspace(-1, 1, 2 * 4 * 8 * 64).reshape(2, 4, 8, 64).half()
FILTER = torch.linspace(-1, 1, 4 * 4 * 9).reshape(4, 4, 3, 3).half()
TALL = X[:, :64].contiguous()  # one stick wide, for topk (O9)

sdpa = F.scaled_dot_product_attention


def written(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    x.add_(y)
    return x


def filled(x: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    x.fill_(2.0)
    return x


def slice_written(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    x[2:4] = y[2:4]
    return x


CASES: dict[str, tuple[Any, ...]] = {
    "add": (lambda x, y: x + y, X, Y),
    "add number": (lambda x: x + 1.5, X),
    "add 0-d": (lambda x, t: x + t, X, T),
    "add row": (lambda x, y: x + y, X, Y[0]),
    "add float32": (lambda x, y: x + y, X.float(), Y.float()),
    "add integers": (lambda i: i + i, IDS),
    "sub": (lambda x, y: x - y, X, Y),
    "rsub": (lambda x: 1.0 - x, X),
    "mul": (lambda x, y: x * y, X, Y),
    "mul float32": (lambda x, y: x * y, X.float(), Y.float()),
    "div": (lambda x, y: x / y, X, P),
    "abs": (torch.abs, X),
    "exp": (torch.exp, X),
    "exp float32": (torch.exp, X.float()),
    "exp float32 of 25": (torch.exp, X.float() * 0 + 25),
    "log": (torch.log, P),
    "log float32": (torch.log, P.float()),
    "sqrt": (torch.sqrt, P),
    "rsqrt": (torch.rsqrt, P),
    "reciprocal": (torch.reciprocal, P),
    "relu": (torch.relu, X),
    "tanh": (torch.tanh, X),
    "tanh float32": (torch.tanh, X.float()),
    "sigmoid": (torch.sigmoid, X),
    "sigmoid float32": (torch.sigmoid, X.float()),
    "neg": (torch.neg, X),
    "square": (torch.square, X),
    "maximum": (torch.maximum, X, Y),
    "minimum": (torch.minimum, X, Y),
    "floor": (torch.floor, X),
    "ceil": (torch.ceil, X),
    "sign": (torch.sign, X),
    "silu": (F.silu, X),
    "silu float32": (F.silu, X.float()),
    "gelu": (F.gelu, X),
    "gelu float32": (F.gelu, X.float()),
    "softplus": (F.softplus, X),
    "softplus beta": (lambda x: F.softplus(x, beta=0.5), X),
    "mish": (F.mish, X),
    "clamp": (lambda x: x.clamp(-1, 1), X),
    "pow 2": (lambda x: x**2, X),
    "pow 3": (lambda x: x**3, X),
    "pow -0.5": (lambda x: x**-0.5, P),
    "pow tensor": (lambda x, y: x**y, P, X),
    "sin": (torch.sin, X),
    "cos": (torch.cos, X),
    "eq": (lambda x, y: x == y, X, Y),
    "ge": (lambda x, y: x >= y, X, Y),
    "ne": (lambda x, y: x != y, X, Y),
    "gt": (lambda x, y: x > y, X, Y),
    "lt": (lambda x, y: x < y, X, Y),
    "le": (lambda x, y: x <= y, X, Y),
    "ge integers": (lambda i: i >= 3, IDS),
    "ge float32": (lambda x, y: x >= y, X.float(), Y.float()),
    "where": (lambda m, x, y: torch.where(m, x, y), MASK, X, Y),
    "where float32": (lambda m, x, y: torch.where(m, x, y), MASK, X.float(), Y.float()),
    "masked_fill": (lambda x, m: x.masked_fill(m, -1.0), X, MASK),
    "logical_not": (torch.logical_not, X),
    "logical_and": (torch.logical_and, MASK, ~MASK),
    "bitwise_not": (torch.bitwise_not, MASK),
    "bitwise_and": (lambda m, n: m & n, MASK, ~MASK),
    "bitwise_xor": (lambda m, n: m ^ n, MASK, ~MASK),
    "bitwise_or": (lambda m, n: m | n, MASK, ~MASK),
    "bitwise_not integers": (torch.bitwise_not, IDS),
    "bitwise_and integers": (torch.bitwise_and, IDS, IDS.flip(0).contiguous()),
    "isin": (torch.isin, IDS, TWICE),
    "mm": (torch.mm, X, W),
    "mm one column": (torch.mm, X, W[:, :1].contiguous()),
    "mm float32": (torch.mm, X.float(), W.float()),
    "bmm": (torch.bmm, B3, W[None].repeat(2, 1, 1)),
    "matmul unit batch": (torch.matmul, X[None], W),
    "matmul vector": (torch.matmul, X, W[:, 0].contiguous()),
    "addmm": (torch.addmm, W[0], X, W),
    "linear": (F.linear, X, W.t().contiguous()),
    "linear off the stick": (F.linear, X[:, :96].contiguous(), torch.nn.Parameter(W[:96].t().contiguous())),
    "einsum": (lambda x, w: torch.einsum("ij,jk->ik", x, w), X, W),
    "conv2d": (lambda x, w: F.conv2d(x, w, padding=1), IMAGE, FILTER / 4),
    "conv2d stride 3": (lambda x, w: F.conv2d(x, w, stride=3), IMAGE, FILTER / 4),
    "conv1d": (lambda x, w: F.conv1d(x, w), IMAGE[:, :, 0].contiguous(), FILTER[:, :, 0].contiguous() / 4),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), IMAGE),
    "sdpa": (lambda x: sdpa(x, x, x), Q),
    "sdpa causal": (lambda x: sdpa(x, x, x, is_causal=True), Q),
    "sdpa additive mask": (lambda x, m: sdpa(x, x, x, m), Q, torch.full((64, 64), -1e4).triu(1).half()),
    "sdpa bool mask": (lambda x, m: sdpa(x, x, x, m), Q, torch.ones(64, 64).tril().bool()),
    "sdpa dropout": (lambda x: sdpa(x, x, x, dropout_p=0.1), Q),
    "sdpa other value dim": (lambda x, v: sdpa(x, x, v), Q, Q[..., :64].contiguous()),
    "sum": (lambda x: x.sum(0), X),
    "mean": (lambda x: x.mean(-1), P),
    "amax": (lambda x: x.amax(-1), X),
    "amin": (lambda x: x.amin(-1), X),
    "max values": (lambda x: x.max(-1)[0], X),
    "min values": (lambda x: x.min(-1)[0], X),
    "max indices": (lambda x: x.max(-1), Z),
    "max without dim": (torch.max, X),
    "argmax": (lambda x: x.argmax(-1), Z),
    "argmin": (lambda x: x.argmin(-1), Z),
    "any": (lambda m: m.any(-1), MASK),
    "all": (lambda m: m.all(-1), MASK),
    "prod": (lambda x: x.prod(0), P),
    "var": (lambda x: x.var(-1), X),
    "std": (lambda x: x.std(-1), X),
    "median": (lambda x: x.median(-1)[0], X),
    "mode": (lambda x: x.mode(-1)[0], X),
    "quantile": (lambda x: x.float().quantile(0.5, -1), X),
    "count_nonzero": (torch.count_nonzero, X),
    "logsumexp": (lambda x: x.logsumexp(-1), X),
    "nansum": (torch.nansum, X),
    "nanmean": (torch.nanmean, X),
    "cumprod": (lambda x: x.cumprod(0), X),
    "logcumsumexp": (lambda x: x.logcumsumexp(0), X),
    "cummax": (lambda x: x.cummax(0)[0], X),
    "cummin": (lambda x: x.cummin(0)[0], X),
    "std_mean": (lambda x: torch.std_mean(x, -1), X),
    "var_mean": (lambda x: torch.var_mean(x, -1), X),
    "cumsum": (lambda x: x.cumsum(0), X),
    "sort": (lambda x: x.sort(-1), X),
    "topk": (lambda x: x.topk(2, -1)[0], TALL),
    "topk 8": (lambda x: x.topk(8, -1)[0], TALL),
    "topk rank 3": (lambda x: x.topk(2, -1)[0], TALL.reshape(2, 4, 64)),
    "topk smallest": (lambda x: x.topk(2, -1, largest=False)[0], TALL),
    "topk one row": (lambda x: x.topk(2, -1)[0], TALL[:1].contiguous()),
    "topk 128 wide": (lambda x: x.topk(2, -1)[0], X),
    "topk float32": (lambda x: x.topk(2, -1)[0], TALL.float()),
    "softmax": (lambda x: x.softmax(-1), X),
    "softmax float32": (lambda x: x.softmax(-1), X.float()),
    "log_softmax": (lambda x: x.log_softmax(-1), X),
    "vector_norm": (lambda x: torch.linalg.vector_norm(x, dim=-1), X),
    "vector_norm of order 1": (lambda x: torch.linalg.vector_norm(x, 1, dim=-1), X),
    "layer_norm": (lambda x, w: F.layer_norm(x, (128,), w, w), Z, P[0]),
    "layer_norm without weight": (lambda x: F.layer_norm(x, (128,)), Z),
    "layer_norm over two dims": (lambda x: F.layer_norm(x, (8, 128)), Z),
    "layer_norm float32": (lambda x, w: F.layer_norm(x, (128,), w, w), Z.float(), P[0].float()),
    "rms_norm": (lambda x: F.rms_norm(x, (128,), eps=1e-5), X),
    "rms_norm over two dims": (lambda x: F.rms_norm(x, (8, 128), eps=1e-5), X),
    "embedding": (F.embedding, IDS, X),
    "index_select": (lambda x, i: x.index_select(0, i), X, IDS),
    "index": (lambda x, i: x[i], X, IDS),
    "index_select of lanes": (lambda x, i: x.index_select(1, i), X.reshape(64, 16), IDS),
    "index of rank 1": (lambda x, i: x[i], X[0].contiguous(), IDS),
    "index 0-d": (lambda x, i: x[i], X, torch.tensor(5)),
    "index of two": (lambda x, i: x[i, i], X, IDS),
    "gather of fewer columns": (lambda x, i: x.gather(0, i), X, torch.zeros(8, 64, dtype=torch.int64)),
    "index_copy": (lambda x, i, y: x.index_copy(0, i, y), X, IDS[:3], Y[:3].contiguous()),
    "index_add": (lambda x, i, y: x.index_add(0, i, y), X, IDS[:3], Y[:3].contiguous()),
    "index_add repeated": (lambda x, i, y: x.index_add(0, i, y), X, TWICE, Y[:3].contiguous()),
    "index_put": (lambda x, i, y: x.index_put((i,), y), X, IDS[:3], Y[:3].contiguous()),
    "index_put accumulated twice": (
        lambda x, i, y: x.index_put((i,), y, accumulate=True), X, TWICE, Y[:3].contiguous()
    ),
    "scatter": (lambda x, i, y: x.scatter(0, i, y), X, IDS[:, None].expand(8, 128).contiguous(), Y),
    "masked_scatter of elements": (lambda x, m, y: x.masked_scatter(m, y), X, MASK, Y),
    "flip": (lambda x: x.flip(0), X),
    "flip of the last dim": (lambda x: x.flip(-1), X),
    "triu": (torch.triu, X),
    "tril": (torch.tril, X),
    "repeat": (lambda x: x.repeat(2, 1), X),
    "repeat_interleave": (lambda x: x.repeat_interleave(2, 0), X),
    "stack": (lambda x, y: torch.stack([x, y]), X, Y),
    "cat": (lambda x, y: torch.cat([x, y], -1), X, Y),
    "cat of one row": (lambda x, y: torch.cat([x, y]), X, Y[:1].contiguous() + 1),
    "cat off the stick": (lambda x, y: torch.cat([x, y], -1), X[:, :32].contiguous(), Y),
    "pad": (lambda x: F.pad(x, (0, 64)), X),
    "pad left off the stick": (lambda x: F.pad(x, (3, 0)), X),
    "split": (lambda x: x.split(64, -1), X),
    "split inside a stick": (lambda x: x.split(32, -1)[1] + 0, X),
    "select": (lambda x: x[3] + 0, X),
    "slice": (lambda x: x[2:6] + 0, X),
    "slice of every other lane": (lambda x: x[:, ::2] + 0, X),
    "slice of rows with offset and step": (lambda x: x[1::2, :] + 0, X),
    "narrow heads": (lambda x: x.view(8, 4, 32) + 0, X),
    "slice_scatter": (lambda x, y: torch.slice_scatter(x, y, 0, 2, 4), X, Y[:2].contiguous()),
    "slice write": (slice_written, X, Y),
    "transpose": (lambda x: x.t().contiguous(), X),
    "two outputs": (lambda x, y: (x + y, x - y), X, Y),
    "in place": (written, X, Y),
    "fill_": (filled, X),
    "to float32 and back": (lambda x: x.float().half(), X),
    "to int64": (lambda x: x.to(torch.int64), X),
    "full": (lambda x: torch.full((8, 128), 2.0, dtype=torch.float16) * x, X),
    "arange": (lambda x: torch.arange(128, dtype=torch.float16) * x, X),
    "as_strided": (lambda x: x.as_strided((4, 128), (256, 1)) + 0, X),
    "float64": (lambda x: x + x, X.double()),
}  # fmt: skip


@dataclass(frozen=True)
class Single:
    """One row of op_table.yaml with its function: `status` by stack, `text` of each refusal, `facts` that say so."""

    name: str
    op: str
    status: str
    facts: tuple[str, ...]
    texts: tuple[str, ...]
    function: Callable[..., Any]
    args: tuple[Any, ...]

    def text(self, position: int) -> str:
        """What the refusal of the stack at `position` of STACKS has to say; "" where no fact quotes it."""
        before = sum(letter in REFUSED for letter in self.status[:position])
        return self.texts[before] if len(self.texts) > 1 else "".join(self.texts)


def _row(name: str, row: dict[str, Any]) -> Single:
    texts = row.get("text", ())
    texts = (texts,) if isinstance(texts, str) else tuple(texts)
    function, *args = CASES[name]
    op = row.get("op", name.split()[0])
    return Single(name, op, row["is"], tuple(map(str, row["facts"])), texts, function, tuple(args))


def table() -> tuple[Single, ...]:
    """The rows of op_table.yaml in order. Raises KeyError for one without a function."""
    rows = yaml.safe_load((Path(__file__).parent / "op_table.yaml").read_text(encoding="utf-8"))
    return tuple(_row(name, row) for name, row in rows.items())


TABLE = table()
