"""softmax, and attention around it, as one op: each thread goes from q and k to the result for its own matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from ..graph import DeviceOp, Format, Value
from . import buffers, compiled
from .elementwise import table_of
from .matmul import PRODUCTS as PRODUCTS_AN_ELEMENT
from .matmul import as_batches, multiplying, operands, ragged
from .numbers import Arithmetic, Tensor, Words, array, contiguous, copied_on_grid, rows_of, scaling, values_of
from .parallel import at_once, over_rows, shares
from .registry import kernel
from .uses import Pattern, Uses, other


def find_softmax(uses: Uses, op: DeviceOp) -> list[DeviceOp] | None:
    """max, sub, exp, sum, realdiv over the last dim; before them the product of the scores and the mask's add."""
    last = len(op.output.shape) - 1
    if op.output.format is not Format.DL16 or op.kernel != "max" or not op.attributes["keepdim"]:
        return None
    scores = op.inputs[0]
    if op.attributes["dims"] != (last,) or not isinstance(scores, Value):
        return None
    sub = uses.only(op.output, "sub")
    if sub is None or sub.inputs[0] is not scores or {id(r) for r in uses.of(scores)} != {id(op), id(sub)}:
        return None
    exp = uses.only(sub.output, "exp")
    if exp is None:
        return None
    readers = uses.of(exp.output)
    total = next((reader for reader in readers if reader.kernel == "sum" and reader.attributes["keepdim"]), None)
    if total is None or len(readers) != 2 or total.attributes["dims"] != (last,):
        return None
    div = uses.only(total.output, "realdiv")
    if div is None or div not in readers or div.inputs[0] is not exp.output:
        return None
    return [op, sub, exp, total, div]


def find_attention(uses: Uses, op: DeviceOp) -> list[DeviceOp] | None:
    """batchmatmul, [add of a mask], softmax."""
    if op.output.format is not Format.DL16:
        return None
    readers = uses.of(op.output)
    add = uses.only(op.output, "add")
    if add is not None:
        mask = other(add, op.output)
        usable = isinstance(mask, Value) and _rows_repeat(mask.shape, op.output.shape)
        if not usable or add.output.shape != op.output.shape:
            return None
        readers = uses.of(add.output)
    top = next((reader for reader in readers if reader.kernel == "max"), None)
    tail = None if top is None else find_softmax(uses, top)
    if tail is None:
        return None
    return [op, *([add] if add is not None else []), *tail]


def _rows_repeat(mask: tuple[int, ...], scores: tuple[int, ...]) -> bool:
    """Is the mask [.., rows, columns] of the scores' last two dims, or [B, 1, rows, columns] of [B, H, ..]?"""
    return len(mask) >= 2 and len(scores) == 4 and mask[-1] == scores[-1] and mask[-2] in (1, scores[-2])


def find_attention_and_values(uses: Uses, op: DeviceOp) -> list[DeviceOp] | None:
    """What `find_attention` finds, and the product of its result and one matrix a head."""
    run = find_attention(uses, op)
    final = None if run is None else uses.only(run[-1].output, "batchmatmul")
    if run is None or final is None or final.defects or final.output.format is not Format.DL16:
        return None
    weights, values = final.inputs
    return [*run, final] if weights is run[-1].output and _is_stack(values) else None


def _is_stack(item: Any) -> bool:
    return isinstance(item, Value) and len(item.shape) > 2


def find_scaled_attention(uses: Uses, op: DeviceOp) -> list[DeviceOp] | None:
    """What `find_attention_and_values` finds; the scaling of q and of k before it, the copy to [B, S, H, E] behind."""
    run = find_attention_and_values(uses, op)
    if run is None or len(op.output.shape) != 4 or "S30" in op.defects:
        return None
    query, key = op.inputs
    before = [*_scaling(uses, query, op), *_scaling_and_turning(uses, key, op)]
    after = _copying(uses, run[-1].output)
    return [*before, *run, *after] if before or after else None


