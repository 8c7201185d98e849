"""What layouts become from op to op, as far as shapes decide it (facts L30-L51)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from .default import DeviceLayout, LayoutError, contiguous_stride, default_layout, elements_in_stick

CopyKind = Literal["identity", "restickify"]
MaskedReduction = Literal["max", "min", "sum", "mean", "exx2", "exp"]


def restickify_dims(size: Sequence[int], dtype: str = "float16") -> tuple[int, ...]:
    """The dims that a restickify may put along the stick instead of the present one: whole sticks only (L40)."""
    lanes = elements_in_stick(dtype)
    return tuple(dim for dim, extent in enumerate(size) if extent and extent % lanes == 0)


def copy_kind(source_stick: str, target_stick: str) -> CopyKind:
    """What a copy between two ops becomes: the identity if the stick symbols agree, else a restickify (L46)."""
    return "identity" if source_stick == target_stick else "restickify"


def reduced_layout(
    size: Sequence[int], dims: Sequence[int], dtype: str = "float16", *, joint: bool = True
) -> DeviceLayout:
    """The layout of a reduction's result with its dims kept as size 1 (L43).

    Over the stick dim the result is sparse: one valid lane, lane 0, in each stick. Over other dims it stays dense.
    `joint`: whether reducing the stick dim together with others is possible; in November 2025 it is not, and raises
    LayoutError with that stack's text.
    """
    reduced = {dim % len(size) for dim in dims}
    stick = len(size) - 1
    if not joint and stick in reduced and len(reduced) > 1:
        raise LayoutError(f"reduction on both stick and non-stick dimensions {sorted(reduced)}")
    kept = [1 if dim in reduced else extent for dim, extent in enumerate(size)]
    order = [*range(len(kept)), -1] if stick in reduced else None
    device_size, stride_map = default_layout(kept, contiguous_stride(kept), dtype, order)
    return DeviceLayout(tuple(device_size), tuple(stride_map), dtype)


def is_sparse(layout: DeviceLayout) -> bool:
    """Whether a layout holds one element a stick, or one for all: its elements broadcast over the stick (L19, L43)."""
    return layout.stride_map[-1] == -1


def tail_lanes(extent: int, dtype: str = "float16") -> int:
    """Lanes of the last stick beyond `extent`, which hold whatever they held (L4)."""
    return -extent % elements_in_stick(dtype)


def padded_contraction(extent: int, dtype: str = "float16") -> int:
    """The K a matmul loops over: y's rows are zero-padded to whole sticks, x's tail lanes meet the zeros (L41, L42)."""
    return extent + tail_lanes(extent, dtype)


def linear_weight_layout(size: Sequence[int], dtype: str = "float16") -> DeviceLayout:
    """The layout the loader gives the weight [out, in] of a linear: the stick on out_features (L30)."""
    if len(size) != 2:
        raise LayoutError("Incompatible host_size and dim_order")
    device_size, stride_map = default_layout(size, None, dtype, [1, 0])
    return DeviceLayout(tuple(device_size), tuple(stride_map), dtype)


def position_first_cache_layout(batch: int, heads: int, length: int, head_dim: int) -> DeviceLayout:
    """The pinned layout of a key or value cache [batch, heads, length, head_dim]: positions outermost (L32)."""
    lanes = elements_in_stick("float16")
    return DeviceLayout(
        (length, heads, -(-head_dim // lanes), batch, lanes),
        (head_dim, length * head_dim, lanes, heads * length * head_dim, 1),
    )


def slot_major_cache_layout(slots: int, heads: int, sticks: int) -> DeviceLayout:
    """The serving plugin's layout of its cache: slots outermost, then heads, then sticks (L33)."""
    lanes = elements_in_stick("float16")
    return DeviceLayout((slots, heads, sticks, lanes), (heads * sticks * lanes, sticks * lanes, lanes, 1))


def device_position(layout: DeviceLayout, host_stride: int) -> int:
    """The outermost device dim that walks the host dim of this stride, or -1; a scatter wants position 0 (L34)."""
    walking = [position for position, step in enumerate(layout.stride_map) if step == host_stride]
    return walking[0] if walking else -1


def is_factorised(size: Sequence[int], stride: Sequence[int], contraction: Sequence[int]) -> bool:
    """Whether a matmul operand spreads its contraction over two outer dims besides the stick (L51).

    `contraction`: the view's dims that the product sums over. Attention's output [L, D / 64, H, 64] of stride
    [4096, 64, 128, 1] read as [L, H * D] is such a one: until September 2026 it was taken for two contractions and
    gave wrong numbers, then it was laid out anew.
    """
    outer = [dim for dim in contraction if size[dim] > 1 and stride[dim] != 1]
    ordered = sorted(outer, key=lambda dim: -stride[dim])
    merged = all(
        stride[coarse] == stride[fine] * size[fine] for coarse, fine in zip(ordered, ordered[1:], strict=False)
    )
    return len(outer) > 1 and not (merged and ordered == sorted(outer))
