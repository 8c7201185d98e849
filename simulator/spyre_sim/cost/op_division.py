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
from .program import PRODUCTS, REDUCTIONS, is_repeated, split_of

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
        return _of_product(op, inputs, stack)
    if op.kernel in TOPK:
        return _of_topk(op, inputs, stack)
    return _of_loops(op, inputs, stack)


def _of_product(op: DeviceOp, inputs: Sequence[Value], stack: Stack) -> OpDivision:
    """Cores along batch, rows, columns and contraction; of fused attention those of the scores."""
    left, right, out = inputs[0], inputs[1], op.output
    columns = right.shape[-2] if op.kernel == "flash" else out.shape[-1]
    shared = op.kernel != "flash" and is_repeated(right)
    split = split_of(math.prod(out.shape[:-2]), left.shape[-2], columns, left.shape[-1], shared, stack)
    splits = {"b": split.b, "m": split.m, "n": split.n, "k": split.k}
    right_names = ("n", "k") if op.kernel == "flash" else ("k", "n")
    operands = [
        _operand("left", left, _with_batch(left, "m", "k")),
        _operand("right", right, _with_batch(right, *right_names)),
    ]
    if op.kernel != "flash":
        operands.append(_operand("result", out, _with_batch(out, "m", "n")))
    return _spanned(splits, operands, stack)


def _of_topk(op: DeviceOp, inputs: Sequence[Value], stack: Stack) -> OpDivision:
    k = op.output.shape[-1] if op.output.shape else 1
    late = stack.date.isoformat() >= TOPK_SPLIT
    fitting = [n for n in divisors(k, stack.constants.cores) if n * TOPK_PER_CORE >= k]
    splits = {"k": fitting[0]} if late and fitting else {"k": 1}
    return _spanned(splits, [_operand("input", inputs[0], _names(inputs[0].shape))], stack)


def _of_loops(op: DeviceOp, inputs: Sequence[Value], stack: Stack) -> OpDivision:
    """One loop variable per dim of the space that the kernel walks."""
    reduces = op.kernel in REDUCTIONS and bool(inputs)
    space = inputs[0] if reduces else op.output
    rank = len(space.shape)
    dims = {dim % rank for dim in op.attributes.get("dims", (rank - 1,))} if reduces and rank else set()
    axes = [Axis(f"d{dim}", _extent(space, dim), dim in dims) for dim in range(rank)]
    operands = [_operand("result", space, _names(space.shape))] if not reduces else []
    operands += [
        _operand(value.name or f"input {position}", value, _names(value.shape, rank))
        for position, value in enumerate(inputs)
        if _walks(value, space)
    ]
    cores, limit = stack.constants.cores, stack.constants.max_span_bytes
    try:
        committed = reduce_spans(axes, operands, cores, limit).splits
    except DivisionError as error:
        return _spanned({}, operands, stack, str(error))
    return _spanned(distribute(axes, committed, cores).splits, operands, stack)


def _spanned(splits: Mapping[str, int], operands: Sequence[Operand], stack: Stack, note: str = "") -> OpDivision:
    spans = {operand.name: span(operand, splits) for operand in operands}
    over = tuple(name for name, nbytes in spans.items() if nbytes > stack.constants.max_span_bytes)
    return OpDivision(MappingProxyType(dict(splits)), max(spans.values(), default=0), over, note)


def _walks(value: Value, space: Value) -> bool:
    """Whether the loops over `space` walk `value` too: it has the same dims, or broadcasts to them."""
    pairs = zip(reversed(value.shape), reversed(space.shape), strict=False)
    return len(value.shape) <= len(space.shape) and all(size in (1, whole) for size, whole in pairs)


def _names(shape: Sequence[int], rank: int | None = None) -> list[str]:
    """Loop variables of dims, those of a tensor of fewer dims being the last of `rank`."""
    first = (len(shape) if rank is None else rank) - len(shape)
    return [f"d{first + dim}" for dim in range(len(shape))]


def _with_batch(value: Value, rows: str, columns: str) -> list[str]:
    """The names of a matrix's dims; of several batch dims the largest is the one that is split."""
    batch = value.shape[:-2]
    largest = max(range(len(batch)), key=lambda dim: batch[dim], default=-1)
    return [*("b" if dim == largest else "" for dim in range(len(batch))), rows, columns]


def _extent(value: Value, dim: int) -> int:
    """What can be split of a dim: its elements, or its sticks where it lies along them."""
    layout = value.layout
    if layout is None or layout.expression.variable != dim:
        return value.shape[dim]
    return -(-value.shape[dim] // layout.lanes)


def _operand(name: str, value: Value, names: Sequence[str]) -> Operand:
    """A tensor's device dims without the stick: of rank 3 and above the first host dim comes last (L11)."""
    rank = len(value.shape)
    assert value.layout is not None
    if not rank:
        return Operand(name, (), ())
    along = value.layout.expression.variable
    stick = rank - 1 if along is None else along
    rest = [dim for dim in range(rank) if dim != stick]
    order = [stick, *rest] if rank < 3 else [*rest[1:], stick, rest[0]]
    fixed = [value.layout.stride[dim] == 0 or value.shape[dim] == 1 for dim in order]
    variables = tuple("" if still else names[dim] for dim, still in zip(order, fixed, strict=True))
    extents = tuple(1 if still else _extent(value, dim) for dim, still in zip(order, fixed, strict=True))
    return Operand(name, variables, extents)
