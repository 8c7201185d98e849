"""Are two results the same real number?

Both sides are computed twice, in float64 and in float32. How far float32 moves a result says how sensitive the
result is to rounding; float64 rounds 2**29 times finer, so two float64 results of the same real number may differ by
that much less, and by a few units in the last place besides. Anything more is a difference between the formulas.
Infinities must agree in place and sign, and NaNs in place; ``0`` and ``-0`` are the same number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch

_FINER: Final = 2.0**-29
"""One float64 rounding, measured in float32 roundings."""

_SAFETY: Final = 64.0
"""Roundings do not move both precisions in the same direction; an honest rule stays far below this factor."""

_ULPS: Final = 16 * torch.finfo(torch.float64).eps


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two results differ most: the element's index, both values, and how far apart they might have been."""

    index: tuple[int, ...]
    before: float
    after: float
    allowed: float


@dataclass(frozen=True, slots=True)
class Sides:
    """One result computed in float64 (``exact``) and in float32 (``coarse``)."""

    exact: torch.Tensor
    coarse: torch.Tensor


def difference(before: Sides, after: Sides, max_relative: float = 0.0) -> Difference | None:
    """The worst disagreement of two results of the same shape, or None where they agree.

    ``max_relative`` is what an approximate claim allows on top of rounding, relative to each element.
    """
    left, right = before.exact, after.exact
    if not left.is_floating_point():
        return _worst(left, right, (left != right).double(), torch.zeros_like(left, dtype=torch.float64))
    allowed = _allowed(before, after) + max_relative * left.abs()
    apart = (left - right).abs()
    agree = (left == right) | (left.isnan() & right.isnan()) | (apart <= allowed)
    excess = torch.where(agree, 0.0, torch.nan_to_num(apart - allowed, nan=torch.inf, posinf=torch.inf))
    return _worst(left, right, excess, allowed)


def _allowed(before: Sides, after: Sides) -> torch.Tensor:
    noise = torch.maximum(_noise(before), _noise(after))
    return noise * _FINER * _SAFETY + _ULPS * _finite(before.exact).abs()


def _noise(sides: Sides) -> torch.Tensor:
    """How far float32 moves each row; where it overflows, the size of the result itself stands in."""
    moved = (sides.exact - sides.coarse.double()).abs()
    moved = torch.where(moved.isfinite(), moved, _finite(sides.exact).abs())
    return moved.amax(-1, keepdim=True).expand_as(moved) if moved.dim() and moved.numel() else moved


def _finite(values: torch.Tensor) -> torch.Tensor:
    return torch.where(values.isfinite(), values, 0.0)


def _worst(left: torch.Tensor, right: torch.Tensor, excess: torch.Tensor, allowed: torch.Tensor) -> Difference | None:
    if excess.numel() == 0 or not bool((excess > 0).any()):
        return None
    flat = int(excess.reshape(-1).argmax())
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(flat), excess.shape))
    at = index if index else ...
    return Difference(index, float(left[at]), float(right[at]), float(allowed[at]))
