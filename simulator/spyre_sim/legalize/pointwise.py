"""One common stick for the operands of a pointwise kernel, and its lowering (L40, E1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..errors import PREFIX
from ..graph import Arrangement, Format, Value
from ..layout.view import StickView
from .builder import Builder
from .refused import Refused


def pointwise(
    build: Builder,
    kernel: str,
    operands: Sequence[Any],
    dtype: str | None = None,
    *,
    defects: tuple[str, ...] = (),
    **attributes: Any,
) -> Value:
    """Emit a pointwise kernel on tensors and numbers that broadcast; the result has the operands' common stick.

    `dtype`: of the result; the first tensor's by default.
    """
    inputs = [build.operand(item, position) for position, item in enumerate(operands)]
    tensors = [item for item in inputs if isinstance(item, Value)]
    build.check_formats(kernel, inputs)
    shape = tuple(torch.broadcast_shapes(*[value.shape for value in tensors]))
    dtype = dtype or tensors[0].dtype
    stick = common_stick(build, tensors, shape)
    inputs = [restickify(build, item, stick, shape) if isinstance(item, Value) else item for item in inputs]
    layout = result_layout(build, tensors, shape, stick, dtype)
    wide = [value for value in tensors if value.layout is not None and value.layout.spread]
    arrangement = wide[0].arrangement if wide else Arrangement.STANDARD
    return build.emit(kernel, inputs, shape, dtype, layout, defects=defects, arrangement=arrangement, **attributes)


def common_stick(build: Builder, tensors: Sequence[Value], shape: tuple[int, ...]) -> int | None:
    """The dim of the result that runs along the sticks; None if no operand has one. Raises E1 where none fits all."""
    sticks = {dim for dim in (_stick_in(value, shape) for value in tensors) if dim is not None}
    if not sticks:
        return None
    chosen = _preferred(sticks, shape, build.profile.lanes)
    moved = len(sticks) > 1
    for value in tensors:
        lead = len(shape) - len(value.shape)
        sparse = value.layout is not None and value.layout.sparse
        if sparse and chosen >= lead and value.shape[chosen - lead] != 1:
            raise Refused("E1", _no_layout(build, tensors, shape), nominal=value.nominal)
    if moved and shape[chosen] % build.profile.lanes:
        raise Refused("E1", _no_layout(build, tensors, shape), nominal=any(value.nominal for value in tensors))
    return chosen


def _preferred(sticks: set[int], shape: tuple[int, ...], lanes: int) -> int:
    """The last of the sticks that others can be copied to: an alternative has to be whole sticks long (#1756)."""
    whole = [dim for dim in sticks if shape[dim] % lanes == 0]
    return max(whole or sticks)


def restickify(build: Builder, value: Value, stick: int | None, shape: tuple[int, ...]) -> Value:
    """A copy with the stick on the result's dim `stick`, where the operand has another one (L40)."""
    own = _stick_in(value, shape)
    if stick is None or own is None or own == stick:
        return value
    if value.format is not Format.DL16:
        raise Refused("A9", f"{PREFIX}ReStickifyOpHBM on DataFormats.{value.format.value}", nominal=value.nominal)
    dim = stick - (len(shape) - len(value.shape))
    layout = StickView.dense(value.shape, build.profile.lanes, dim)
    return build.emit("restickify", [value], value.shape, value.dtype, layout, arrangement=value.arrangement)


def result_layout(
    build: Builder, tensors: Sequence[Value], shape: tuple[int, ...], stick: int | None, dtype: str
) -> StickView:
    """The layout of a pointwise result."""
    lanes = build.profile.lanes if dtype in ("float16", "bfloat16", "bool") else build.profile.lanes // 2
    if stick is None:
        sparse = any(value.layout is not None and value.layout.sparse for value in tensors)
        return StickView.reduced(shape, lanes) if sparse else StickView.dense(shape, lanes)
    return StickView.dense(shape, lanes, stick)


def _stick_in(value: Value, shape: tuple[int, ...]) -> int | None:
    assert value.layout is not None
    dim = value.layout.stick_dim
    return None if dim is None else dim + len(shape) - len(value.shape)


def _no_layout(build: Builder, tensors: Sequence[Value], shape: tuple[int, ...]) -> str:
    coordinates = [value.layout.expression.text for value in tensors if value.layout is not None]
    return (
        f"{PREFIX}Multi-arg pointwise ({build.site.node}): no supported output layout found with size={list(shape)}"
        f" and coordinates={coordinates}"
    )


__all__ = ["common_stick", "pointwise", "restickify", "result_layout"]