def _scaling(uses: Uses, item: Any, product: DeviceOp) -> list[DeviceOp]:
    """The op that multiplies an operand, which has a matrix for each of the product's, by a number."""
    scaled = uses.maker(item, "mul")
    if scaled is None or not isinstance(scaled.inputs[0], Value) or not isinstance(scaled.inputs[1], (int, float)):
        return []
    source, made = scaled.inputs[0], scaled.output
    plain = source.format is made.format is Format.DL16 and source.shape == made.shape
    return [scaled] if plain and made.shape[:-2] == product.output.shape[:-2] else []


def _scaling_and_turning(uses: Uses, item: Any, product: DeviceOp) -> list[DeviceOp]:
    """As `_scaling`, of an operand whose last two dims are exchanged afterwards."""
    laid = uses.maker(item, "restickify")
    turned = uses.maker(item if laid is None else laid.inputs[0], "view")
    if turned is None or not _exchanges(turned, -2, -1):
        return []
    scaled = _scaling(uses, turned.inputs[0], product)
    return [*scaled, turned, *([laid] if laid is not None else [])] if scaled else []


def _copying(uses: Uses, item: Value) -> list[DeviceOp]:
    """What stores [B, H, S, E] as [B, S, H, E]."""
    seen = uses.only(item, "view")
    if seen is None or not _exchanges(seen, 1, 2):
        return []
    stored = uses.only(seen.output, "identity")
    return [seen, stored] if stored is not None and not stored.defects else []


def _exchanges(view: DeviceOp, one: int, two: int) -> bool:
    """Does the view exchange these two of four dims?"""
    if view.attributes["target"] is not torch.ops.aten.transpose.int or len(view.output.shape) != 4:
        return False
    return sorted(dim % 4 for dim in view.attributes["args"]) == [one % 4, two % 4]


def build_attention(run: list[DeviceOp]) -> DeviceOp:
    products = [op for op in run if op.kernel == "batchmatmul"]
    first, final = products[0], products[1] if len(products) > 1 else None
    follower = run[run.index(first) + 1]
    mask = other(follower, first.output) if follower.kernel == "add" else None
    query, key = first.inputs
    scales = {id(op.output): op for op in run[: run.index(first)] if op.kernel == "mul"}
    scale = {"query": scales.pop(id(query), None), "key": next(iter(scales.values()), None)}
    sources = [given if op is None else op.inputs[0] for given, op in zip((query, key), scale.values(), strict=True)]
    attributes = {"product": first, **{name: None if op is None else op.inputs[1] for name, op in scale.items()}}
    attributes["stored"] = run[-1].kernel == "identity"
    inputs = (*sources, mask, None if final is None else final.inputs[1])
    return DeviceOp("fused.attention", inputs, run[-1].output, first.site, attributes)


