"""An expression means what torch computes under the names that it uses."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from spyre_dsl.evidence.expressions import EvaluationError, Scope, evaluate, evaluate_lets, run_program
from spyre_dsl.evidence.tensors import LiftedTensors
from spyre_dsl.language.adapter import Let
from spyre_dsl.language.parser import parse_expression, parse_program


class Stack:
    stick = 64

    def supports(self, op: str, dtype: str = "float16") -> bool:
        return op == "aten.add" and dtype == "float16"


def value(text: str, **names: object) -> object:
    return evaluate(parse_expression(text), Scope(names=names, roots={"stack": Stack()}))


X = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
W = torch.linspace(-1, 1, 20).reshape(5, 4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pow(x, 2)", X**2),
        ("x ** 2", X**2),
        ("x * x - 2 * x + 1", X * X - 2 * X + 1),
        ("-x / 4", -X / 4),
        ("x @ transpose(w, 0, 1)", X @ W.T),
        ("linear(x, w)", torch.nn.functional.linear(X, W)),
        ("slice(x, -1, 2, end)", X[..., 2:]),
        ("split(x, [1, 3], -1)[1]", X[..., 1:]),
        ("cat([neg(slice(x, -1, 2, end)), slice(x, -1, 0, 2)], -1)", torch.cat([-X[..., 2:], X[..., :2]], -1)),
        ("mean(pow(x, 2), -1, keepdim=true)", (X**2).mean(-1, keepdim=True)),
        ("to(x, float16)", X.half()),
        ('to(x, "float16")', X.half()),
        ('zeros([2], dtype="float64")', torch.zeros(2, dtype=torch.float64)),
        ("where(x > 3, x, 0.0)", torch.where(X > 3, X, 0.0)),
        ("expand(unsqueeze(x, 0), [2, 2, 3, 4])", X.expand(2, 2, 3, 4)),
        ("reshape(x, [6, 4])", X.reshape(6, 4)),
        ("narrow(x, -1, 1, 2)", X.narrow(-1, 1, 2)),
        ("aten.mul.Tensor(x, x)", X * X),
        ("index(x, [none, to(select(x, 0, 0), int64) // 8])", None),
    ],
)
def test_ops_are_torchs_own(text: str, expected: torch.Tensor | None) -> None:
    found = value(text, x=X, w=W)
    assert isinstance(found, torch.Tensor)
    if expected is not None:
        assert found.dtype == expected.dtype and torch.equal(found, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("size(x, -1) % stack.stick != 0", True),
        ("round_up(size(x, -1), stack.stick)", 64),
        ("round_up(64, 64)", 64),
        ("shape(x)", [2, 3, 4]),
        ("rank(x) == 3 and numel(x) == 24", True),
        ("dtype(x) == float32", True),
        ("dtype(x) == float16", False),
        ('dtype(x) == "float32"', True),
        ('dtype(x) in ["float16", "float32"]', True),
        ('finfo_max("float16")', 65504.0),
        ("is_float(x)", True),
        ("is_float(3)", False),
        ("default(none, 7)", 7),
        ("default(0, 7)", 0),
        ("finfo_min(float16) / 2", -32752.0),
        ("finfo_max(float16)", 65504.0),
        ("len([1, 2, 3])", 3),
        ("min_of(3, 1, 2) + max_of(3, 1, 2)", 4),
        ("same(x, x)", True),
        ("1 if rank(x) == 2 else 2", 2),
        ("not (1 < 2 < 3)", False),
        ("3 in [1, 2, 3]", True),
        ("4 not in [1, 2, 3]", True),
        ("none == none", True),
        ("x == none", False),
        ("x != none", True),
        ("4 ** -0.5", 0.5),
        ("7 // 2 + 7 % 2", 4),
        ("stack.supports('aten.add', float16)", True),
        ("stack.supports('aten.pow', float16)", False),
        ("stack.supports('aten.add', 'float16')", True),
    ],
)
def test_host_values(text: str, expected: object) -> None:
    assert value(text, x=X) == expected


def test_logic_looks_no_further_than_it_must() -> None:
    assert value("rank(x) == 3 or size(x, 9) == 1", x=X) is True
    assert value("rank(x) == 2 and size(x, 9) == 1", x=X) is False


@given(st.integers(1, 5), st.integers(1, 9), st.integers(0, 7))
def test_pad_heads_fills_every_head(heads: int, width: int, extra: int) -> None:
    weight = torch.randn(heads * width, 3)
    padded = value(f"pad_heads(w, {heads}, {width + extra})", w=weight)
    assert isinstance(padded, torch.Tensor)
    seen = padded.reshape(heads, width + extra, 3)
    assert torch.equal(seen[:, :width], weight.reshape(heads, width, 3))
    assert not seen[:, width:].any()


@given(st.integers(1, 5), st.integers(1, 9), st.integers(0, 7))
def test_pad_head_columns_is_pad_heads_of_the_transpose(heads: int, width: int, extra: int) -> None:
    weight = torch.randn(3, heads * width)
    columns = value(f"pad_head_columns(w, {heads}, {width + extra})", w=weight)
    rows = value(f"pad_heads(w, {heads}, {width + extra})", w=weight.T)
    assert isinstance(rows, torch.Tensor) and torch.equal(columns, rows.T)


def test_pad_heads_takes_a_bias() -> None:
    assert value("pad_heads(b, 2, 3)", b=torch.ones(4)).tolist() == [1, 1, 0, 1, 1, 0]


@given(st.integers(1, 20))
def test_rotate_half_matrix_rotates(half: int) -> None:
    x = torch.randn(3, 2 * half)
    rotated = value(f"x @ rotate_half_matrix({2 * half})", x=x)
    assert torch.equal(rotated, torch.cat([-x[:, half:], x[:, :half]], -1))


def test_pad_dim_counts_from_either_end() -> None:
    assert value("pad_dim(x, 1, 5)", x=X).shape == (2, 5, 4)
    assert torch.equal(value("pad_dim(x, -2, 5)", x=X), value("pad_dim(x, 1, 5)", x=X))
    assert torch.equal(value("pad_last(x, 6)", x=X), torch.nn.functional.pad(X, (0, 2)))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("y + 1", "`y` is not bound"),
        ("$x + 1", "`$x` is not bound"),
        ("powr(x, 2)", "unknown op `powr`"),
        ("pow(x)", "missing argument exponent"),
        ("pow(x, exponents=2)", "unknown argument exponents"),
        ("reshape(x, [5, 5])", "shape '[5, 5]' is invalid"),
        ("size(x)", "size(x, dim)"),
        ("split(x, [1, 3], -1)[2]", "cannot take item 2"),
        ("config.hidden_size", "there is no `config` here"),
        ("1 + 'a'", "cannot compute"),
    ],
)
def test_what_has_no_value_says_why(text: str, says: str) -> None:
    with pytest.raises(EvaluationError) as problem:
        value(text, x=X)
    assert says in str(problem.value)


def test_lets_see_those_before_them() -> None:
    lets = [Let("d", parse_expression("size(x, -1)")), Let("to", parse_expression("round_up(d, 64)"))]
    scope = evaluate_lets(lets, Scope(names={"x": X}))
    assert scope.names["to"] == 64


def test_a_program_returns_one_value_or_several() -> None:
    scope = Scope(names={"x": X})
    assert torch.equal(run_program(parse_program("let y = x * 2\nreturn y"), scope), X * 2)
    both = run_program(parse_program("let y = x * 2\nreturn y, x"), scope)
    assert isinstance(both, tuple) and len(both) == 2


class TestRealNumbers:
    """Lifted tensors: conversions between floating dtypes do nothing, declared dtypes are kept."""

    tensors = LiftedTensors(torch.float64)

    def of(self, text: str, **names: torch.Tensor) -> object:
        lifted = {name: self.tensors.lift(tensor) for name, tensor in names.items()}
        return evaluate(parse_expression(text), Scope(names=lifted, tensors=self.tensors))

    def test_a_conversion_is_the_identity_on_the_value(self) -> None:
        x = torch.tensor([1.0 + 2**-20], dtype=torch.float64)
        lifted = self.of("to(to(x, float16), float64)", x=x)
        assert lifted.value.item() == x.item()

    @pytest.mark.parametrize("picked", [[True, False, True], [False, False, False], [True, True, True]])
    def test_a_size_that_depends_on_data_is_the_datas(self, picked: list[bool]) -> None:
        rows = torch.tensor(picked)
        lifted = self.of("index(x, [rows])", x=torch.ones(3, 4, dtype=torch.float16), rows=rows)
        assert lifted.declared.shape == lifted.value.shape == (sum(picked), 4)
        assert lifted.declared.dtype == torch.float16

    def test_rows_that_are_picked_are_put_back(self) -> None:
        x, rows = torch.arange(12.0).reshape(3, 4).half(), torch.tensor([True, False, True])
        lifted = self.of("index_put(zeros_like(x), [rows], index(x, [rows]))", x=x, rows=rows)
        assert lifted.value.tolist() == (x * rows[:, None]).tolist()
        assert lifted.declared.shape == (3, 4)

    def test_the_declared_dtype_follows_torchs_rules(self) -> None:
        x = torch.ones(2, dtype=torch.float16)
        assert self.of("dtype(x * 2.0)", x=x) == torch.float16
        assert self.of("dtype(x * to(x, float32))", x=x) == torch.float32
        assert self.of("dtype(x > 0)", x=x) == torch.bool
        assert self.of("finfo_min(dtype(x))", x=x) == -65504.0

    def test_what_torch_refuses_in_the_model_is_refused_here(self) -> None:
        x = torch.ones(2, 3, dtype=torch.float16)
        with pytest.raises(EvaluationError):
            self.of("x @ rotate_half_matrix(2)", x=x)

    def test_nothing_overflows_float16(self) -> None:
        x = torch.full((1,), 60000.0, dtype=torch.float16)
        assert math.isfinite(self.of("x * x", x=x).value.item())

    def test_attention_has_the_plain_formula(self) -> None:
        q, k, v = torch.randn(3, 1, 2, 4, 8, dtype=torch.float64).unbind(0)
        mask = torch.rand(1, 1, 4, 4) < 0.7
        mask |= torch.eye(4, dtype=torch.bool)
        found = self.of("scaled_dot_product_attention(q, k, v, attn_mask=m)", q=q, k=k, v=v, m=mask)
        scores = (q @ k.transpose(-1, -2) / 8**0.5).masked_fill(~mask, -torch.inf)
        torch.testing.assert_close(found.value, scores.softmax(-1) @ v)
