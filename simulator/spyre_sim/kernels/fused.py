"""Runs of kernels that are computed in one pass over memory, each result rounded as if it stood alone.

This is for speed only: the numbers are those of the separate kernels to the last bit (a test holds them equal), and
reports, bundles and traces count the separate ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..graph import DeviceOp, Format, Program, Value
from . import buffers, compiled
from .elementwise import FUNCTIONS, table_of
from .in_context import is_miscompiled
from .matmul import PRODUCTS, as_batches, multiplying, operands, product, ragged
from .normalisation import affine, epsilon, is_narrow
from .numbers import Arithmetic, Tensor, array, contiguous, copied_on_grid, rows_of
from .parallel import at_once, over_rows, shares
from .registry import kernel

Finder = Callable[["Uses", DeviceOp], "list[DeviceOp] | None"]


def fuse(program: Program, arithmetic: Arithmetic) -> list[DeviceOp]:
    """The ops of the program with every run that has a fused form replaced by one op, at the place of its last."""
    if not arithmetic.plain or arithmetic.numerics.sum_order != "pairs":
        return program.ops  # the compiled loops have the device's own rounding built in
    uses = Uses(program)
    replaced: dict[int, DeviceOp | None] = {}
    for op in program.ops:
        for find, build in PATTERNS.get(op.kernel, ()):
            run = find(uses, op)
            if run is not None and not any(id(member) in replaced or is_miscompiled(member) for member in run):
                replaced.update({id(member): None for member in run})
                replaced[id(run[-1])] = build(run)
                break
    kept = (replaced.get(id(op), op) for op in program.ops)
    return [op for op in kept if op is not None]


class Uses:
    """Who reads a value."""

    def __init__(self, program: Program) -> None:
        self.readers: dict[int, list[DeviceOp]] = {}
        for op in program.ops:
            for value in op.values():
                self.readers.setdefault(id(value), []).append(op)
        self.returned = {id(item) for item in (*program.outputs, *(value for value, _ in program.writes))}

    def of(self, value: Value) -> list[DeviceOp]:
        return self.readers.get(id(value), [])

    def only(self, value: Value, *kernels: str) -> DeviceOp | None:
        """The one op that reads the value, if there is just one and it is of these kernels."""
        readers = self.of(value)
        single = len(readers) == 1 and id(value) not in self.returned and readers[0].kernel in kernels
        return readers[0] if single else None


# -- x @ w + bias, then a function -----------------------------------------------------------------------------------


def find_linear(uses: Uses, op: DeviceOp) -> list[DeviceOp] | None:
    """batchmatmul, add of a vector, and a function of the sum where nothing else reads it."""
    if op.output.format is not Format.DL16:
        return None
    add = uses.only(op.output, "add")
    if add is None or add.output.shape != op.output.shape or not isinstance(_other(add, op.output), Value):
        return None
    if _other(add, op.output).shape != op.output.shape[-1:]:
        return None
    function = uses.only(add.output, *FUNCTIONS)
    return [op, add] if function is None else [op, add, function]


def build_linear(run: list[DeviceOp]) -> DeviceOp:
    first, add = run[0], run[1]
    name = run[2].kernel if len(run) > 2 else None
    inputs = (*first.inputs, _other(add, first.output))
    return DeviceOp("fused.linear", inputs, run[-1].output, first.site, {"product": first, "function": name})


@kernel("fused.linear")
def linear(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    bias, name = array(contiguous(inputs[2])), op.attributes["function"]
    table = None if name is None else table_of(name, arithmetic)

    def finish(rows: Any, first: int, last: int) -> None:
        if table is None:
            compiled.bias_loop(rows, first, last, bias)
        else:
            compiled.bias_table_loop(rows, first, last, bias, table)

    return product(arithmetic, op.attributes["product"], inputs[:2], finish)


# -- softmax, with the mask and the product before it ----------------------------------------------------------------


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
        mask = _other(add, op.output)
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


def build_attention(run: list[DeviceOp]) -> DeviceOp:
    first, final = run[0], run[-1] if run[-1].kernel == "batchmatmul" else None
    add = run[1] if run[1].kernel == "add" else None
    mask = None if add is None else _other(add, first.output)
    inputs = (*first.inputs, mask, None if final is None else final.inputs[1])
    return DeviceOp("fused.attention", inputs, run[-1].output, first.site, {"product": first})


@kernel("fused.attention")
def attention(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    """softmax(round(q @ k^T) + mask), in the memory of the scores; its product with v where there is one."""
    first, (query, key, mask, values) = op.attributes["product"], inputs
    scores = buffers.empty(first.output.shape)
    left, right, grid = as_batches(*operands(first, [query, key]), scores)
    parts = shares(len(grid), scores.numel() * left.shape[-1] // PRODUCTS)
    weigh = _weighing(arithmetic, first, scores, grid, mask)
    tasks = [[multiplying(arithmetic, left[part], right[part], grid[part]), partial(weigh, part)] for part in parts]
    out = scores
    if values is not None:
        out = buffers.empty(op.output.shape)
        weights, stacked, result = as_batches(scores, copied_on_grid(values), out)
        for task, part in zip(tasks, parts, strict=True):
            loop = compiled.round_columns_loop
            task.append(multiplying(arithmetic, weights[part], stacked[part], result[part], loop))
    at_once([partial(_one_by_one, task) for task in tasks])
    return out


def _weighing(
    arithmetic: Arithmetic, op: DeviceOp, scores: Tensor, grid: Tensor, mask: Tensor | None
) -> Callable[[slice], None]:
    """What makes weights of the scores of some matrices of the grid, in place."""
    table, matrices = table_of("exp", arithmetic), array(grid)
    heads = scores.shape[1] if scores.dim() == 4 else 1
    added = None if mask is None else array(contiguous(mask).reshape(*[1] * (4 - mask.dim()), *mask.shape))

    def weigh(part: slice) -> None:
        if "S8" in op.defects:
            ragged(grid[part])
        if added is None:
            compiled.raw_softmax_loop(matrices[part], table)
        else:
            compiled.masked_softmax_loop(matrices[part], added, part.start, heads, table)

    return weigh


def _one_by_one(tasks: list[Callable[[], object]]) -> None:
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


# -- layer_norm ------------------------------------------------------------------------------------------------------


def find_layer_norm(uses: Uses, op: DeviceOp) -> list[DeviceOp] | None:
    """exx2, layernormscale, layernormnorm of one row each."""
    scale = next((reader for reader in uses.of(op.output) if reader.kernel == "layernormscale"), None)
    if scale is None or op.output.format is not Format.DL16:
        return None
    norm = uses.only(scale.output, "layernormnorm")
    if norm is None or norm.defects or norm.inputs[0] is not op.inputs[0] or len(uses.of(op.output)) != 2:
        return None
    return [op, scale, norm]


def build_layer_norm(run: list[DeviceOp]) -> DeviceOp:
    x, _, _, weight, bias = run[2].inputs
    return DeviceOp("fused.layer_norm", (x, weight, bias), run[2].output, run[0].site, {"scale": run[1]})


@kernel("fused.layer_norm")
def layer_norm(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    x = contiguous(inputs[0])
    out = buffers.empty_like(x)
    weight, bias = affine(inputs[1], inputs[2], x.shape[-1])
    rows, target = rows_of(x), rows_of(out)
    narrow, eps = is_narrow(arithmetic, Format.DL16), epsilon(arithmetic, op.attributes["scale"])

    def block(part: slice) -> None:
        compiled.layer_norm_loop(rows[part], narrow, eps, weight, bias, target[part])

    over_rows(len(rows), rows.size, block)
    return out


def find_add_and_norm(uses: Uses, op: DeviceOp) -> list[DeviceOp] | None:
    """The sum of two values of one shape, which only a layer_norm reads."""
    same = all(isinstance(item, Value) and item.shape == op.output.shape for item in op.inputs)
    moments = next((reader for reader in uses.of(op.output) if reader.kernel == "exx2"), None)
    if not same or moments is None or op.output.format is not Format.DL16 or op.defects:
        return None
    run = find_layer_norm(uses, moments)
    readers = {id(reader) for reader in uses.of(op.output)}
    if run is None or id(op.output) in uses.returned or readers != {id(run[0]), id(run[-1])}:
        return None
    return [op, *run]


def build_add_and_norm(run: list[DeviceOp]) -> DeviceOp:
    norm = build_layer_norm(run[1:])
    inputs = (*run[0].inputs, *norm.inputs[1:])
    return DeviceOp("fused.add_and_norm", inputs, norm.output, norm.site, norm.attributes)


@kernel("fused.add_and_norm")
def add_and_norm(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    """layer_norm(x + y), row by row."""
    x, y = contiguous(inputs[0]), contiguous(inputs[1])
    out = buffers.empty_like(x)
    weight, bias = affine(inputs[2], inputs[3], x.shape[-1])
    left, right, target = rows_of(x), rows_of(y), rows_of(out)
    narrow, eps = is_narrow(arithmetic, Format.DL16), epsilon(arithmetic, op.attributes["scale"])

    def block(part: slice) -> None:
        compiled.add_and_norm_loop(left[part], right[part], narrow, eps, weight, bias, target[part])

    over_rows(len(target), target.size, block)
    return out


def _other(op: DeviceOp, value: Value) -> Any:
    """The operand of a binary op that is not `value`."""
    return op.inputs[1] if op.inputs[0] is value else op.inputs[0]


@dataclass(frozen=True)
class Pattern:
    """A finder of a run and the builder of its one op."""

    find: Finder
    build: Callable[[list[DeviceOp]], DeviceOp]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.find, self.build))


PATTERNS: dict[str, tuple[Pattern, ...]] = {
    "batchmatmul": (
        Pattern(find_attention_and_values, build_attention),
        Pattern(find_attention, build_attention),
        Pattern(find_linear, build_linear),
    ),
    "max": (Pattern(find_softmax, build_softmax),),
    "add": (Pattern(find_add_and_norm, build_add_and_norm),),
    "exx2": (Pattern(find_layer_norm, build_layer_norm),),
}
