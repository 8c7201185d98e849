"""Are two results the same real number?

Where two float64 results differ by more than a few units in the last place, the question is how much rounding may
move them, and that is measured: each side is computed again in float32, which rounds ``2**29`` times coarser (large
numbers that cancel inside show there), and from inputs that are off by ``SHAKE`` (results that the inputs hardly
determine show there). Two results of one real number stay within a few times what these explain. Anything more is a
difference between the formulas. Infinities must agree in place and sign, and NaNs in place; ``0`` and ``-0`` are the
same number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import torch

from spyre_dsl.language.adapter import MathClaim

SHAKE: Final = 2.0**-44
"""How far shaken inputs are off, relative to each."""

_SHAKEN_SHARE: Final = 4.0
_COARSE_SHARE: Final = 64 * 2.0**-29
"""How much of what moves a result counts as rounding; honest rules stay well below."""

_ULPS: Final = 16 * torch.finfo(torch.float64).eps
_TINY: Final = torch.finfo(torch.float64).tiny


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two results differ most: the element's index, both values, and how far apart they might have been."""

    index: tuple[int, ...]
    before: float
    after: float
    allowed: float


@dataclass(frozen=True, slots=True)
class Sides:
    """One result: in float64 (``exact``), in float32 (``coarse``) and in float64 from shaken inputs (``shaken``)."""

    exact: torch.Tensor
    coarse: torch.Tensor
    shaken: torch.Tensor


@dataclass(frozen=True, slots=True)
class Bound:
    """What an approximate claim allows on top of rounding: ``|after - before| <= absolute + relative * |before|``."""

    relative: float = 0.0
    absolute: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.relative or self.absolute)

    def broken(self, before: float, after: float) -> str:
        """The measured error beside the bound, for two numbers outside it: ``relative error 0.45 > max_relative 0.01``.

        Empty where nothing can be measured: for an exact claim, and where a number is infinite or none.
        """
        apart, size = abs(after - before), abs(before)
        if not self or not math.isfinite(apart):
            return ""
        if not self.absolute:
            measured = f"relative error {apart / size:.3g}" if size else f"absolute error {apart:.3g} at 0"
            return f"{measured} > max_relative {self.relative:g}"
        if not self.relative:
            return f"absolute error {apart:.3g} > max_absolute {self.absolute:g}"
        allowed = self.absolute + self.relative * size
        return (
            f"absolute error {apart:.3g} > {allowed:.3g} = "
            f"max_absolute {self.absolute:g} + max_relative {self.relative:g} * {size:.3g}"
        )


def bound_of(claim: MathClaim) -> Bound:
    """The bound of a claim; an exact one has none."""
    return Bound(claim.max_relative or 0.0, claim.max_absolute or 0.0)


def agree(before: torch.Tensor, after: torch.Tensor) -> bool:
    """Whether two results are the same within a few units in the last place, so that nothing need be measured."""
    if not before.is_floating_point():
        return torch.equal(before, after)
    return _worst_of(before, after, _ULPS * _finite(before).abs()) is None


def difference(before: Sides, after: Sides, bound: Bound = Bound()) -> Difference | None:
    """The worst disagreement of two results of the same shape, or None where they agree.

    Under a ``bound`` the worst element is the one that is furthest off in terms of what is allowed there, else the one
    that is furthest off.
    """
    left, right = before.exact, after.exact
    if not left.is_floating_point():
        return _worst(left, right, (left != right).double(), torch.zeros_like(left, dtype=torch.float64))
    noise = torch.maximum(_noise(before), _noise(after))
    size = _finite(left).abs()
    room = bound.absolute + bound.relative * size
    return _worst_of(left, right, noise + _ULPS * size + room, room.clamp(min=_TINY) if bound else None)


def _worst_of(
    left: torch.Tensor, right: torch.Tensor, allowed: torch.Tensor, unit: torch.Tensor | None = None
) -> Difference | None:
    apart = (left - right).abs()
    same = (left == right) | (left.isnan() & right.isnan()) | (apart <= allowed)
    excess = torch.where(same, 0.0, torch.nan_to_num(apart - allowed, nan=torch.inf, posinf=torch.inf))
    if unit is not None:
        excess = excess / unit
    return _worst(left, right, excess, allowed)


def _noise(sides: Sides) -> torch.Tensor:
    """How far rounding may move each row."""
    shaken, coarse = _moved(sides.exact, sides.shaken), _moved(sides.exact, sides.coarse.double())
    moved = torch.maximum(shaken * _SHAKEN_SHARE, coarse * _COARSE_SHARE)
    return moved.amax(-1, keepdim=True).expand_as(moved) if moved.dim() and moved.numel() else moved


def _moved(exact: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """How far ``other`` is off; where it overflows, the size of the result itself stands in."""
    moved = (exact - other).abs()
    return torch.where(moved.isfinite(), moved, _finite(exact).abs())


def _finite(values: torch.Tensor) -> torch.Tensor:
    return torch.where(values.isfinite(), values, 0.0)


def _worst(left: torch.Tensor, right: torch.Tensor, excess: torch.Tensor, allowed: torch.Tensor) -> Difference | None:
    if excess.numel() == 0 or not bool((excess > 0).any()):
        return None
    flat = int(excess.reshape(-1).argmax())
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(flat), excess.shape))
    at = index if index else ...
    return Difference(index, float(left[at]), float(right[at]), float(allowed[at]))
