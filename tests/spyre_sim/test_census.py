"""Every op of the model types runs, falls back, is refused by a fact, or is on the list of what is not modelled."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

import spyre_sim
from spyre_sim.legalize.lower import IGNORED
from spyre_sim.stacks import facts

HERE = Path(__file__).parent
CENSUS: dict[str, int] = yaml.safe_load((HERE / "op_census.yaml").read_text(encoding="utf-8"))
ATEN = {name.removeprefix("aten."): count for name, count in CENSUS.items() if name.startswith("aten.")}
UNSUPPORTED = (HERE.parents[1] / "docs" / "unsupported.md").read_text(encoding="utf-8")
STACKS = ("2026-06", "2026-09")
IN_FACTS = re.compile(r"^([A-Z]\d+[ab]?|section \d+|\d+\.\d+)$")

X = torch.linspace(-2, 2, 8 * 128).reshape(8, 128).half()
P = X.abs() + 0.5
Y = X.flip(0).contiguous()
W = (torch.arange(128 * 64) % 7 - 3).reshape(128, 64).half() / 4
BATCH = X[None].repeat(2, 1, 1)
HEADS = X.reshape(1, 2, 4, 128).repeat(1, 1, 16, 1)
MASK = X > 0
NUMBERS = torch.arange(8)
COLUMN = NUMBERS[:, None].expand(8, 128).contiguous()
COUNTS = torch.ones(8, dtype=torch.int64)
IMAGE = torch.linspace(-1, 1, 2 * 4 * 8 * 64).reshape(2, 4, 8, 64).half()
FILTER = torch.linspace(-1, 1, 4 * 4 * 9).reshape(4, 4, 3, 3).half()
COMPLEX = torch.view_as_complex(torch.ones(4, 64, 2))
HALF = {"dtype": torch.float16}

# One call of each overload: its arguments, the last one a dict where there are keywords.
CALLS: dict[str, tuple[Any, ...]] = {
    **{name: (X,) for name in (
        "abs.default alias.default any.default argmax.default ceil.default clone.default contiguous.default cos.default"
        " detach.default detach_.default empty_like.default erf.default exp.default expm1.default floor.default"
        " gelu.default lift_fresh_copy.default max.default neg.default new_empty.default numpy_T.default"
        " ones_like.default relu.default sigmoid.default sign.default silu.default sin.default softplus.default"
        " square.default squeeze.default sum.default t.default tanh.default tril.default triu.default"
        " zeros_like.default"
    ).split()},
    **{name: (P,) for name in "log.default log1p.default reciprocal.default rsqrt.default sqrt.default".split()},
    **{name: (X, Y) for name in (
        "add.Tensor add_.Tensor copy_.default eq.Tensor expand_as.default ge.Tensor gt.Tensor le.Tensor"
        " max.other maximum.default min.other mul.Tensor mul_.Tensor sub.Tensor type_as.default"
    ).split()},
    **{name: (X, 1.5) for name in (
        "eq.Scalar full_like.default ge.Scalar gt.Scalar le.Scalar lt.Scalar ne.Scalar rsub.Scalar"
    ).split()},
    "__and__.Tensor": (MASK, MASK),
    "__or__.Tensor": (MASK, MASK),
    "_is_all_true.default": (MASK,),
    "adaptive_avg_pool1d.default": (BATCH, [1]),
    "addmm.default": (W[0], X, W),
    "any.dim": (MASK, -1),
    "arange.default": (64, HALF),
    "arange.start": (0, 64, HALF),
    "arange.start_step": (0, 64, 2, HALF),
    "as_strided.default": (X, [4, 128], [256, 1]),
    "baddbmm.default": (BATCH[:, :, :64].contiguous(), BATCH, W[None].repeat(2, 1, 1)),
    "batch_norm.default": (BATCH, P[0, :8], X[0, :8], X[0, :8], P[0, :8], False, 0.1, 1e-5, False),
    "bitwise_not.default": (MASK,),
    "bmm.default": (BATCH, W[None].repeat(2, 1, 1)),
    "cat.default": ([X, Y],),
    "chunk.default": (X, 2, -1),
    "clamp.Tensor": (X, Y, None),
    "clamp.default": (X, -1, 1),
    "concat.default": ([X, Y],),
    "concatenate.default": ([X, Y],),
    "conv1d.default": (IMAGE[:, :, 0].contiguous(), FILTER[:, :, 0].contiguous()),
    "conv2d.default": (IMAGE, FILTER, None, [1, 1], [1, 1]),
    "conv2d.padding": (IMAGE, FILTER, None, [1, 1], "same"),
    "cumsum.default": (X, 0),
    "div.Tensor": (X, P),
    "div.Tensor_mode": (X, P, {"rounding_mode": "floor"}),
    "div_.Tensor": (X, P),
    "dropout.default": (X, 0.1, False),
    "einsum.default": ("ij,jk->ik", [X, W]),
    "embedding.default": (X, NUMBERS),
    "expand.default": (X[:1], [8, 128]),
    "eye.default": (64, HALF),
    "flatten.using_ints": (BATCH,),
    "flip.default": (X, [0]),
    "floor_divide.default": (X, P),
    "full.default": ([8, 128], 1.5, HALF),
    "gather.default": (X, 0, COLUMN[:, :64].contiguous()),
    "histc.default": (X[0], 8, 0, 7),
    "index.Tensor": (X, [NUMBERS]),
    "index_put_.default": (X, [NUMBERS], Y),
    "index_select.default": (X, 0, NUMBERS),
    "item.default": (X.sum(),),
    "layer_norm.default": (X, [128], P[0], P[0]),
    "linalg_vector_norm.default": (X, 2, [-1]),
    "linear.default": (X, W.t().contiguous()),
    "masked_fill.Scalar": (X, MASK, -1.0),
    "masked_fill_.Scalar": (X, MASK, -1.0),
    "masked_scatter.default": (X, MASK, Y),
    "matmul.default": (X, W),
    "max.dim": (X, -1),
    "mean.dim": (X, [-1]),
    "new_full.default": (X, [8], 1.5),
    "new_ones.default": (X, [8, 64]),
    "new_zeros.default": (X, [8, 64]),
    "new_empty.default": (X, [8, 64]),
    "ones.default": ([8, 64], HALF),
    "pad.default": (X, [0, 64]),
    "permute.default": (X, [1, 0]),
    "polar.default": (X.float(), X.float()),
    "pow.Scalar": (2.0, X),
    "pow.Tensor_Scalar": (X, 2),
    "pow.Tensor_Tensor": (P, X),
    "repeat.default": (X, [2, 1]),
    "repeat_interleave.self_int": (X, 2, 0),
    "reshape.default": (X, [4, 256]),
    "scaled_dot_product_attention.default": (HEADS, HEADS, HEADS),
    "scatter.value": (X, 0, COLUMN, 1.0),
    "scatter_.src": (X, 0, COLUMN, Y),
    "scatter_.value": (X, 0, COLUMN, 1.0),
    "select.int": (X, 0, 3),
    "slice.Tensor": (X, 0, 2, 6),
    "softmax.int": (X, -1),
    "sort.default": (X,),
    "split.Tensor": (X, 64, -1),
    "split_with_sizes.default": (X, [64, 64], -1),
    "squeeze.dim": (X[:, None], 1),
    "stack.default": ([X, Y],),
    "sum.dim_IntList": (X, [0]),
    "sym_size.int": (X, 0),
    "to.device": (X, "cpu", torch.float16),
    "to.dtype": (X, torch.float32),
    "to.dtype_layout": (X, {"dtype": torch.float32}),
    "topk.default": (X[:, :64].contiguous(), 2),
    "transpose.int": (X, 0, 1),
    "unbind.int": (X,),
    "unflatten.int": (X, 1, [2, 64]),
    "unsqueeze.default": (X, 0),
    "upsample_bicubic2d.vec": (IMAGE, [16, 128], False, None),
    "view.default": (X, [4, 256]),
    "view_as_complex.default": (torch.ones(4, 64, 2),),
    "view_as_real.default": (COMPLEX,),
    "where.ScalarOther": (MASK, X, 1.5),
    "where.ScalarSelf": (MASK, 1.5, X),
    "where.self": (MASK, X, Y),
    "zeros.default": ([8, 64], HALF),
}  # fmt: skip

# What the simulator refuses as not modelled; each has its reason in docs/unsupported.md.
NOT_MODELLED: dict[str, str] = {
    "adaptive_avg_pool1d.default": "adaptive_avg_pool1d",
    "upsample_bicubic2d.vec": "upsample_bicubic2d",
    "batch_norm.default": "batch_norm",
    "item.default": "item",
    "histc.default": "histc",
}


def refusals(name: str, stack: str) -> tuple[Any, ...]:
    """What the stack refuses in a function of this one call; the example's tensors are its arguments."""
    base, overload = name.split(".")
    op = getattr(getattr(torch.ops.aten, base), overload)
    *given, last = CALLS[name]
    keywords = last if isinstance(last, dict) else {}
    items = given if keywords else [*given, last]
    leaves, spec = torch.utils._pytree.tree_flatten(items)
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]

    def call(*arguments: torch.Tensor) -> Any:
        rest = iter(arguments)
        filled = [next(rest) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        placed = torch.utils._pytree.tree_unflatten(filled, spec)
        if "_." in name:
            placed[0] = placed[0].clone()
        result = op(*placed, **keywords)
        return result if isinstance(result, (torch.Tensor, list, tuple)) else torch.ones(64).half() * result

    return spyre_sim.check(call, tuple(tensors), stack=stack)


def test_every_op_of_the_census_has_an_example() -> None:
    assert set(ATEN) - set(CALLS) == {f"{name}.default" for name in IGNORED & {n.split(".")[0] for n in ATEN}}


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("name", sorted(set(CALLS) & set(ATEN) - set(NOT_MODELLED)))
def test_it_runs_or_a_fact_refuses_it(name: str, stack: str) -> None:
    for refusal in refusals(name, stack):
        assert refusal.kind == "unsupported", refusal
        assert IN_FACTS.match(refusal.fact), refusal


@pytest.mark.parametrize("name", sorted(NOT_MODELLED))
def test_what_is_not_modelled_is_in_the_docs_with_its_reason(name: str) -> None:
    assert f"`{NOT_MODELLED[name]}`" in UNSUPPORTED
    assert any(refusal.kind == "not_modelled" for refusal in refusals(name, "2026-06"))


def test_what_three_types_use_is_modelled_unless_no_fact_speaks_of_it() -> None:
    frequent = {name for name in NOT_MODELLED if ATEN[name] >= 3}
    spoken_of = {name for name in frequent if name.split(".")[0] in facts.op_names()}
    assert not spoken_of


def test_ops_outside_aten_are_about_sizes_or_opaque() -> None:
    others = {name for name in CENSUS if not name.startswith("aten.")}
    assert {name.split(".")[0] for name in others} == {"py", "transformers", "higher_order"}
