"""How one kernel of a program is divided over the cores, and what each core then addresses (facts W2-W5, W8).

A tensor's device dims are those of the default layout of what the kernel sees of it, so a view counts as if it had a
buffer of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from ..graph import DeviceOp, Value
from ..stacks import Stack
from .division import Axis, DivisionError, Operand, distribute, divisors, reduce_spans, span
from .operands import extent, operand
from .products import PRODUCTS, product_shape, scores_shape, split_of
from .program import REDUCTIONS

TOPK = frozenset({"topkvalue", "topkindex"})
TOPK_SPLIT = "2026-09"  # W8: from here on over k, four a core
TOPK_PER_CORE = 4


@dataclass(frozen=True)
class OpDivision:
    """Cores by dim, the largest span in bytes, and which operands overflow the limit; `note`: the divider's error."""

    splits: Mapping[str, int]
    span_bytes: int = 0
    overflowing: tuple[str, ...] = ()
    note: str = field(default="")

    @property
    def cores(self) -> int:
        return math.prod(self.splits.values())


def divided(op: DeviceOp, stack: Stack) -> OpDivision:
    """The division of a kernel."""
    inputs = [value for value in op.values() if value.layout is not None]
    if op.kernel in PRODUCTS or op.kernel == "flash":
        return _of_product(op, stack)
    if op.kernel in TOPK:
        return _of_topk(op, inputs, stack)
    return _of_loops(op, inputs, stack)


def _of_product(op: DeviceOp, stack: Stack) -> OpDivision:
    """Cores along batch, rows, columns and contraction; of fused attention those of the scores."""
    shape = scores_shape(op) if op.kernel == "flash" else product_shape(op)
    split = split_of(shape, stack)
    return _spanned({"b": split.b, "m": split.m, "n": split.n, "k": split.k}, shape.operands, stack)


def _of_topk(op: DeviceOp, inputs: Sequence[Value], stack: Stack) -> OpDivision:
    k = op.output.shape[-1] if op.output.shape else 1
    late = stack.date.isoformat() >= TOPK_SPLIT
    fitting = [n for n in divisors(k, stack.constants.cores) if n * TOPK_PER_CORE >= k]
    splits = {"k": fitting[0]} if late and fitting else {"k": 1}
    return _spanned(splits, [operand("input", inputs[0], _names(inputs[0].shape))], stack)


def _of_loops(op: DeviceOp, inputs: Sequence[Value], stack: Stack) -> OpDivision:
    """One loop variable per dim of the space that the kernel walks."""
    reduces = op.kernel in REDUCTIONS and bool(inputs)
    space = inputs[0] if reduces else op.output
    rank = len(space.shape)
    dims = {dim % rank for dim in op.attributes.get("dims", (rank - 1,))} if reduces and rank else set()
    axes = [Axis(f"d{dim}", extent(space, dim), dim in dims) for dim in range(rank)]
    operands = [operand("result", space, _names(space.shape))] if not reduces else []
    operands += [
        operand(value.name or f"input {position}", value, _names(value.shape, rank))
        for position, value in enumerate(inputs)
        if _walks(value, space)
    ]
    if op.kernel == "gather":
        operands.append(_table(inputs[0], rank))
    cores, limit = stack.constants.cores, stack.constants.max_span_bytes
    try:
        committed = reduce_spans(axes, operands, cores, limit).splits
    except DivisionError as error:
        return _spanned({}, operands, stack, str(error))
    return _spanned(distribute(axes, committed, cores).splits, operands, stack)


def _spanned(splits: Mapping[str, int], operands: Sequence[Operand], stack: Stack, note: str = "") -> OpDivision:
    spans = {item.name: span(item, splits) for item in operands}
    over = tuple(name for name, nbytes in spans.items() if nbytes > stack.constants.max_span_bytes)
    return OpDivision(MappingProxyType(dict(splits)), max(spans.values(), default=0), over, note)


def _table(table: Value, rank: int) -> Operand:
    """The rows that a gather reads from: the loops walk all dims of the table but that of the index."""
    return operand("table", table, ["", *_names(table.shape[1:], rank)])


def _walks(value: Value, space: Value) -> bool:
    """Whether the loops over `space` walk `value` too: it has the same dims, or broadcasts to them."""
    pairs = zip(reversed(value.shape), reversed(space.shape), strict=False)
    return len(value.shape) <= len(space.shape) and all(size in (1, whole) for size, whole in pairs)


def _names(shape: Sequence[int], rank: int | None = None) -> list[str]:
    """Loop variables of dims, those of a tensor of fewer dims being the last of `rank`."""
    first = (len(shape) if rank is None else rank) - len(shape)
    return [f"d{first + dim}" for dim in range(len(shape))]
