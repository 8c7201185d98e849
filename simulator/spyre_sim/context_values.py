"""Compiler bugs of numbers: what the device makes of a host's infinity (N13), where the graph does not rule one out.

As in `context.py`, a finder names the ops that a bug may hit; the effects are in `kernels/attention.py` and
`kernels/in_context_memory.py`, and act on the numbers that are there.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from .graph import DeviceOp, Value
from .ranges import INFINITE
from .surroundings import Surroundings, in_context


@in_context("S1")
def infinite_mask(around: Surroundings) -> Iterator[DeviceOp]:
    """Online softmax with an additive mask that may be minus infinity over the first keys of a row (N15).

    Rows of a batch that are padded on the left by a tile of keys or more begin like that. A mask of finite fills never
    does (T24), nor does a causal one, whose rows all see the first key.
    """
    for op in around.kernels("flash"):
        mask = op.inputs[3] if len(op.inputs) > 3 else None
        if isinstance(mask, Value) and around.ranges.of(mask).low <= -INFINITE:
            known = _constant(around, mask)
            if known is None or _begins_masked(known, op.attributes["tile"]):
                yield op


def _constant(around: Surroundings, value: Value) -> torch.Tensor | None:
    """The numbers of a value that the graph moves to the device as they are, where they are known."""
    maker = around.makers.get(id(value))
    source = maker.inputs[0] if maker is not None and maker.kernel == "h2d" else value
    return source.data if source.source is None else None


def _begins_masked(mask: torch.Tensor, tile: int) -> bool:
    """Is there a row whose first tile of keys is masked throughout?"""
    return bool((mask[..., :tile].to(torch.float64) <= -INFINITE).all(-1).any())


@in_context("S61")
def infinities_added(around: Surroundings) -> Iterator[DeviceOp]:
    """Two tensors of bfloat16 added that may both be infinite, as masks are: infinity and not-a-number are one word
    without a sign (N2)."""
    for op in around.kernels("add"):
        if op.output.dtype == "bfloat16" and all(
            isinstance(item, Value) and around.ranges.of(item).may_be_infinite for item in op.inputs
        ):
            yield op
