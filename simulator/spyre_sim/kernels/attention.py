"""Tiled attention with a running maximum and denominator, from July 2026 on (A29)."""

from __future__ import annotations

from typing import Any

import torch

from ..graph import DeviceOp, Format
from ..layout.default import elements_in_stick
from .elementwise import table_of, through_table
from .numbers import Arithmetic, Tensor, contiguous
from .reductions import dl16_sums
from .registry import kernel


@kernel("flash")
def flash(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    """softmax(q k^T * factor + mask) v over tiles of keys; every step rounds."""
    query, key, value = (contiguous(item) for item in inputs[:3])
    mask = contiguous(inputs[3]) if len(inputs) > 3 else None
    late = "S7" in op.defects
    root = 1.0 if late else arithmetic.number(op.attributes["factor"] ** 0.5, Format.DL16)

    def r(tensor: Tensor) -> Tensor:
        return arithmetic.round(tensor.contiguous(), Format.DL16)

    query, key = r(query * root), r(key * root)
    if "S8" in op.defects:
        key = _ragged(key)
    shape = (*query.shape[:-1], 1)
    top = torch.full(shape, arithmetic.number(-65504.0, Format.DL16))
    total, out = torch.zeros(shape), torch.zeros(op.output.shape)
    for start in range(0, key.shape[-2], op.attributes["tile"]):
        tile = slice(start, start + op.attributes["tile"])
        scores = query @ key[..., tile, :].transpose(-1, -2)
        scores = r(_scaled_late(scores, op.attributes["factor"]) if late else scores)
        if mask is not None:
            scores = r(scores + mask[..., tile])
        new = torch.maximum(top, _tile_top(op, scores, first=start == 0))
        weights = through_table(r(scores - new), table_of("exp", arithmetic))
        kept = through_table(r(top - new), table_of("exp", arithmetic))
        sums = dl16_sums(arithmetic, weights.reshape(-1, weights.shape[-1]).contiguous()).reshape(shape)
        total = r(r(total * kept) + sums)
        out = r(r(out * kept) + r(weights @ value[..., tile, :]))
        top = new
    return r(out / total)


def _scaled_late(scores: Tensor, factor: float) -> Tensor:
    """With S7 q and k come unscaled, and float16's range ends before their product does."""
    held = torch.where(scores.abs() > 65504.0, scores * float("inf"), scores)
    return held * factor


def _ragged(key: Tensor) -> Tensor:
    """With S8 a last stick of keys that is not full is read from the first one's lanes, as in `matmul.ragged`."""
    rest = key.shape[-2] % elements_in_stick("float16")
    return torch.cat([key[..., :-rest, :], key[..., :rest, :]], -2)


def _tile_top(op: DeviceOp, scores: Tensor, *, first: bool) -> Tensor:
    """The maximum of a tile. With S1 that of a first tile that is all masked is the magnitude, +3.35e7 (N13, N15).

    Later tiles of that kind do no harm: causal rows have them, and so has a cache that is not full.
    """
    top = scores.amax(-1, keepdim=True)
    if first and "S1" in op.defects:
        top = torch.where(top < -(2.0**24), scores.abs().amax(-1, keepdim=True), top)
    return top
