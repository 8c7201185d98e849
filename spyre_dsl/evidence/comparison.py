"""Are two results the same real number?

Where two float64 results differ by more than a few units in the last place, the question is how much rounding may
move them, and that is measured: each side is computed again in float32, which rounds ``2**29`` times coarser (large
numbers that cancel inside show there), and from inputs that are off by ``SHAKE`` (results that the inputs hardly
determine show there). Two results of one real number stay within a few times what these explain. Anything more is a
difference between the formulas. Infinities must agree in place and sign, and NaNs in place; ``0`` and ``-0`` are the
same number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch

SHAKE: Final = 2.0**-44
"""How far shaken inputs are off, relative to each."""

_SHAKEN_SHARE: Final = 4.0
_COARSE_SHARE: Final = 64 * 2.0**-29
"""How much of what moves a result counts as rounding; honest rules stay well below."""

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
    """One result: in float64 (``exact``), in float32 (``coarse``) and in float64 from shaken inputs (``shaken``)."""

    exact: torch.Tensor
    coarse: torch.Tensor
    shaken: torch.Tensor


def agree(before: torch.Tensor, after: torch.Tensor) -> bool:
    """Whether two results are the same within a few units in the last place, so that nothing need be measured."""
    if not before.is_floating_point():
        return torch.equal(before, after)
    return _worst_of(before, after, _ULPS * _finite(before).abs()) is None


def difference(before: Sides, after: Sides, max_relative: float = 0.0) -> Difference | None:
    """The worst disagreement of two results of the same shape, or None where they agree.

    ``max_relative`` is what an approximate claim allows on top of rounding, relative to each element.
    """
    left, right = before.exact, after.exact
    if not left.is_floating_point():
        return _worst(left, right, (left != right).double(), torch.zeros_like(left, dtype=torch.float64))
    noise = torch.maximum(_noise(before), _noise(after))
    return _worst_of(left, right, noise + (_ULPS + max_relative) * _finite(left).abs())


def _worst_of(left: torch.Tensor, right: torch.Tensor, allowed: torch.Tensor) -> Difference | None:
    apart = (left - right).abs()
    same = (left == right) | (left.isnan() & right.isnan()) | (apart <= allowed)
    excess = torch.where(same, 0.0, torch.nan_to_num(apart - allowed, nan=torch.inf, posinf=torch.inf))
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
