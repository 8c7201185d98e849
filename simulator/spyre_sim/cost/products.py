"""The matrix products of kernels and how their work is divided over the cores (facts W1-W5).

First come splits that bring every tensor of the product within a core's span (W3). Where there are any, the planner's
cost model declines and the generic distribution takes them as minimums (W4, W5); otherwise the model may choose.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..graph import DeviceOp, Value
from ..stacks import Stack
from .division import Axis, Operand, reduce_spans
from .matmul_division import LANES, MatmulSplit, PlannerRates, divide_matmul, generic_split
from .operands import operand

PRODUCTS = frozenset({"batchmatmul", "batchmatmulfp8"})


@dataclass(frozen=True)
class ProductShape:
    """[batch, rows, depth] @ [batch, depth, columns] of a kernel, in elements.

    `shared`: all batches read one right side; `operands`: its tensors, walked by "b", "m", "n" and "k".
    """

    batch: int
    rows: int
    columns: int
    depth: int
    shared: bool
    operands: tuple[Operand, ...]


def product_shape(op: DeviceOp) -> ProductShape:
    """The product of a matmul. The right side's stick runs along its columns, as the loader lays weights out (L30)."""
    left, right = _matrices(op)
    out = op.output
    operands = (
        operand("left", left, _with_batch(left, "m", "k")),
        operand("right", right, _with_batch(right, "k", "n"), len(right.shape) - 1),
        operand("result", out, _with_batch(out, "m", "n")),
    )
    batch = math.prod(out.shape[:-2])
    return ProductShape(batch, out.shape[-2], out.shape[-1], left.shape[-1], _is_repeated(right), operands)


def scores_shape(op: DeviceOp) -> ProductShape:
    """query @ key^T of fused attention, whose result never leaves the scratchpad (A29)."""
    query, key = _matrices(op)
    operands = (operand("query", query, _with_batch(query, "m", "k")), operand("key", key, _with_batch(key, "n", "k")))
    return ProductShape(
        math.prod(op.output.shape[:-2]), query.shape[-2], key.shape[-2], query.shape[-1], False, operands
    )


def values_shape(op: DeviceOp) -> ProductShape:
    """weights @ value of fused attention."""
    query, key, value = [item for item in op.values() if item.on_device][:3]
    operands = (
        operand("value", value, _with_batch(value, "k", "n")),
        operand("result", op.output, _with_batch(op.output, "m", "n")),
    )
    return ProductShape(
        math.prod(op.output.shape[:-2]), query.shape[-2], value.shape[-1], key.shape[-2], False, operands
    )


def split_of(shape: ProductShape, stack: Stack) -> MatmulSplit:
    """Cores along batch, rows, columns and contraction."""
    constants = stack.constants
    cores, batch, rows = constants.cores, shape.batch, shape.rows
    if shape.shared and constants.fold_shared_weight:
        batch, rows = 1, batch * rows
    axes = [
        Axis("b", batch),
        Axis("m", rows),
        Axis("n", -(-shape.columns // LANES)),
        Axis("k", -(-shape.depth // LANES), reduction=True),
    ]
    found = reduce_spans(axes, shape.operands, cores, constants.max_span_bytes).splits
    committed = {name: split for name, split in found.items() if split > 1}
    rates = PlannerRates(constants.planner_mac_per_us, constants.planner_hbm_gb_s)
    sizes = (batch, rows, shape.columns, shape.depth)
    chosen = None if committed else divide_matmul(*sizes, cores, shared_weight=shape.shared, rates=rates)
    return chosen if chosen is not None else generic_split(*sizes, cores, committed=committed)


def _matrices(op: DeviceOp) -> tuple[Value, Value]:
    left, right = [value for value in op.values() if value.on_device][:2]
    return left, right


def _with_batch(value: Value, rows: str, columns: str) -> list[str]:
    """The names of a matrix's dims; of several batch dims the largest is the one that is split."""
    batch = value.shape[:-2]
    largest = max(range(len(batch)), key=lambda dim: batch[dim], default=-1)
    return [*("b" if dim == largest else "" for dim in range(len(batch))), rows, columns]


def _is_repeated(value: Value) -> bool:
    """Whether all batches read one matrix: no batch dims, or all of size 1 or stride 0."""
    assert value.layout is not None
    dims = list(zip(value.layout.size, value.layout.stride, strict=True))[:-2]
    return all(size == 1 or stride == 0 for size, stride in dims)
