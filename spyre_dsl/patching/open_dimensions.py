"""Which dimensions of a call's tensors a graph of one module leaves open, and which are numbers in it.

Of a call that was recorded while the whole model was captured, only the symbols are open: what a module works out from
the width of a rotary table is then a number in it, as it is in the model. In a call with real tensors nothing tells
them apart. A tensor that stands where one stood in a recorded call is as open as that one was; of others, every
dimension is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from spyre_dsl.patching.signature import Structure

Dimensions = frozenset[tuple[int, int]]
"""(leaf, dim), leaves counted as ``flatten`` does."""


def is_recorded(leaves: Sequence[Any]) -> bool:
    """Whether the sizes of ``leaves`` say which of them are symbols in the whole model."""
    return any(isinstance(size, torch.SymInt) for leaf in leaves for size in leaf.shape)


def numbers_in(leaves: Sequence[Any]) -> Dimensions:
    """The dimensions that are numbers in a recorded call.

    Sizes of 0 and 1 are left out: torch makes numbers of those wherever it meets them, whatever they mean.
    """
    if not is_recorded(leaves):
        return frozenset()
    sizes = ((index, dim, size) for index, leaf in enumerate(leaves) for dim, size in enumerate(leaf.shape))
    return frozenset((index, dim) for index, dim, size in sizes if not isinstance(size, torch.SymInt) and size > 1)


def numbers_as_recorded(known: Iterable[tuple[Structure, Dimensions]], structure: Structure) -> Dimensions:
    """The numbers of other calls, as (structure, numbers), carried over to the leaves of a call with ``structure``."""
    place_of = dict(enumerate(_places(structure)))
    recorded: set[tuple[Any, int]] = set()
    for other, numbers in known:
        places = _places(other)
        recorded.update((places[leaf], dim) for leaf, dim in numbers)
    return frozenset((leaf, dim) for leaf, at in place_of.items() for place, dim in recorded if place == at)


def dynamic_dimensions(leaves: Sequence[Any], numbers: Dimensions) -> tuple[dict[int, Any], ...]:
    """What ``torch.export`` is told of each leaf: the dimensions that it is to leave open."""
    recorded = is_recorded(leaves)
    return tuple(
        {
            dim: torch.export.Dim.AUTO
            for dim, size in enumerate(leaf.shape)
            if (isinstance(size, torch.SymInt) if recorded else (index, dim) not in numbers)
        }
        for index, leaf in enumerate(leaves)
    )


def _places(structure: Structure, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where each leaf stands: the keys, names and positions that lead to it."""
    kind = structure[0]
    if kind in ("leaf", "counter"):
        return [way]
    if kind in ("constant", "argument", "set"):
        return []
    children = structure[-1]
    steps = structure[1] if kind == "dict" else structure[2] if kind == "object" else range(len(children))
    return [place for step, child in zip(steps, children) for place in _places(child, (*way, step))]
