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
    axis = dim % len(value.shape)
    _check(build, value, k, value.shape[axis], largest, sorted)
    shape = tuple(k if d == axis else size for d, size in enumerate(value.shape))
    ascending = not largest and not build.profile.defect("S52")
    lost = build.profile.active("S52") if not largest else ()
    layout = StickView.dense(shape, build.lanes(value.format))
    common: dict[str, Any] = {"k": k, "dim": axis, "largest": not ascending}
    top = build.emit("topkvalue", [value], shape, value.dtype, layout, defects=lost, **common)
    rounded = build.profile.active("S53")
    index_dtype = "float16" if rounded else "int64"  # numbers of the format, and called so (S53, O9)
    index = build.emit("topkindex", [value], shape, index_dtype, defects=(*lost, *rounded), **common)
    return [top, index]


def _check(build: Builder, value: Value, k: int, width: int, largest: bool, sorted: bool) -> None:
    """The limits of O9; a width of 2, 4, 8, ... whole sticks aborts the backend's scheduler."""
    if value.dtype == "float32" and k > 4 and build.profile.since("2026-09-15"):
        raise Refused("E15", f"{build.site.node} (Reduction): no mechanism to resolve stick incompatibility")
    if value.dtype == "float32":
        raise Refused("O9", f"{PREFIX}ReStickifyOpHBM on DataFormats.IEEE_FP32", nominal=value.nominal)
    if len(value.shape) != 2 and not build.profile.since("2026-08-13"):
        raise Refused("O9", f"{PREFIX}topk only implemented for 2-D tensors")
    if k > 4 and not build.profile.since("2026-08-13"):
        raise Refused("O9", f"{PREFIX}Topk is not supported for this config")
    _check_order(build, largest=largest, sorted=sorted)
    _check_cores(build, k)
    if value.shape and value.shape[0] == 1 and len(value.shape) == 2:
        raise Refused("O9", "AllSameNode.from_args: out_layouts is empty")
    sticks, rest = divmod(width, build.lanes(value.format))
    if sticks > 1 and not rest and sticks & (sticks - 1) == 0:
        raise Refused("O9", "DtException: Incorrect chunk size in bytes (L3DlOpsScheduler.cpp:1714)")


def _check_order(build: Builder, *, largest: bool, sorted: bool) -> None:
    """What #3713 refuses instead of dropping it (O9, S52)."""
    refused = [name for name, given in (("largest", largest), ("sorted", sorted)) if not given]
    if refused and build.profile.since("2026-08-13"):
        raise Refused("O9", f"{PREFIX}topk with {refused[0]}=False")


def _check_cores(build: Builder, k: int) -> None:
    """k is divided over cores, each of which finds four at most (W8)."""
    limit, cores = build.profile.limit("topk", "topk-k-per-core-max"), build.profile.stack.constants.cores
    if limit is not None and not any(k % share == 0 and k // share <= 4 for share in range(1, cores + 1)):
        raise Refused("W8", limit.text.format(k=k, cores=cores))
