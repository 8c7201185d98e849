"""Attention as one op: the numbers of the separate kernels to the last bit, whatever stands around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F

import spyre_sim
from spyre_sim.execute import Executor

Tensor = torch.Tensor


def half(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).half()


def both_ways(function: Callable[..., Any], args: tuple[Tensor, ...], stack: str = "2026-06") -> tuple[Executor, bool]:
    """The executor of fused ops, and whether its results are those of the separate ones."""
    compiled = spyre_sim.compile(function, args, stack=stack)
    fused, plain = (Executor(compiled._program, compiled.stack, fused=way) for way in (True, False))
    results, expected = fused.run(list(args))[0], plain.run(list(args))[0]
    return fused, all(torch.equal(mine, other) for mine, other in zip(results, expected, strict=True))


def heads_of(x: Tensor, heads: int) -> Tensor:
    return x.view(*x.shape[:-1], heads, -1).transpose(1, 2)


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """[B, S, H * E] -> the same, with heads of a stick."""
    q, k, v = (heads_of(item, item.shape[-1] // 64) for item in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).reshape(*q.shape[:1], q.shape[2], -1)


def kernels(executor: Executor) -> list[str]:
    return [step.op.kernel for step in executor.steps]


@pytest.mark.parametrize("count", ["1", "2", "3"])
@pytest.mark.parametrize("stack", ["2026-06", "2026-08"])
@pytest.mark.parametrize(("batch", "rows", "keys", "heads"), [(2, 64, 64, 2), (3, 128, 64, 1), (1, 64, 128, 5)])
def test_scaling_and_storing_heads(
    count: str, stack: str, batch: int, rows: int, keys: int, heads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPYRE_SIM_THREADS", count)
    given = [half(batch, size, 64 * heads, seed=size) for size in (rows, keys, keys)]
    executor, same = both_ways(attention, (given[0], given[1], given[2] + 1), stack)
    assert same
    if stack == "2026-06":
        assert not {"mul", "identity", "batchmatmul"} & set(kernels(executor))


@pytest.mark.parametrize("mask", [(64, 64), (2, 1, 64, 64), (2, 3, 64, 64), (1, 1, 1, 64)], ids=str)
def test_masks(mask: tuple[int, ...]) -> None:
    executor, same = both_ways(attention, (*(half(2, 64, 192, seed=i) for i in range(3)), half(*mask)))
    assert same and "mul" not in kernels(executor)


@pytest.mark.parametrize("size", [2.0**-10, 2.0**10])
def test_products_at_the_ends_of_the_format(size: float) -> None:
    given = tuple(half(1, 64, 128, seed=i) * size for i in range(3))
    assert both_ways(attention, given)[1]


@pytest.mark.parametrize(
    "around",
    [
        lambda q, k, v: (q * 0.5) @ (k * 0.5).transpose(-1, -2),
        lambda q, k, v: ((q * 0.5) @ k.transpose(-1, -2)).softmax(-1) @ v,
        lambda q, k, v: (q @ (k * 0.5).transpose(-1, -2)).softmax(-1) @ v,
        lambda q, k, v: (q @ k.transpose(-1, -2)).softmax(-1) @ (v * 0.5),
        lambda q, k, v: ((q * 0.5) @ (k * 0.25).transpose(-1, -2)).softmax(-1),
        lambda q, k, v: (((s := q * 0.5) @ k.transpose(-1, -2)).softmax(-1) @ v, s),
        lambda q, k, v: ((q * 0.5) @ (k[:, :1] * 0.5).expand(k.shape).transpose(-1, -2)).softmax(-1) @ v,
        lambda q, k, v: (((q * 0.5) @ k.transpose(-1, -2)).softmax(-1) @ v).transpose(1, 2).contiguous() + 1,
        lambda q, k, v: (m := ((q * 0.5) @ k.transpose(-1, -2)).softmax(-1) @ v, m.transpose(1, 2).contiguous()),
    ],
)  # fmt: skip
def test_other_surroundings(around: Callable[..., Any]) -> None:
    """One operand scaled, neither, factors of their own, values that others read, heads that are shared."""
    assert both_ways(around, tuple(half(2, 2, 64, 64, seed=i) for i in range(3)))[1]


def test_an_observer_of_separate_kernels_sees_what_the_task_keeps_to_itself() -> None:
    args = tuple(half(1, 64, 128, seed=i) for i in range(3))
    compiled = spyre_sim.compile(attention, args)
    seen: list[str] = []
    Executor(compiled._program, compiled.stack, fused=False).run(list(args), lambda op, value: seen.append(op.kernel))
    assert seen.count("mul") == 2 and {"restickify", "max", "exp", "realdiv", "identity"} <= set(seen)
