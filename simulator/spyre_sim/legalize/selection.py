"""topk: two ops, values and indices (9.2, O9)."""

from __future__ import annotations

from typing import Any

from ..errors import PREFIX
from ..graph import Value
from ..layout.view import StickView
from .builder import Builder
from .refused import Refused
from .registry import lowers


@lowers("topk")
def topk(build: Builder, self: Value, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> list[Value]:
    """topkvalue and topkindex, within the limits of the stack's date."""
    value = build.operand(self)
    _check(build, value, k, largest)
    axis = dim % len(value.shape)
    shape = tuple(k if d == axis else size for d, size in enumerate(value.shape))
    ascending = not largest and not build.profile.defect("S52")
    lost = build.profile.active("S52") if not largest else ()
    layout = StickView.dense(shape, build.lanes(value.format))
    common: dict[str, Any] = {"k": k, "dim": axis, "largest": not ascending}
    top = build.emit("topkvalue", [value], shape, value.dtype, layout, defects=lost, **common)
    rounded = build.profile.active("S53")
    index = build.emit("topkindex", [value], shape, "int64", defects=(*lost, *rounded), **common)
    return [top, index]


def _check(build: Builder, value: Value, k: int, largest: bool) -> None:
    if value.dtype == "float32":
        raise Refused("O9", f"{PREFIX}ReStickifyOpHBM on DataFormats.IEEE_FP32", nominal=value.nominal)
    if len(value.shape) != 2 and not build.profile.since("2026-08-13"):
        raise Refused("O9", f"{PREFIX}topk only implemented for 2-D tensors")
    if k > 4 and not build.profile.since("2026-08-13"):
        raise Refused("O9", f"{PREFIX}Topk is not supported for this config")
    if not largest and build.profile.since("2026-08-13"):
        raise Refused("O9", f"{PREFIX}topk with largest=False")
    if value.shape and value.shape[0] == 1 and len(value.shape) == 2:
        raise Refused("O9", "AllSameNode.from_args: out_layouts is empty")
