"""Compiler bugs that show only in company (S-note 2): an op that is right by itself goes wrong in its place.

Each finder looks at a program whose ops are numbered with their bundles and names the ops that a bug hits; what those
then compute is in `kernels/in_context.py`. Where a fact gives the symptom but not the wrong values, or the condition
only loosely, the choice made here is written at the finder.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from .cost.division import core_split
from .graph import DeviceOp, Program, Value
from .stacks import Stack

Finder = Callable[["Surroundings"], Iterator[DeviceOp]]

FINDERS: dict[str, Finder] = {}
SCRATCHPAD_PRODUCERS = frozenset("max sum exp sub mul mean add rsqrt".split())  # what may stay in LX (Q8)


def in_context(identifier: str) -> Callable[[Finder], Finder]:
    """Register the finder of a defect of section 6."""

    def register(finder: Finder) -> Finder:
        if identifier in FINDERS:
            raise ValueError(f"two finders of {identifier}")
        FINDERS[identifier] = finder
        return finder

    return register


def mark_in_context(program: Program, stack: Stack) -> None:
    """Add to every op the defects of the stack that its surroundings bring about. The ops have their bundles."""
    around = Surroundings(program, stack)
    for identifier, find in FINDERS.items():
        if stack.has_defect(identifier):
            for op in find(around):
                op.defects += (identifier,)


class Surroundings:
    """Who makes a value and who reads it."""

    def __init__(self, program: Program, stack: Stack) -> None:
        self.program = program
        self.stack = stack
        self.makers = {id(op.output): op for op in program.ops}
        self.readers: dict[int, list[DeviceOp]] = {}
        for op in program.ops:
            for value in op.values():
                self.readers.setdefault(id(value), []).append(op)
        self.returned = {id(item) for item in (*program.outputs, *(value for value, _ in program.writes))}

    def kernels(self, *names: str) -> Iterator[DeviceOp]:
        """The kernels of these names, or all."""
        return (op for op in self.program.ops if op.is_kernel and (not names or op.kernel in names))

    def chain(self, value: Any) -> tuple[DeviceOp | None, list[DeviceOp]]:
        """The op that made the buffer of `value`, and the views between, nearest to the buffer first."""
        views: list[DeviceOp] = []
        maker = self.makers.get(id(value))
        while maker is not None and maker.kernel == "view":
            views.append(maker)
            maker = self.makers.get(id(maker.inputs[0]))
        return maker, views[::-1]

    def made_here(self, value: Any, bundle: int | None = None) -> list[DeviceOp] | None:
        """The views between `value` and a kernel of the graph (of that bundle, if given) that made it; None where
        it came from outside."""
        maker, views = self.chain(value)
        here = maker is not None and maker.is_kernel and bundle in (None, maker.bundle)
        return views if here else None

    def is_intermediate(self, value: Any) -> bool:
        """Made and read by kernels, and never returned (Q7)?"""
        maker = self.makers.get(id(value))
        return maker is not None and maker.is_kernel and id(value) not in self.returned


@in_context("S4")
def pool_reuse(around: Surroundings) -> Iterator[DeviceOp]:
    """The pool frees an intermediate after its first reader; a later one finds what was written since.

    The report says "pool address reuse"; that it happens to the second reader, by a result of the same shape, is the
    simplest form of it.
    """
    for op in around.kernels():
        for position, value in enumerate(op.inputs):
            if isinstance(value, Value) and around.is_intermediate(value):
                other = _written_since(around, value, op)
                if other is not None:
                    op.inputs = (*op.inputs[:position], other, *op.inputs[position + 1 :])
                    yield op
                    break


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
            and op.output.format is value.format and id(op.output) not in around.returned
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
    """x.view(B, S, H, D).transpose(1, 2) of 64 tokens or more, read in the graph that made x."""
    for op in around.kernels():
        value = op.inputs[0] if op.inputs else None
        views = around.made_here(value, op.bundle)
        if isinstance(value, Value) and _is_transposed(views) and value.shape[2] >= 64 and value.shape[1] > 1:
            yield op


def _is_transposed(views: list[DeviceOp] | None) -> bool:
    """Do the views end in transpose(1, 2) of four dims?"""
    if not views:
        return False
    last = views[-1]
    return "aten.transpose" in str(last.attributes["target"]) and _dims(last, 4) == (1, 2)


def _dims(op: DeviceOp, rank: int) -> tuple[int, ...]:
    if len(op.output.shape) != rank:
        return ()
    return tuple(sorted(dim % rank for dim in op.attributes["args"]))


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
    """cos and sin of positions times frequencies, where the product was computed on the device."""
    for op in around.program.ops:
        name = op.site.op.removeprefix("aten.")
        if name in ("cos", "sin") and op.kernel in ("host", "cos", "sin") and len(op.output.shape) >= 2:
            maker = _behind(around, next(iter(op.values()), None))
            if maker is not None and maker.kernel in ("batchmatmul", "mul"):
                yield op


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
        width = op.output.shape[-1] if op.output.shape else 1
        parts = _stick_parts(op.output.shape, around.stack)
        if parts > 1 and math.gcd(width, parts) == 1 and all(_in_scratchpad(around, op, item) for item in op.inputs):
            yield op


def _stick_parts(shape: tuple[int, ...], stack: Stack) -> int:
    """Into how many parts the cores cut the stick dim: the longer dims are cut first (W5)."""
    if not shape:
        return 1
    sticks = math.ceil(shape[-1] / stack.stick)
    left = int(stack.constants.cores)
    for size in sorted((size for size in shape[:-1] if size > sticks), reverse=True):
        left //= core_split(size, left)
    return core_split(sticks, left)


def _in_scratchpad(around: Surroundings, op: DeviceOp, value: Any) -> bool:
    maker = around.makers.get(id(value))
    return (
        isinstance(value, Value)
        and around.is_intermediate(value)
        and maker is not None
        and maker.kernel in SCRATCHPAD_PRODUCERS
        and maker.bundle == op.bundle
        and value.shape == op.output.shape
    )


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
    """A slice with an offset of a transposed 4-D view of what was made in the same graph."""
    for op in around.kernels():
        for position, value in enumerate(op.inputs):
            if isinstance(value, Value) and _is_slice_of_transposed(around.made_here(value)):
                op.attributes["sliced"] = position
                yield op
                break


def _is_slice_of_transposed(views: list[DeviceOp] | None) -> bool:
    if not views or len(views) < 2 or len(views[-1].output.shape) != 4:
        return False
    cut, before = views[-1], views[:-1]
    names = ("aten.slice", "aten.narrow", "aten.split", "aten.chunk")
    if not str(cut.attributes["target"]).startswith(names) or not _is_transposed(before):
        return False
    inner, outer = cut.output.layout, cut.inputs[0].layout
    return inner is not None and outer is not None and inner.offset != outer.offset


__all__ = ["FINDERS", "Surroundings", "mark_in_context"]
