"""The two kernels of topk, each of which looks for itself."""

from __future__ import annotations

from typing import Any

import torch

from ..graph import DeviceOp, Format
from .numbers import Arithmetic, Tensor, contiguous
from .registry import kernel


@kernel("topkvalue")
def topkvalue(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    return _top(op, inputs).values.contiguous()


@kernel("topkindex")
def topkindex(arithmetic: Arithmetic, op: DeviceOp, inputs: list[Any]) -> Tensor:
    index = _top(op, inputs).indices
    if op.output.format is Format.DL16:  # numbers of the format (S53)
        return arithmetic.round(index.to(torch.float32).contiguous(), Format.DL16)
    return index.to(torch.int32)


def _top(op: DeviceOp, inputs: list[Any]) -> Any:
    return contiguous(inputs[0]).topk(op.attributes["k"], op.attributes["dim"], op.attributes["largest"])
