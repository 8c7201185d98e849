"""Seeded test values: ordinary ones, and the ones at the edges of a dtype.

Values are drawn within the range of the *declared* dtype and handed out in float64, so that a claim about float16 is
tried on what a float16 tensor can hold, while the arithmetic that checks it has room.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

import torch

NONFINITE: Final = "nonfinite"
HUGE: Final = "huge"
MASKED_ROWS: Final = "masked-rows"

EXCEPTIONS: Final[Mapping[str, str]] = {
    NONFINITE: "an infinity or NaN among the inputs",
    HUGE: "numbers whose products leave the range of the dtype",
    MASKED_ROWS: "a row of a boolean mask that lets nothing through",
}
"""The classes of inputs that a claim may leave out (``unless``), and what they are."""

_LARGEST_DRAWN: Final = 1e12
"""Largest magnitude drawn: sums of products of a few of them are far from the end of float64."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to draw: its ``name`` in reports, and the exceptions under which it is not drawn."""

    name: str
    left_out_by: tuple[str, ...] = ()


KINDS: Final = (
    Kind("normal"),
    Kind("one nonfinite", (NONFINITE,)),
    Kind("edges", (HUGE,)),
    Kind("zeros and subnormals"),
    Kind("integers"),
    Kind("masked rows", (MASKED_ROWS,)),
    Kind("all magnitudes", (HUGE,)),
    Kind("small"),
    Kind("many nonfinite", (NONFINITE,)),
    Kind("constant"),
)
"""Tried in this order, again and again."""


def kinds_for(exceptions: Collection[str]) -> tuple[Kind, ...]:
    """The kinds of values that a claim with these exceptions is tried on."""
    return tuple(kind for kind in KINDS if not set(kind.left_out_by) & set(exceptions))


def draw(kind: Kind, shape: tuple[int, ...], dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    """Values of ``kind`` for a tensor that is declared as ``dtype``: float64 for floats, ``dtype`` for the others."""
    if dtype is torch.bool:
        return _mask(shape, generator, masked_rows=kind.name == "masked rows")
    if not dtype.is_floating_point:
        return torch.randint(0, 2, shape, generator=generator).to(dtype)
    return _FLOATS[kind.name](shape, torch.finfo(dtype), generator)


def _normal(shape: tuple[int, ...], limits: torch.finfo, generator: torch.Generator) -> torch.Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def _small(shape: tuple[int, ...], limits: torch.finfo, generator: torch.Generator) -> torch.Tensor:
    return _normal(shape, limits, generator) * 1e-3


def _integers(shape: tuple[int, ...], limits: torch.finfo, generator: torch.Generator) -> torch.Tensor:
    return torch.randint(-4, 5, shape, generator=generator).double()


def _constant(shape: tuple[int, ...], limits: torch.finfo, generator: torch.Generator) -> torch.Tensor:
    return torch.randn((), generator=generator, dtype=torch.float64).expand(shape).clone()


def _all_magnitudes(shape: tuple[int, ...], limits: torch.finfo, generator: torch.Generator) -> torch.Tensor:
    smallest, largest = limits.smallest_normal, min(limits.max, _LARGEST_DRAWN)
    low, high = (torch.tensor(bound, dtype=torch.float64).log2() for bound in (smallest, largest))
    exponent = low + (high - low) * torch.rand(shape, generator=generator, dtype=torch.float64)
    return torch.exp2(exponent) * _signs(shape, generator)


def _signs(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.randint(0, 2, shape, generator=generator).double() * 2 - 1


def _edges(shape: tuple[int, ...], limits: torch.finfo, generator: torch.Generator) -> torch.Tensor:
    largest = min(limits.max, _LARGEST_DRAWN)
    return _one_of([*_near_zero(limits), largest, -largest], shape, generator)


def _zeros_and_subnormals(shape: tuple[int, ...], limits: torch.finfo, generator: torch.Generator) -> torch.Tensor:
    return _one_of(_near_zero(limits), shape, generator)


def _near_zero(limits: torch.finfo) -> list[float]:
    subnormal = limits.smallest_normal * limits.eps
    return [0.0, -0.0, 1.0, -1.0, limits.eps, limits.smallest_normal, subnormal, -subnormal]


def _one_of(values: list[float], shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    pool = torch.tensor(values, dtype=torch.float64)
    return pool[torch.randint(0, len(pool), shape, generator=generator)]


def _with_nonfinite(share: float) -> Callable[[tuple[int, ...], torch.finfo, torch.Generator], torch.Tensor]:
    pool = torch.tensor([torch.inf, -torch.inf, torch.nan], dtype=torch.float64)

    def make(shape: tuple[int, ...], limits: torch.finfo, generator: torch.Generator) -> torch.Tensor:
        values = _normal(shape, limits, generator)
        if values.numel() == 0:
            return values
        hits = torch.rand(shape, generator=generator) < share
        hits.view(-1)[torch.randint(0, values.numel(), (1,), generator=generator)] = True
        return torch.where(hits, pool[torch.randint(0, len(pool), shape, generator=generator)], values)

    return make


def _mask(shape: tuple[int, ...], generator: torch.Generator, masked_rows: bool) -> torch.Tensor:
    mask = torch.rand(shape, generator=generator) < 0.6
    if not shape or mask.numel() == 0:
        return mask
    seen = torch.randint(0, shape[-1], (*shape[:-1], 1), generator=generator)
    mask.scatter_(-1, seen, True)
    if masked_rows:
        mask.view(-1, shape[-1])[0] = False
    return mask


_FLOATS: Final[Mapping[str, Callable[[tuple[int, ...], torch.finfo, torch.Generator], torch.Tensor]]] = {
    "normal": _normal,
    "small": _small,
    "integers": _integers,
    "constant": _constant,
    "masked rows": _normal,
    "all magnitudes": _all_magnitudes,
    "edges": _edges,
    "zeros and subnormals": _zeros_and_subnormals,
    "one nonfinite": _with_nonfinite(0.0),
    "many nonfinite": _with_nonfinite(0.1),
}
