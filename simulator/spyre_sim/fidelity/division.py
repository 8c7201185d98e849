"""Figures on the division of work over cores."""

from __future__ import annotations

from functools import partial

from ..cost import (
    Axis,
    DivisionError,
    Operand,
    checked_cores,
    core_split,
    distribute,
    divide_matmul,
    max_residual_sticks,
    reduce_spans,
    smooth_vocabulary,
    span,
    split_cost,
)
from ..stacks import Stack
from .figure import SAME, family, within

DIVISION = family("Work division")
MIB = 1 << 20
PLANNER = "work_division.py"


@DIVISION.figure("W1", "SENCORES=33", published="invalid SENCORES value 33", source=PLANNER)
def too_many_cores(stack: Stack) -> str:
    try:
        return str(checked_cores(33))
    except DivisionError as error:
        return str(error)


def head(sticks: int, hidden: int) -> tuple[Operand, list[Axis]]:
    """An output head of so many sticks of vocabulary: sticks outermost, then rows of hidden (L30)."""
    axes = [Axis("n", sticks), Axis("k", -(-hidden // 64), reduction=True)]
    return Operand("weight", ("n", "k"), (sticks, hidden)), axes


@DIVISION.figure("W2", "span limit of a core in bytes", published=268_435_456, source=PLANNER)
def span_limit(stack: Stack) -> int:
    return stack.constants.max_span_bytes


@DIVISION.figure(
    "W2", "span of 1187 sticks of a head of hidden 2048, in MiB", published=297, source="hf_common.py (T19)",
    criterion=within(0.005),
)  # fmt: skip
def span_of_a_large_prime(stack: Stack) -> float:
    weight, _ = head(2374, 2048)
    return span(weight, {"n": 2}) / MIB


@DIVISION.figure(
    "W3", "2374 sticks of hidden 2048 (2 * 1187): split, and whether it overflows", published=(2, True),
    source="#3415, T19", note="no divisor of 2374 within 32 cores meets the limit, and the stack goes on (S29)",
)  # fmt: skip
def overflowing_head(stack: Stack) -> tuple[int, bool]:
    weight, axes = head(2374, 2048)
    found = reduce_spans(axes, [weight])
    return found.splits["n"], bool(found.overflowing)


@DIVISION.figure(
    "W3", "2375 sticks of hidden 2048: split, and whether it overflows", published=(5, False), source=PLANNER,
    note="of the divisors 5, 19 and 25 the one with the largest span within the limit",
)  # fmt: skip
def smooth_head(stack: Stack) -> tuple[int, bool]:
    weight, axes = head(2375, 2048)
    found = reduce_spans(axes, [weight])
    return found.splits["n"], bool(found.overflowing)


@DIVISION.figure(
    "W3", "a gather from a table of 1 GiB, [262144, 2048]: split", published=4, source="spyre-inference probe (O12)",
    note="of the 32 sticks of a row, which lie outermost; of 4, 8, 16 and 32 parts the largest span within the limit",
)  # fmt: skip
def large_table(stack: Stack) -> int:
    table = Operand("table", ("d", ""), (32, 262_144))
    return reduce_spans([Axis("d", 32)], [table], stack.constants.cores, stack.constants.max_span_bytes).splits["d"]


@DIVISION.figure(
    "W3", "two reduction dims over the limit",
    published="Cannot satisfy hardware memory span limit (256MB) without splitting 2 reduction dimension(s) (r, s), "
    "but the backend supports at most 1.", source=PLANNER,
)  # fmt: skip
def two_reductions(stack: Stack) -> str:
    axes = [Axis("r", 8192, reduction=True), Axis("s", 8192, reduction=True)]
    operands = [Operand("x", ("r",), (8192,), 2**16), Operand("y", ("s",), (8192,), 2**16)]
    try:
        return str(reduce_spans(axes, operands))
    except DivisionError as error:
        return str(error)


def cost_by_hand(batch: int, rows: int, columns: int, depth: int, split: Four) -> float:
    """The formula as published, term by term, independent of the planner's own code."""
    b, m, n, k = split
    passes = max(1.0, rows / m / 8)
    compute = batch * rows * columns * depth / (b * m * n * k) / (1_536_000 * min(1.0, (passes / 8) ** 0.5))
    tensors = batch * (rows * depth + depth * columns + rows * columns) * 2
    memory = tensors / 204_800 * max(1.0, max(m, n) / 8)
    tie = 0.0 if passes >= 8 else {1.0: 3, 2.0: 2, 4.0: 1}[passes] * 50.0
    return (compute + memory + max(0, k - 1) * batch * rows * columns * 1.4e-4 + tie) * b**1.4


Four = tuple[int, int, int, int]


def planners_cost(stack: Stack, shape: Four, split: Four) -> float:
    batch, rows, columns, depth = shape
    return split_cost(batch, rows, columns, depth, split)


for shape, split in (
    ((1, 1024, 12800, 4096), (1, 4, 8, 1)),
    ((1, 64, 768, 3072), (1, 4, 2, 4)),
    ((4, 512, 512, 64), (4, 8, 1, 1)),
):
    DIVISION.figure(
        "W4", f"cost of {shape} split {split}, in us", published=round(cost_by_hand(*shape, split), 4),
        source=f"{PLANNER}:934-1110", criterion=within(1e-4), note="the published formula evaluated by hand",
    )(partial(planners_cost, shape=shape, split=split))  # fmt: skip


@DIVISION.figure("W4", "[2, 512, 4096] @ a shared [4096, 12800] is declined", published=True, source=PLANNER)
def declined(stack: Stack) -> bool:
    return divide_matmul(2, 512, 12800, 4096, shared_weight=True) is None


@DIVISION.figure("W5", "cores for extents of 769, 100, 64 and 12", published=(1, 25, 32, 12), source=PLANNER)
def largest_divisors(stack: Stack) -> list[int]:
    return [core_split(extent, stack.constants.cores) for extent in (769, 100, 64, 12)]


@DIVISION.figure(
    "W5", "outputs of 8 and 12, a reduction of 64", published={"n": 12, "m": 2}, source=PLANNER, criterion=SAME,
    note="by decreasing size: 12 cores, then 2 of the 8, and 24 leave none for the reduction",
)  # fmt: skip
def outputs_first(stack: Stack) -> dict[str, int]:
    return dict(distribute([Axis("m", 8), Axis("n", 12), Axis("k", 64, reduction=True)]).splits)


for hidden, sticks in ((1024, 2048), (1536, 1365), (2048, 1024), (4096, 512)):
    DIVISION.figure("M20", f"max_residual of hidden {hidden}", published=sticks, source="hf_common.py:749-802")(
        partial(lambda stack, hidden: max_residual_sticks(hidden), hidden=hidden)
    )

for vocabulary, hidden, padded in ((151936, 2048, 152000), (151936, 1024, 151936), (152064, 2048, 152064)):
    DIVISION.figure(
        "M20", f"vocabulary {vocabulary} of hidden {hidden}, padded", published=padded, source="hf_common.py, T19"
    )(partial(lambda stack, sizes: smooth_vocabulary(*sizes), sizes=(vocabulary, hidden)))
