"""Matrix products: contraction along x's stick, the result's stick on y's columns (L41)."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..cost.vocabulary import largest_prime_factor
from ..errors import PREFIX
from ..graph import Format, Value
from ..layout.view import StickView
from .builder import Builder
from .elementwise import arithmetic
from .pointwise import pointwise
from .refused import Refused
from .registry import lowers


def product(build: Builder, x: Value, y: Value, *, kernel: str = "batchmatmul", weight: bool = False) -> Value:
    """x[..., M, K] @ y[..., K, N]; batch dims broadcast.

    `weight`: y is a parameter, whose layout the loader chose for this product (L30): it is never restickified.
    """
    x, y = build.operand(x, 0, fixed=True), build.operand(y, 1, fixed=True)
    build.check_formats(kernel, [x, y])
    columns, depth = y.shape[-1], x.shape[-1]
    if columns == 1 and not build.profile.since("2026-08-20"):
        raise Refused("E5", f"{PREFIX}{build.site.node}: cannot restickify any input layout of y to carry y_var=d2")
    if weight:
        _check_weight(build, depth, columns)
    batch = torch.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    shape = (*batch, x.shape[-2], columns)
    x = _with_stick_last(build, x)
    y = y if weight else _with_stick_last(build, y)
    unit = not weight and _is_unit_batch(build, x, y)
    defects = build.profile.active("S30") if unit else ()
    return build.emit(kernel, [x, y], shape, x.dtype, defects=defects)


def _check_weight(build: Builder, depth: int, columns: int) -> None:
    """Weights whose contraction ends inside a stick cannot be lowered, nor those no split brings under the span."""
    lanes = build.profile.lanes
    if depth % lanes:
        raise Refused("E23", "DtException: _extend_matmul_k_to_padded: could not identify K symbol")
    largest = largest_prime_factor(math.ceil(columns / lanes))
    span = largest * depth * lanes * 2
    if span > build.profile.stack.constants.max_span_bytes:
        raise Refused(
            "O16",
            f"per-core tensor span {span / 2**20:.2f} MB exceeds hardware limit of 256.00 MB"
            " (dxp_standalone died with <Signals.SIGABRT: 6>)",
        )


def _with_stick_last(build: Builder, value: Value) -> Value:
    layout = value.layout
    assert layout is not None
    stick = layout.stick_dim
    if stick == len(value.shape) - 1 or (stick is None and value.shape[-1] == 1):
        return value
    if value.format is not Format.DL16:
        raise Refused("A9", f"{PREFIX}ReStickifyOpHBM on DataFormats.{value.format.value}", nominal=value.nominal)
    return build.emit("restickify", [value], value.shape, value.dtype, StickView.dense(value.shape, layout.lanes))


def _is_unit_batch(build: Builder, x: Value, y: Value) -> bool:
    """The special case of Q12: [1, M, K] @ [1, K, N] with whole sticks, the right side straight from the graph."""
    whole = x.shape[-1] % build.profile.lanes == 0 and y.shape[-1] % build.profile.lanes == 0
    return whole and len(x.shape) == 3 and x.shape[0] == 1 and x.shape[1] > 1 and _is_from_outside(build, y)


def _is_from_outside(build: Builder, value: Value) -> bool:
    """Is it a graph input as it came, or the expand of one?"""
    maker = build.producer(value)
    while maker is not None and maker.kernel == "view" and maker.inputs[0].shape[-2:] == value.shape[-2:]:
        before, after = maker.inputs[0].layout, maker.output.layout
        if before is None or after is None or before.stride[-2:] != after.stride[-2:] or before.offset != after.offset:
            return False
        value = maker.inputs[0]
        maker = build.producer(value)
    return value.from_outside


def transposed(build: Builder, value: Value) -> Value:
    """The last two dims swapped, as a view."""
    return build.view(build.device(value), torch.ops.aten.transpose.int, -1, -2)


@lowers("linear")
def linear(build: Builder, input: Value, weight: Value, bias: Value | None = None) -> Value:
    """w^T by transposition, x @ w^T, + bias (9.2)."""
    if len(input.shape) < 2:
        raise Refused("E19", f"{PREFIX}Unsupported tensor dimensions for mm: x.shape={list(input.shape)}")
    out = product(build, input, transposed(build, weight), weight=weight.source is not None)
    return out if bias is None else pointwise(build, "add", [out, bias])


@lowers("addmm")
def addmm(build: Builder, self: Value, mat1: Value, mat2: Value, beta: Any = 1, alpha: Any = 1) -> Value:
    out = product(build, mat1, mat2, weight=mat2.source is not None)
    if alpha != 1:
        out = pointwise(build, "mul", [out, float(alpha)])
    if beta == 0:
        return out
    if beta != 1:
        self = pointwise(build, "mul", [self, float(beta)])
    return pointwise(build, "add", [self, out])


@lowers("mm", "bmm")
def mm(build: Builder, self: Value, mat2: Value, **_: Any) -> Value:
    return product(build, self, mat2)


@lowers("baddbmm")
def baddbmm(build: Builder, self: Value, batch1: Value, batch2: Value, beta: Any = 1, alpha: Any = 1) -> Value:
    out = product(build, batch1, batch2)
    if alpha != 1:
        out = pointwise(build, "mul", [out, float(alpha)])
    if beta == 0:
        return out
    scaled = self if beta == 1 else pointwise(build, "mul", [self, float(beta)])
    return arithmetic(build, "add", scaled, out)


@lowers("matmul")
def matmul(build: Builder, self: Value, other: Value) -> Value:
    if min(len(self.shape), len(other.shape)) < 2:
        shapes = f"x.shape={list(self.shape)}, y.shape={list(other.shape)}"
        raise Refused(
            "E19",
            f"{PREFIX}Unsupported tensor dimensions for mm: {shapes} Expected (2D, 2D) or (3D, 2D),"
            f" got ({len(self.shape)}D, {len(other.shape)}D)",
        )
    return product(build, self, other)
