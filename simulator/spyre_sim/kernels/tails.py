"""The lanes of the last stick beyond a tensor's width, for profiles whose fresh memory is not clean (L4, D4, U13).

Nothing marks a defect here. Pointwise kernels compute on whole sticks, so what memory held goes through them; sums
and products multiply the lanes beyond the width by zero, which removes every number but neither infinity nor
not-a-number (L42, N6). So exp of garbage overflows and a product that is right alone is lost behind it (S20, S21).
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch

from ..formats import decode_dl16
from ..graph import DeviceOp, Format, Value
from .elementwise import BINARY, COMPARISONS, FUNCTIONS
from .numbers import Arithmetic, Tensor, values_of
from .registry import KERNELS

POINTWISE = frozenset({*FUNCTIONS, *BINARY, *COMPARISONS, "where3", "clip", "softplus"})
NAN_WORD = 0x7FFF


class Tails:
    """The tail lanes of the values of one run; nothing is kept of those that fill their sticks."""

    def __init__(self, arithmetic: Arithmetic) -> None:
        self._arithmetic = arithmetic
        self._lanes: dict[int, Tensor] = {}
        self._random = np.random.default_rng(int(arithmetic.numerics.tail_seed))

    def through(self, op: DeviceOp, inputs: list[Any], result: Any) -> Any:
        """The result of `op` with what its operands' tails do to it; its own tail is noted."""
        if op.kernel in ("batchmatmul", "sum", "mean"):
            result = self._leaked(op, result)
        width = self._tail_width(op.output)
        if width:
            self._lanes[id(op.output)] = self._computed(op, inputs, width)
        return result

    def _tail_width(self, value: Value) -> int:
        layout = value.layout
        if layout is None or value.format is not Format.DL16 or layout.sparse or not value.shape:
            return 0
        if not layout.expression.supported or layout.stick_dim != len(value.shape) - 1:
            return 0
        return -value.shape[-1] % layout.lanes

    def _of(self, value: Value) -> Tensor | None:
        width = self._tail_width(value)
        if width and id(value) not in self._lanes:
            self._lanes[id(value)] = self._fresh((*value.shape[:-1], width))
        return self._lanes.get(id(value))

    def _fresh(self, shape: tuple[int, ...]) -> Tensor:
        """What memory holds: random words, and not-a-number for a share of them or for all."""
        numerics = self._arithmetic.numerics
        words = self._random.integers(0, 1 << 16, shape).astype(np.uint16)
        words = np.where(words & np.uint16(NAN_WORD) == NAN_WORD, np.uint16(0), words)
        share = 1.0 if numerics.tail_lanes == "nan" else float(numerics.tail_nan_share)
        words = np.where(self._random.random(shape) < share, np.uint16(NAN_WORD), words)
        return torch.from_numpy(np.ascontiguousarray(decode_dl16(words)))

    # -- what they become ---------------------------------------------------------------------------------------

    def _computed(self, op: DeviceOp, inputs: list[Any], width: int) -> Tensor:
        shape = (*op.output.shape[:-1], width)
        source = op.inputs[0] if op.inputs else None
        if op.kernel in POINTWISE:
            return self._pointwise(op, inputs, shape)
        if isinstance(source, Value) and source.shape and source.shape[-1] == op.output.shape[-1]:
            if op.kernel == "view":
                return self._seen(op, source, shape)
            tail = self._of(source) if op.kernel == "identity" else None
            if tail is not None:
                return tail  # whole sticks are copied
        return self._fresh(shape)

    def _pointwise(self, op: DeviceOp, inputs: list[Any], shape: tuple[int, ...]) -> Tensor:
        """The kernel itself on the tail lanes; the stack masks those of exp from September 2026 on (N18)."""
        operands = [self._operand(op, item, given) for item, given in zip(op.inputs, inputs, strict=True)]
        mask = self._arithmetic.numerics.exp_mask
        if op.kernel == "exp" and mask is not None:
            operands = [torch.full(shape, self._arithmetic.number(float(mask), Format.DL16))]
        on_tail = dataclasses.replace(op, output=dataclasses.replace(op.output, shape=shape), defects=())
        result: Tensor = KERNELS[op.kernel](self._arithmetic, on_tail, operands)
        return result

    def _operand(self, op: DeviceOp, item: Any, given: Any) -> Any:
        if not isinstance(item, Value) or not item.shape or item.shape[-1] == 1:
            return values_of(given)  # one lane for all
        tail = self._of(item)
        return tail if tail is not None else self._fresh((*item.shape[:-1], self._tail_width(op.output)))

    def _seen(self, op: DeviceOp, source: Value, shape: tuple[int, ...]) -> Tensor:
        """The tail of a view that leaves the last dim alone: its rows are followed through the view."""
        tail = self._of(source)
        if tail is None:
            return self._fresh(shape)
        rows = torch.arange(tail.numel() // tail.shape[-1])[:, None].expand(-1, source.shape[-1])
        target, args, pick = op.attributes["target"], op.attributes["args"], op.attributes["pick"]
        seen = target(rows.reshape(source.shape), *args)
        return tail.reshape(-1, tail.shape[-1])[(seen if pick < 0 else seen[pick])[..., 0]]

    # -- what they do -------------------------------------------------------------------------------------------

    def _leaked(self, op: DeviceOp, result: Tensor) -> Tensor:
        source = op.inputs[0]
        product = op.kernel == "batchmatmul"
        if product and self._arithmetic.numerics.matmul_masks_tail:
            return result
        if not product and len(source.shape) - 1 not in op.attributes["dims"]:
            return result
        tail = self._of(source)
        if tail is None:
            return result
        leak = tail * 0.0  # nothing, or not-a-number
        if product:
            return result + leak.sum(-1, keepdim=True)
        return result + leak.sum(op.attributes["dims"], keepdim=op.attributes["keepdim"])
