"""What numbers a value can hold, as far as its graph says: whether a host's infinity can be among them (N13).

Defects of infinities (S1, S61) are set off by numbers, not by ops. Most masks are chosen between two constants, so the
graph tells whether an infinity can be one of them; where it does not tell, it can.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from .graph import DeviceOp, Program, Value, op_name

INFINITE = 2.0**32  # host numbers from which on the device holds the word of infinity (N13)


@dataclass(frozen=True)
class Range:
    """The least and the greatest number, infinities included."""

    low: float
    high: float

    @property
    def may_be_infinite(self) -> bool:
        """Is there a number in it that the copy to the device takes for an infinity?"""
        return self.low <= -INFINITE or self.high >= INFINITE

    def joined(self, other: Range) -> Range:
        """What holds the numbers of both."""
        return Range(min(self.low, other.low), max(self.high, other.high))


ANYTHING = Range(-math.inf, math.inf)
COMPUTED = Range(-65504.0, 65504.0)  # of what kernels compute: that it overflows is not for the graph to say

Rule = Callable[["Ranges", list[Any]], Range]


class Ranges:
    """The ranges of a program's values, worked out when asked for."""

    def __init__(self, program: Program) -> None:
        self._makers: Mapping[int, DeviceOp] = {id(op.output): op for op in program.ops}
        self._written = {target for _, target in program.writes if isinstance(target, str)}
        self._known: dict[int, Range] = {}

    def of(self, item: Any) -> Range:
        """The range of a value or of a number; of several values, what holds them all."""
        if isinstance(item, (list, tuple)):
            return _joined(self.of(part) for part in item)
        if not isinstance(item, Value):
            return Range(float(item), float(item)) if isinstance(item, (int, float)) else ANYTHING
        if id(item) not in self._known:
            self._known[id(item)] = self._within_dtype(item)
        return self._known[id(item)]

    def _within_dtype(self, value: Value) -> Range:
        found = self._made(value)
        limits = _limits(value.dtype)
        if math.isfinite(limits.high):  # whole numbers; those of int64 go beyond INFINITE
            return Range(max(found.low, limits.low), min(found.high, limits.high))
        if value.on_device:
            return found  # beyond float16 the device goes on (N5)
        greatest = torch.finfo(getattr(torch, value.dtype)).max
        return Range(
            -math.inf if found.low < -greatest else found.low, math.inf if found.high > greatest else found.high
        )

    def _made(self, value: Value) -> Range:
        maker = self._makers.get(id(value))
        if maker is None:
            return self._given(value)
        name = op_name(maker.attributes["target"]).split(".")[-1] if maker.kernel == "host" else maker.kernel
        if name in RULES:
            return RULES[name](self, _operands(maker))
        return COMPUTED if maker.is_kernel else ANYTHING

    def _given(self, value: Value) -> Range:
        """Of a constant or a weight what it holds; of an argument, or a buffer that runs write, anything."""
        data = value.data
        changes = value.source is not None and value.source.name in self._written
        if not isinstance(data, torch.Tensor) or data.is_meta or changes or data.is_complex():
            return ANYTHING
        if data.numel() == 0:
            return Range(0.0, 0.0)
        low, high = (float(item) for item in data.detach().to(torch.float64).aminmax())
        return ANYTHING if math.isnan(low) else Range(low, high)


def _limits(dtype: str) -> Range:
    """All numbers of a dtype; those of floating ones have infinities."""
    if dtype == "bool":
        return Range(0.0, 1.0)
    found = getattr(torch, dtype)
    return ANYTHING if found.is_floating_point else Range(float(torch.iinfo(found).min), float(torch.iinfo(found).max))


def _operands(op: DeviceOp) -> list[Any]:
    """What an op is given, in the order of its schema or kernel; behind that the number that a pad fills with."""
    return [*op.inputs, op.attributes["value"]] if op.kernel == "pad" else list(op.inputs)


def _joined(ranges: Iterator[Range]) -> Range:
    found = next(ranges, Range(0.0, 0.0))
    for other in ranges:
        found = found.joined(other)
    return found


def _held(*positions: int) -> Rule:
    """The result holds what the operands of these positions hold, and nothing else."""
    return lambda ranges, items: ranges.of([items[position] for position in positions])


def _added(ranges: Ranges, items: list[Any]) -> Range:
    return _sum(ranges.of(items[0]), _scaled(ranges, items[1:]))


def _subtracted(ranges: Ranges, items: list[Any]) -> Range:
    return _sum(ranges.of(items[0]), _negative(_scaled(ranges, items[1:])))


def _subtracted_from(ranges: Ranges, items: list[Any]) -> Range:
    return _sum(ranges.of(items[1]), _negative(_scaled(ranges, [items[0], *items[2:]])))


def _multiplied(ranges: Ranges, items: list[Any]) -> Range:
    return _product(ranges.of(items[0]), ranges.of(items[1]))


def _negated(ranges: Ranges, items: list[Any]) -> Range:
    return _negative(ranges.of(items[0]))


def _scaled(ranges: Ranges, items: list[Any]) -> Range:
    """The second term of a sum, times the `alpha` that host ops have."""
    found = ranges.of(items[0])
    return found if len(items) < 2 or items[1] == 1 else _product(found, ranges.of(items[1]))


def _sum(x: Range, y: Range) -> Range:
    low, high = x.low + y.low, x.high + y.high
    return ANYTHING if math.isnan(low) or math.isnan(high) else Range(low, high)


def _negative(x: Range) -> Range:
    return Range(-x.high, -x.low)


def _product(x: Range, y: Range) -> Range:
    corners = [a * b for a in (x.low, x.high) for b in (y.low, y.high)]
    return ANYTHING if any(map(math.isnan, corners)) else Range(min(corners), max(corners))


MOVES = (
    "view h2d d2h identity copy restickify cat to _to_copy clone alias detach expand reshape unsqueeze squeeze"
    " transpose permute slice select narrow repeat flip contiguous embedding index index_select gather dl16tofp32"
    " fp32todl16 scalar_tensor"
)
RULES: Mapping[str, Rule] = {
    **dict.fromkeys(("zeros", "zeros_like", "new_zeros"), lambda ranges, items: Range(0.0, 0.0)),
    **dict.fromkeys(("ones", "ones_like", "new_ones"), lambda ranges, items: Range(1.0, 1.0)),
    **dict.fromkeys(MOVES.split(), _held(0)),
    **dict.fromkeys(("full", "full_like", "fill"), _held(1)),
    **dict.fromkeys(("where", "where3"), _held(1, 2)),
    **dict.fromkeys(("minimum", "maximum", "slice_scatter", "pad"), _held(0, 1)),
    **dict.fromkeys(("masked_fill", "constant_pad_nd"), _held(0, 2)),
    "add": _added,
    "sub": _subtracted,
    "rsub": _subtracted_from,
    "mul": _multiplied,
    "neg": _negated,
}
