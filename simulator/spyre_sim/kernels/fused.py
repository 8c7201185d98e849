"""Runs of kernels that are computed in one pass over memory, each result rounded as if it stood alone.

This is for speed only: the numbers are those of the separate kernels to the last bit (a test holds them equal), and
reports, bundles and traces count the separate ones.
"""

from __future__ import annotations

from typing import Any

from ..graph import DeviceOp, Format, Program, Value
from . import buffers, compiled, compiled_norms, fused_attention
from .elementwise import FUNCTIONS, table_of
from .in_context import is_miscompiled
from .matmul import product
from .normalisation import affine, epsilon, is_narrow
from .numbers import Arithmetic, Tensor, array, contiguous, rows_of
from .parallel import over_rows
from .registry import kernel
from .uses import Pattern, Uses, other


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


# -- x @ w + bias, then a function -----------------------------------------------------------------------------------


def find_linear(uses: Uses, op: DeviceOp) -> list[DeviceOp] | None:
    """batchmatmul, add of a vector, and a function of the sum where nothing else reads it."""
    if op.output.format is not Format.DL16:
        return None
    add = uses.only(op.output, "add")
    if add is None or add.output.shape != op.output.shape or not isinstance(other(add, op.output), Value):
        return None
    if other(add, op.output).shape != op.output.shape[-1:]:
        return None
    function = uses.only(add.output, *FUNCTIONS)
    return [op, add] if function is None else [op, add, function]


def build_linear(run: list[DeviceOp]) -> DeviceOp:
    first, add = run[0], run[1]
    name = run[2].kernel if len(run) > 2 else None
    inputs = (*first.inputs, other(add, first.output))
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
        compiled_norms.layer_norm_loop(rows[part], narrow, eps, weight, bias, target[part])

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
        compiled_norms.add_and_norm_loop(left[part], right[part], narrow, eps, weight, bias, target[part])

    over_rows(len(target), target.size, block)
    return out


PATTERNS: dict[str, tuple[Pattern, ...]] = {
    "batchmatmul": (
        *fused_attention.PRODUCTS,
        Pattern(find_linear, build_linear),
    ),
    "max": (fused_attention.SOFTMAX,),
    "add": (Pattern(find_add_and_norm, build_add_and_norm),),
    "exx2": (Pattern(find_layer_norm, build_layer_norm),),
}
