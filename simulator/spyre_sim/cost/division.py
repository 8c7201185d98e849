"""How the stack divides an op's work over the cores: spans and the generic distribution (facts W1-W5, June 2026).

A core can address 256 MB of a tensor in one piece. First dims are split until every tensor's piece fits (W3), then
the cost model of `matmul_division` may choose, and last each dim takes as many cores as divide it (W5).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

MAX_CORES = 32
MAX_SPAN_BYTES = 268_435_456


class DivisionError(ValueError):
    """The work cannot be divided; the message is the stack's own."""


@dataclass(frozen=True)
class Axis:
    """A loop variable as the divider sees it: `extent` is what can be split, its stick count if it lies along one."""

    name: str
    extent: int
    reduction: bool = False


@dataclass(frozen=True)
class Operand:
    """A tensor of the op: the variables its device dims walk, outermost first, the stick itself left out.

    `extents` are those of the device dims; a dim that no variable walks is named "".
    """

    name: str
    variables: tuple[str, ...]
    extents: tuple[int, ...]
    stick_bytes: int = 128


@dataclass(frozen=True)
class Division:
    """Cores per variable (those not named have 1), and the operands that overflow the span nevertheless."""

    splits: Mapping[str, int]
    overflowing: tuple[str, ...] = ()

    @property
    def cores(self) -> int:
        return math.prod(self.splits.values())


def checked_cores(cores: int) -> int:
    """`cores` if it is a valid SENCORES value, else DivisionError (W1)."""
    if not 1 <= cores <= MAX_CORES:
        raise DivisionError(f"invalid SENCORES value {cores}")
    return cores


def divisors(number: int, limit: int) -> list[int]:
    """The divisors of `number` up to `limit`, ascending."""
    return [n for n in range(1, min(number, limit) + 1) if number % n == 0]


def core_split(extent: int, cores: int) -> int:
    """The largest divisor of `extent` that is at most `cores` (W5)."""
    return divisors(max(extent, 1), cores)[-1]


def span(operand: Operand, splits: Mapping[str, int]) -> int:
    """Bytes from the first to the last that one core touches (W2): from its outermost dim of more than one step in."""
    per_core = [
        extent // splits.get(variable, 1) for variable, extent in zip(operand.variables, operand.extents, strict=True)
    ]
    for position, extent in enumerate(per_core):
        if extent > 1:
            return extent * math.prod(operand.extents[position + 1 :]) * operand.stick_bytes
    return operand.stick_bytes


def reduce_spans(
    axes: Sequence[Axis], operands: Iterable[Operand], cores: int = MAX_CORES, limit: int = MAX_SPAN_BYTES
) -> Division:
    """Split variables until each operand's span is within `limit`, with as few cores as that takes (W3).

    What cannot be met is left overflowing: the stack logs it and goes on (S29). Raises DivisionError if two reduction
    dims would have to be split, which the backend cannot do.
    """
    by_name = {axis.name: axis for axis in axes}
    splits: dict[str, int] = {}
    for operand in operands:
        if span(operand, splits) > limit:
            splits |= _best_splits(operand, by_name, splits, cores, limit)
    reductions = sorted(name for name, split in splits.items() if split > 1 and by_name[name].reduction)
    if len(reductions) > 1:
        raise DivisionError(
            f"Cannot satisfy hardware memory span limit (256MB) without splitting {len(reductions)} reduction "
            f"dimension(s) ({', '.join(reductions)}), but the backend supports at most 1."
        )
    return Division(splits, tuple(o.name for o in operands if span(o, splits) > limit))


def _best_splits(
    operand: Operand, axes: Mapping[str, Axis], committed: Mapping[str, int], cores: int, limit: int
) -> dict[str, int]:
    """Of all combinations the one with the largest span within the limit, else the one with the smallest."""
    candidates = [
        (span(operand, {**committed, **splits}), splits) for splits in _combinations(operand, axes, committed, cores)
    ]
    if not candidates:
        name = operand.variables[0]
        raise DivisionError(
            f"No valid split for variable {name} (orig_size={axes[name].extent}, "
            f"min_required={committed.get(name, 1)}) for tensor {operand.name}."
        )
    within = [candidate for candidate in candidates if candidate[0] <= limit]
    return max(within, key=lambda found: found[0])[1] if within else min(candidates, key=lambda found: found[0])[1]


def _combinations(
    operand: Operand, axes: Mapping[str, Axis], committed: Mapping[str, int], cores: int
) -> Iterator[dict[str, int]]:
    names = list(dict.fromkeys(name for name in operand.variables if name))
    others = math.prod(split for name, split in committed.items() if name not in names)
    choices = [[n for n in divisors(axes[name].extent, cores) if n % committed.get(name, 1) == 0] for name in names]
    for chosen in itertools.product(*choices):
        if others * math.prod(chosen) <= cores:
            yield dict(zip(names, chosen, strict=True))


def distribute(axes: Sequence[Axis], committed: Mapping[str, int] | None = None, cores: int = MAX_CORES) -> Division:
    """Give each dim as many cores as divide it: outputs by decreasing extent, then one reduction dim at most (W5).

    `committed` splits are minimums. Equal extents keep the order of `axes`.
    """
    splits = {name: split for name, split in (committed or {}).items() if split > 1}
    outputs = sorted((axis for axis in axes if not axis.reduction), key=lambda axis: -axis.extent)
    reductions = sorted((axis for axis in axes if axis.reduction), key=lambda axis: -axis.extent)
    split_reductions = [axis for axis in reductions if splits.get(axis.name, 1) > 1]
    for axis in [*outputs, *(split_reductions or reductions)[:1]]:
        minimum = splits.get(axis.name, 1)
        others = math.prod(split for name, split in splits.items() if name != axis.name)
        room = cores // others
        fitting = [n for n in divisors(max(axis.extent, 1), room) if n % minimum == 0]
        if fitting and fitting[-1] > 1:
            splits[axis.name] = fitting[-1]
    return Division(splits)
