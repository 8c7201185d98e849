"""What a rule writes is what torch computes: every kind of argument, against torch itself."""

from __future__ import annotations

import pytest
import torch

from spyre_dsl.language.parser import parse_expression
from spyre_dsl.language.vocabulary import OPS
from spyre_dsl.matching.environment import Environment
from spyre_dsl.patching.eager import EagerWriter
from spyre_dsl.patching.errors import RewriteError
from spyre_dsl.patching.overloads import overload_named

X = torch.linspace(0.1, 2.0, 24).reshape(2, 3, 4)
Y = torch.linspace(-1.0, 1.0, 24).reshape(2, 3, 4)
M = torch.linspace(-1.0, 1.0, 20).reshape(4, 5)
I = torch.tensor([0, 2])  # noqa: E741
F = torch.nn.functional

CASES = {
    "x * 2": X * 2,
    "2 * x": X * 2,
    "1 - x": 1 - X,
    "1 / x": 1 / X,
    "2 ** x": 2**X,
    "x ** 3": X**3,
    "x ** y": X**Y,
    "-x": -X,
    "x // 2": X // 2,
    "x % y": X % Y,
    "x @ m": X @ M,
    "x < 1": X < 1,
    "x <= y": X <= Y,
    "add(x, y, alpha=2)": torch.add(X, Y, alpha=2),
    "div(x, y, rounding_mode='floor')": torch.div(X, Y, rounding_mode="floor"),
    "rsub(x, 3)": 3 - X,
    "where(x < 1, x, 0.0)": torch.where(X < 1, X, 0.0),
    "clamp(x, min=0.5)": X.clamp(min=0.5),
    "clamp(x, 0.5, 1.5)": X.clamp(0.5, 1.5),
    "mean(x)": X.mean(),
    "mean(x, -1, keepdim=true)": X.mean(-1, keepdim=True),
    "mean(x, [0, 2])": X.mean((0, 2)),
    "sum(x, 1)": X.sum(1),
    "max(x)": X.max(),
    "max(x, -1)[0]": X.max(-1)[0],
    "amax(x, [-1], true)": X.amax(-1, True),
    "var(x, -1, correction=0)": X.var(-1, correction=0),
    "softmax(x, -1)": X.softmax(-1),
    "softmax(x, -1, dtype=float64)": X.softmax(-1, dtype=torch.float64),
    "gelu(x, approximate='tanh')": F.gelu(X, approximate="tanh"),
    "layer_norm(x, [4])": F.layer_norm(X, [4]),
    "layer_norm(x, [4], eps=0.1)": F.layer_norm(X, [4], eps=0.1),
    "linear(x, transpose(m, 0, 1))": X @ M,
    "linear(x, transpose(m, 0, 1), narrow(select(m, 0, 0), 0, 0, 5))": X @ M + M[0],
    "addmm(select(m, 0, 1), select(x, 0, 0), m)": torch.addmm(M[1], X[0], M),
    "reshape(x, [6, -1])": X.reshape(6, 4),
    "reshape(x, [size(x, 0) * size(x, 1), rank(x) + 1])": X.reshape(6, 4),
    "transpose(x, 0, -1)": X.transpose(0, -1),
    "permute(x, [2, 0, 1])": X.permute(2, 0, 1),
    "expand(unsqueeze(x, 0), [5, 2, 3, 4])": X.expand(5, 2, 3, 4),
    "cat([x, y], -1)": torch.cat([X, Y], -1),
    "stack([x, y])": torch.stack([X, Y]),
    "split(x, [1, 2], 1)[1]": X.split([1, 2], 1)[1],
    "split(x, 2, 1)[0]": X.split(2, 1)[0],
    "chunk(x, 2, -1)[1]": X.chunk(2, -1)[1],
    "unbind(x, 0)[1]": X[1],
    "slice(x, -1, 1, end)": X[..., 1:],
    "slice(x, -1, 0, 4, 2)": X[..., ::2],
    "narrow(x, -1, 1, 2)": X[..., 1:3],
    "index(x, [none, i])": X[:, I],
    "index_select(x, 1, i)": X[:, I],
    "embedding(i, m)": M[I],
    "masked_fill(x, x < 1, 0.0)": X.masked_fill(X < 1, 0.0),
    "pad(x, [0, 2])": F.pad(X, (0, 2)),
    "pad(x, [1, 1], mode='replicate')": F.pad(X, (1, 1), mode="replicate"),
    "to(x, float16)": X.half(),
    "to(to(x, bfloat16), float32)": X.bfloat16().float(),
    "type_as(i, x)": I.float(),
    "arange(4)": torch.arange(4),
    "arange(1, 9, 2)": torch.arange(1, 9, 2),
    "zeros([2, 3])": torch.zeros(2, 3),
    "ones([2], dtype=float16)": torch.ones(2).half(),
    "full([2, 2], 0.5)": torch.full((2, 2), 0.5),
    "eye(3)": torch.eye(3),
    "full_like(x, 3)": torch.full_like(X, 3),
    "tril(select(x, 0, 0))": X[0].tril(),
    "cumsum(x, -1)": X.cumsum(-1),
    "topk(x, 2)[1]": X.topk(2)[1],
    "einsum('abc,cd->abd', [x, m])": X @ M,
    "scaled_dot_product_attention(x, y, y, scale=0.5)": F.scaled_dot_product_attention(X, Y, Y, scale=0.5),
    "scaled_dot_product_attention(x, x, y, is_causal=true)": F.scaled_dot_product_attention(X, X, Y, is_causal=True),
    "aten.pow.Tensor_Scalar(x, 2)": X**2,
    "aten.histc.default(x, 4)": torch.histc(X, 4),
    "x * 2 if size(x, -1) == 4 else x": X * 2,
    "pad_last(x, 6)": F.pad(X, (0, 2)),
    "pad_dim(x, 0, 3)": F.pad(X, (0, 0, 0, 0, 0, 1)),
    "pad_last(x, 4)": X,
    "matmul(x, rotate_half_matrix(4))": torch.cat([-X[..., 2:], X[..., :2]], -1),
    "pad_heads(m, 2, 3)": torch.cat([M[:2], torch.zeros(1, 5), M[2:], torch.zeros(1, 5)]),
    "pad_heads(select(m, 1, 0), 2, 3)": torch.tensor([M[0, 0], M[1, 0], 0, M[2, 0], M[3, 0], 0]),
    "pad_head_columns(transpose(m, 0, 1), 2, 3)": torch.cat([M[:2], torch.zeros(1, 5), M[2:], torch.zeros(1, 5)]).T,
}


