"""Element arrangements: in which order the lanes of a stick hold the elements (facts N40-N49).

A stick is 64 lanes of DLFloat16 or 32 of float32. Widening leaves lanes in place, so one DLFloat16 stick becomes a
pair of float32 sticks, the first with the even elements and the second with the odd ones (N41); narrowing packs two
float32 sticks alternately (N44). A copy to the host does not know of this and returns a permutation (N45).
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

LANES_16_BIT = 64
LANES_32_BIT = 32


class ElementArrangement(Enum):
    """The labels of N43."""

    STANDARD = "STANDARD"
    DL16_TO_FP32 = "DL16_TO_FP32"
    FP32_TO_DL16 = "FP32_TO_DL16"
    QFP8CH = "QFP8CH"
    QFP8WT = "QFP8WT"
    EXX2 = "EXX2"


def arrangement_after(source: ElementArrangement, target: str) -> ElementArrangement:
    """The arrangement after an on-device conversion to `target`, "float32" or "float16" (N43).

    Raises ValueError where the stack has no rule: widening or narrowing twice in the same direction.
    """
    known = {
        (ElementArrangement.STANDARD, "float32"): ElementArrangement.DL16_TO_FP32,
        (ElementArrangement.STANDARD, "float16"): ElementArrangement.FP32_TO_DL16,
        (ElementArrangement.DL16_TO_FP32, "float16"): ElementArrangement.STANDARD,
        (ElementArrangement.FP32_TO_DL16, "float32"): ElementArrangement.STANDARD,
    }
    if (source, target) not in known:
        raise ValueError(f"no rule for converting {source.value} elements to {target}")
    return known[source, target]


def stagger(values: NDArray[Any]) -> NDArray[Any]:
    """Standard order -> the order that widening leaves: per 64 elements the 32 even ones, then the 32 odd ones (N41).

    `values`: [..., 64 n]; raises ValueError for another last dim, which the device cannot pair (N48, N49).
    """
    return _swap_pairs(values, (LANES_32_BIT, 2))


def unstagger(values: NDArray[Any]) -> NDArray[Any]:
    """The host-side inverse (N42): last dim viewed [n, 2, 32], permuted to [n, 32, 2] and flattened.

    This is also what narrowing float32 sticks of standard order does to them (N44, inferred).
    """
    return _swap_pairs(values, (2, LANES_32_BIT))


def stagger_sticks(stick: NDArray[Any], sticks: int) -> NDArray[Any]:
    """Widen one row of DLFloat16 sticks [..., 64 n] lane by lane and keep the first `sticks` float32 sticks.

    With too small a count, which is what the stack computes for rows narrower than one stick (N48), the odd elements
    are lost: that is how defect S37 comes about.
    """
    return stagger(stick)[..., : sticks * LANES_32_BIT]


def _swap_pairs(values: NDArray[Any], split: tuple[int, int]) -> NDArray[Any]:
    *rows, width = values.shape
    if width % LANES_16_BIT:
        raise ValueError(f"the last dim must be a multiple of {LANES_16_BIT} to pair float32 sticks, not {width}")
    paired = values.reshape(*rows, width // LANES_16_BIT, *split)
    return np.ascontiguousarray(np.swapaxes(paired, -1, -2)).reshape(values.shape)