@kernel("fused.attention")
def attention(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    """softmax(round(q @ k^T) + mask), in the memory of the scores; its product with v where there is one.

    With factors of `query` and `key` these two are scaled first, and `key` is [.., keys, E]; `stored`: the result is
    [B, S, H, E]. Each thread does all of it for its own matrices.
    """
    first, (query, key, mask, values) = op.attributes["product"], inputs
    scores = buffers.empty(first.output.shape)
    query, scale_query = _scaled(arithmetic, query, op.attributes["query"])
    key, scale_key = _scaled(arithmetic, key, op.attributes["key"])
    key = key if op.attributes["key"] is None else key.transpose(-1, -2)
    left, right, grid = as_batches(*operands(first, [query, key]), scores)
    parts = shares(len(grid), scores.numel() * left.shape[-1] // PRODUCTS_AN_ELEMENT)
    weigh = _weighing(arithmetic, first, scores, grid, mask)
    tasks = [
        [
            partial(scale_query, part),
            partial(scale_key, part),
            multiplying(arithmetic, left[part], right[part], grid[part]),
            partial(weigh, part),
        ]
        for part in parts
    ]
    out = scores
    if values is not None:
        out, with_values = _with_values(arithmetic, op, scores, values, parts)
        tasks = [[*task, *more] for task, more in zip(tasks, with_values, strict=True)]
    at_once([partial(_one_by_one, task) for task in tasks])
    return out


def _scaled(arithmetic: Arithmetic, item: Any, factor: float | None) -> tuple[Any, Callable[[slice], object]]:
    """round(item * factor), and what computes some of its matrices; without a factor what is there already."""
    if factor is None:
        return item, _nothing
    values = values_of(item)
    number = arithmetic.number(float(factor), Format.DL16)
    found = scaling(values, number)
    if found is None:
        return arithmetic.round((values * number).contiguous(), Format.DL16), _nothing
    held, rows = found[0], values.shape[-2]
    return held, lambda part: found[1](slice(part.start * rows, part.stop * rows))


def _nothing(part: slice) -> None:
    """Everything is there."""


def _with_values(
    arithmetic: Arithmetic, op: DeviceOp, scores: Tensor, values: Any, parts: list[slice]
) -> tuple[Tensor, list[list[Callable[[], object]]]]:
    """The result of weights @ values, and what computes it for each part of the matrices."""
    whole = isinstance(values, Words) or values.is_contiguous() or values.shape[:-2] != scores.shape[:-2]
    found = None if whole else scaling(values, 1.0)
    held, copy = (copied_on_grid(values), None) if found is None else found
    shape = (*scores.shape[:-1], held.shape[-1])
    product = buffers.empty(shape)
    out = buffers.empty(op.output.shape) if op.attributes["stored"] else product
    weights, stacked, result = as_batches(scores, held, product)
    rows, tasks = held.shape[-2], []
    for part in parts:
        task: list[Callable[[], object]] = []
        if copy is not None:
            task.append(partial(copy, slice(part.start * rows, part.stop * rows)))
        if op.attributes["stored"]:
            task.append(multiplying(arithmetic, weights[part], stacked[part], result[part]))
            task.append(partial(compiled.store_heads_loop, array(result[part]), part.start, array(out)))
        else:
            loop = compiled.round_columns_loop
            task.append(multiplying(arithmetic, weights[part], stacked[part], result[part], loop))
        tasks.append(task)
    return out, tasks


def _weighing(
    arithmetic: Arithmetic, op: DeviceOp, scores: Tensor, grid: Tensor, mask: Tensor | Words | None
) -> Callable[[slice], None]:
    """What makes weights of the scores of some matrices of the grid, in place."""
    table, matrices = table_of("exp", arithmetic), array(grid)
    heads = scores.shape[1] if scores.dim() == 4 else 1
    added = None if mask is None else array(contiguous(mask).reshape(*[1] * (4 - len(mask.shape)), *mask.shape))

    def weigh(part: slice) -> None:
        if "S8" in op.defects:
            ragged(grid[part])
        if added is None:
            compiled.raw_softmax_loop(matrices[part], table)
        else:
            compiled.masked_softmax_loop(matrices[part], added, part.start, heads, table)

    return weigh


def _one_by_one(tasks: Sequence[Any]) -> None:
    for task in tasks:
        task()


def build_softmax(run: list[DeviceOp]) -> DeviceOp:
    return DeviceOp("fused.softmax", (run[0].inputs[0],), run[-1].output, run[0].site)


@kernel("fused.softmax")
def softmax(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    source = contiguous(inputs[0])
    out = buffers.empty_like(source)
    table = table_of("exp", arithmetic)
    rows, target = rows_of(source), rows_of(out)

    def block(part: slice) -> None:
        compiled.softmax_into_loop(rows[part], target[part], table)

    over_rows(len(rows), rows.size, block)
    return out


SOFTMAX = Pattern(find_softmax, build_softmax)
PRODUCTS = (
    Pattern(find_scaled_attention, build_attention),
    Pattern(find_attention_and_values, build_attention),
    Pattern(find_attention, build_attention),
)