def written(text):
    writer = EagerWriter(Environment(names={"x": X, "y": Y, "m": M, "i": I}), "test/rule", X)
    return writer.emit(parse_expression(text))


@pytest.mark.parametrize("text", CASES, ids=str)
def test_an_expression_computes_what_torch_does(text):
    found = written(text)
    torch.testing.assert_close(found, CASES[text], rtol=1e-6, atol=1e-6)
    assert found.dtype == CASES[text].dtype


@pytest.mark.parametrize("name", sorted({overload for op in OPS.values() for overload in op.overloads}))
def test_every_overload_of_the_vocabulary_exists(name):
    assert overload_named(name) is not None


@pytest.mark.parametrize(
    "text, reason",
    [
        ("matmul(x, x)", r"matmul\(input=float32\[2, 3, 4\], other=float32\[2, 3, 4\]\) fits none of its overloads"),
        ("pad_last(x, 3)", "padding from 4 down to 3"),
        ("pad_heads(m, 3, 4)", r"dimension 0 of a tensor of shape \[4, 5\] does not hold 3 heads"),
        ("rotate_half_matrix(3)", "needs an even size, not 3"),
        ("x[0]", r"float32\[2, 3, 4\] has no output 0"),
        ("split(x, 2, 1)[5]", "has no output 5"),
        ("aten.nosuch.default(x)", "this torch has no op `aten.nosuch.default`"),
        ("x if x < 1 else y", "a condition must be true or false before the model runs"),
        ("z + 1", "nothing is called `z` here"),
    ],
)
def test_what_cannot_be_written_is_refused_with_the_reason(text, reason):
    with pytest.raises(RewriteError, match="test/rule: .*" + reason):
        written(text)


def test_a_missing_bias_stays_missing():
    writer = EagerWriter(Environment(names={"b": None, "w": M}), "test/rule", M)
    assert writer.emit(parse_expression("pad_heads(b, 2, 3)")) is None
