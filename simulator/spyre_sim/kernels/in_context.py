"""What the bugs of `context.py` make of a kernel: operands read in another order, results lost.

Those of `context_memory.py` are in `in_context_memory.py`.
A bug that mislabels an operand changes what the kernel is given; one that loses part of a result changes what it
leaves. Everything else about the kernel stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..graph import DeviceOp
from . import in_context_memory
from .numbers import Arithmetic, Tensor, values_of

Before = Callable[[DeviceOp, list[Any]], list[Any]]
After = Callable[[Arithmetic, DeviceOp, Any], Any]
Run = Callable[[list[Any]], Any]


def as_miscompiled(arithmetic: Arithmetic, op: DeviceOp, run: Run) -> Run:
    """`run` with the effects of the op's defects around it."""
    before = [BEFORE[name] for name in op.defects if name in BEFORE]
    after = [AFTER[name] for name in op.defects if name in AFTER]
    if not before and not after:
        return run

    def changed(inputs: list[Any]) -> Any:
        for change in before:
            inputs = change(op, inputs)
        result = run(inputs)
        for lose in after:
            result = lose(arithmetic, op, result)
        return result

    return changed


def is_miscompiled(op: DeviceOp) -> bool:
    """Does any of the op's defects act around the kernel? Such an op is never computed together with others."""
    return any(name in BEFORE or name in AFTER for name in op.defects)


def _heads_mislabelled(op: DeviceOp, inputs: list[Any]) -> list[Any]:
    """S6: the words lie [B, S, H, E] and are taken for [B, H, S, E]."""
    return [*map(_relabelled, inputs[:3]), *inputs[3:]]


def _one_mislabelled(op: DeviceOp, inputs: list[Any]) -> list[Any]:
    """S13: as S6, for the operands that are such views."""
    views = op.attributes["heads_at"]
    return [_relabelled(item) if position in views else item for position, item in enumerate(inputs)]


def _relabelled(item: Any) -> Tensor:
    tensor = values_of(item)
    return tensor.transpose(1, 2).contiguous().view(tensor.shape)


def _stick_late(op: DeviceOp, inputs: list[Any]) -> list[Any]:
    """S16: cause unknown; here the one row is read a stick late, half a stick where it has only one."""
    x = values_of(inputs[0])
    return [x.roll(64 if x.shape[-1] > 64 else 32, -1), *inputs[1:]]


def _sticks_first(op: DeviceOp, inputs: list[Any]) -> list[Any]:
    """S31: the contraction runs [stick, head, lane] where the words lie [head, stick, lane]."""
    heads, sticks = op.attributes["heads"]
    x = values_of(inputs[0])
    parts = x.reshape(*x.shape[:-1], heads, sticks, -1).transpose(-3, -2)
    return [parts.reshape(x.shape), *inputs[1:]]


def _offset_dropped(op: DeviceOp, inputs: list[Any]) -> list[Any]:
    """S33: the slice is read from the start of its buffer."""
    position = op.attributes["sliced"]
    cut = values_of(inputs[position])
    return [*inputs[:position], cut.as_strided(cut.shape, cut.stride(), 0), *inputs[position + 1 :]]


def _first_stick_again(arithmetic: Arithmetic, op: DeviceOp, result: Tensor) -> Tensor:
    """S25: all cores use the first one's place in the scratchpad: beyond the first stick its values come again."""
    width = result.shape[-1]
    return result[..., torch.arange(width) % 64].contiguous()


def _one_in_twenty(arithmetic: Arithmetic, op: DeviceOp, result: Tensor) -> Tensor:
    """S32: about 5 % of the elements are those of the next head."""
    wrong = torch.arange(result.numel()).reshape(result.shape) % 20 == 0
    return torch.where(wrong, result.roll(-1, 1), result).contiguous()


def _position_lost(arithmetic: Arithmetic, op: DeviceOp, result: Tensor) -> Tensor:
    """S17: right for the first position only; here every position has the first one's angles."""
    return result[..., :1, :].expand(result.shape).contiguous()


BEFORE: dict[str, Before] = {
    **in_context_memory.BEFORE,
    "S6": _heads_mislabelled,
    "S13": _one_mislabelled,
    "S16": _stick_late,
    "S31": _sticks_first,
    "S33": _offset_dropped,
}
AFTER: dict[str, After] = {
    **in_context_memory.AFTER,
    "S17": _position_lost,
    "S25": _first_stick_again,
    "S32": _one_in_twenty,
}
