"""Compiler bugs that show only in company (S-note 2): an op that is right by itself goes wrong in its place.

Each finder looks at a program whose ops are numbered with their bundles and names the ops that a bug hits; what those
then compute is in `kernels/in_context.py`. Where a fact gives the symptom but not the wrong values, or the condition
only loosely, the choice made here is written at the finder.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from .cost.op_division import divided
from .graph import DeviceOp, Value
from .surroundings import CUTS, Surroundings, in_context, permutation


@in_context("S4")
def pool_reuse(around: Surroundings) -> Iterator[DeviceOp]:
    """The pool frees an intermediate after its first reader; a later one finds what was written since.

    The report says "pool address reuse"; that it happens to the second reader, by a result of the same shape, is the
    simplest form of it. What stays in the scratchpad is not in the pool (Q7), and a stack may have none.
    """
    if not around.stack.constants.hbm_pool:
        return
    for op in around.kernels():
        for position, value in enumerate(op.inputs):
            if isinstance(value, Value) and _in_pool(around, value):
                other = _written_since(around, value, op)
                if other is not None:
                    op.inputs = (*op.inputs[:position], other, *op.inputs[position + 1 :])
                    yield op
                    break


def _in_pool(around: Surroundings, value: Value) -> bool:
    return around.is_intermediate(value) and not around.in_scratchpad(value)


def _written_since(around: Surroundings, value: Value, reader: DeviceOp) -> Value | None:
    first = around.readers[id(value)][0]
    if first is reader or first.bundle != reader.bundle:
        return None
    order = around.program.ops
    between = order[order.index(first) + 1 : order.index(reader)]
    return next(
        (
            op.output
            for op in between
            if op.is_kernel and op.bundle == reader.bundle and op.output.shape == value.shape
            and op.output.format is value.format and _in_pool(around, op.output)
        ),
        None,
    )  # fmt: skip


@in_context("S6")
def transposed_into_attention(around: Surroundings) -> Iterator[DeviceOp]:
    """q, k and v of a fused attention are all transposed views of what was made in the same graph (encoders)."""
    for op in around.kernels("flash"):
        if all(_is_transposed(around.made_here(value)) for value in op.inputs[:3]):
            yield op


@in_context("S13")
def heads_of_many_tokens(around: Surroundings) -> Iterator[DeviceOp]:
    """x.view(B, S, H, D).transpose(1, 2) of 64 tokens or more, read in the bundle that made x."""
    for op in around.kernels():
        found = [
            position
            for position, value in enumerate(op.inputs)
            if isinstance(value, Value) and _is_transposed(around.made_here(value, op.bundle))
            and value.shape[2] >= 64 and value.shape[1] > 1
        ]  # fmt: skip
        if found:
            op.attributes["heads_at"] = tuple(found)
            yield op


def _is_transposed(views: list[DeviceOp] | None) -> bool:
    """Do the views end in transpose(1, 2) of four dims, however it is spelled?"""
    return permutation(views[-1]) == (0, 2, 1, 3) if views else False


@in_context("S16")
def single_token_block(around: Surroundings) -> Iterator[DeviceOp]:
    """A block over one token: two or more products with weights in one bundle, with one row each."""
    products: dict[int, list[DeviceOp]] = {}
    for op in around.kernels("batchmatmul"):
        x, y = op.inputs
        maker, _ = around.chain(y)
        weight = maker is None or maker.kernel == "h2d"
        if weight and len(x.shape) == 3 and x.shape[-2] == 1:
            products.setdefault(op.bundle, []).append(op)
    for block in products.values():
        if len(block) > 1:
            yield from block


@in_context("S17")
def rotary_table_in_the_graph(around: Surroundings) -> Iterator[DeviceOp]:
    """cos and sin of positions times frequencies, an outer product that was computed on the device."""
    for op in around.program.ops:
        name = op.site.op.removeprefix("aten.")
        if name in ("cos", "sin") and op.kernel in ("host", "cos", "sin") and len(op.output.shape) >= 2:
            maker = _behind(around, next(iter(op.values()), None))
            if maker is not None and _is_outer_product(maker):
                yield op


def _is_outer_product(op: DeviceOp) -> bool:
    """Does each operand run along dims of the result that the other one does not?"""
    if op.kernel == "batchmatmul":
        return bool(op.inputs[0].shape[-1] == 1)
    tensors = [item for item in op.inputs if isinstance(item, Value)]
    return op.kernel == "mul" and len(tensors) == 2 and all(item.numel < op.output.numel for item in tensors)


def _behind(around: Surroundings, value: Value | None) -> DeviceOp | None:
    """The kernel whose numbers `value` has, past views, copies, joins and transfers."""
    maker = None if value is None else around.makers.get(id(value))
    while maker is not None and maker.kernel in ("view", "d2h", "copy", "cat", "identity", "restickify"):
        maker = around.makers.get(id(next(iter(maker.values()), None)))
    return maker


@in_context("S25")
def coprime_sticks(around: Surroundings) -> Iterator[DeviceOp]:
    """Two operands in the scratchpad whose stick dim is cut into a number of parts that shares no factor with it."""
    for op in around.kernels("add", "sub", "mul", "realdiv", "maximum", "minimum"):
        if not op.output.shape or not all(_lies_beside(around, op, item) for item in op.inputs):
            continue
        last = len(op.output.shape) - 1
        parts = divided(op, around.stack).splits.get(f"d{last}", 1)
        if parts > 1 and math.gcd(op.output.shape[last], parts) == 1:
            yield op


def _lies_beside(around: Surroundings, op: DeviceOp, item: Any) -> bool:
    """Is the operand in the scratchpad, as large as the result, and of the same bundle?"""
    maker, _ = around.chain(item)
    beside = maker is not None and maker.bundle == op.bundle and item.shape == op.output.shape
    return beside and around.in_scratchpad(item)


@in_context("S31")
def factorised_operand(around: Surroundings) -> Iterator[DeviceOp]:
    """Attention, reshape, linear in one graph, heads of several sticks: two outer axes of contraction (L51)."""
    for op in around.kernels("batchmatmul"):
        heads = _attention_behind(around, op)
        if heads is not None and heads.shape[-1] > around.stack.stick and heads.shape[-1] % around.stack.stick == 0:
            op.attributes["heads"] = (heads.shape[1], heads.shape[-1] // around.stack.stick)
            yield op


def _attention_behind(around: Surroundings, op: DeviceOp) -> Value | None:
    """The [B, H, S, E] result of an attention of the graph whose heads side by side are the operand."""
    value = op.inputs[0]
    if len(value.shape) != 3:
        return None
    maker, _ = around.chain(value)
    while maker is not None and maker.kernel in ("identity", "copy"):
        maker, _ = around.chain(maker.inputs[0])
    if maker is None or maker.kernel not in ("flash", "batchmatmul"):
        return None
    heads = maker.output
    joined = len(heads.shape) == 4 and heads.shape[1] > 1 and heads.shape[1] * heads.shape[-1] == value.shape[-1]
    return heads if joined and "attention" in maker.site.op else None


@in_context("S32")
def one_query_row(around: Surroundings) -> Iterator[DeviceOp]:
    """Fused attention of one query row whose heads lie inside, as a projection leaves them."""
    for op in around.kernels("flash"):
        query = op.inputs[0]
        if query.shape[-2] == 1 and query.shape[1] > 1 and _is_transposed(around.made_here(query)):
            yield op


@in_context("S33")
def slice_of_transposed(around: Surroundings) -> Iterator[DeviceOp]:
    """A slice with an offset of a 4-D view, its dims in another order, of what was made in the same graph."""
    for op in around.kernels():
        for position, value in enumerate(op.inputs):
            if isinstance(value, Value) and _is_slice_of_transposed(around.made_here(value)):
                op.attributes["sliced"] = position
                yield op
                break


def _is_slice_of_transposed(views: list[DeviceOp] | None) -> bool:
    if not views or len(views) < 2 or len(views[-1].output.shape) != 4:
        return False
    cut, before = views[-1], views[-2]
    if not str(cut.attributes["target"]).startswith(CUTS) or permutation(before) in (None, (0, 1, 2, 3)):
        return False
    inner, outer = cut.output.layout, cut.inputs[0].layout
    return inner is not None and outer is not None and inner.offset != outer.offset
