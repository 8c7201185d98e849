"""Scaled dot product attention and softmax, as each date of the stack has them (A27-A29, 9.2)."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..errors import PREFIX
from ..graph import Format, Value
from .builder import Builder, dtype_name
from .conversions import convert
from .matmul import product, transposed
from .pointwise import pointwise
from .reductions import reduce
from .refused import Refused
from .registry import lowers


@lowers("softmax", "_softmax", "special_softmax")
def softmax(build: Builder, self: Value, dim: int, dtype: Any = None, half_to_float: bool = False) -> Value:
    """amax, sub, exp, sum, realdiv, each a kernel (A27)."""
    if dtype is not None:
        self = convert(build, self, dtype_name(dtype))
    elif half_to_float:
        self = convert(build, self, "float32")
    return softmax_of(build, self, dim)


@lowers("log_softmax", "_log_softmax")
def log_softmax(build: Builder, self: Value, dim: int, dtype: Any = None, half_to_float: bool = False) -> Value:
    """x - max - log(sum(exp(x - max)))."""
    if dtype is not None or half_to_float:
        self = convert(build, self, "float32" if half_to_float else dtype_name(dtype))
    value = build.operand(self)
    shifted = pointwise(build, "sub", [value, reduce(build, "max", value, [dim], keepdim=True)])
    total = reduce(build, "sum", pointwise(build, "exp", [shifted]), [dim], keepdim=True)
    return pointwise(build, "sub", [shifted, pointwise(build, "log", [total])])


def softmax_of(build: Builder, value: Value, dim: int) -> Value:
    """Softmax over one dim of a value that is in its format already."""
    value = build.operand(value)
    top = reduce(build, "max", value, [dim], keepdim=True)
    weights = pointwise(build, "exp", [pointwise(build, "sub", [value, top])])
    total = reduce(build, "sum", weights, [dim], keepdim=True)
    return pointwise(build, "realdiv", [weights, total])


@lowers("scaled_dot_product_attention")
def attention(
    build: Builder,
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Value:
    """The mathematical path (A28), or the tiled online softmax of later stacks (A29).

    The result is stored [B, S, H, E] and seen as [B, H, S, E], as the stack does it.
    """
    if dropout_p:
        raise Refused("A28", f"{PREFIX}Attention dropout not implemented for Spyre")
    if query.shape[-1] != value.shape[-1]:
        raise Refused("O15", f"{PREFIX}scaled_dot_product_attention with E != Ev (#1739)")
    mask = _usable_mask(build, attn_mask)
    query, key = (_operand(build, item, position) for position, item in enumerate((query, key)))
    value = _operand(build, value, 1, fixed=True)  # straight into the second matmul
    if build.noted:
        raise Refused("", "", nominal=True)
    factor = float(scale) if scale is not None else query.shape[-1] ** -0.5
    if enable_gqa and key.shape[1] != query.shape[1]:
        key, value = (_repeat_heads(build, item, query.shape[1] // item.shape[1]) for item in (key, value))
    if is_causal:
        mask = _causal_mask(build, query.shape[-2], key.shape[-2], query.dtype)
    if build.profile.stack.numerics.sdpa == "flash":
        return _flash(build, query, key, value, mask, factor)
    return _math(build, query, key, value, mask, factor)


def _math(build: Builder, query: Value, key: Value, value: Value, mask: Value | None, factor: float) -> Value:
    root = math.sqrt(factor)
    query, key = pointwise(build, "mul", [query, root]), pointwise(build, "mul", [key, root])
    scores = product(build, query, transposed(build, key))
    _mark_ragged(build, key)
    if mask is not None:
        scores = pointwise(build, "add", [scores, mask])
    return _stored(build, product(build, softmax_of(build, scores, -1), value))


def _flash(build: Builder, query: Value, key: Value, value: Value, mask: Value | None, factor: float) -> Value:
    """Online softmax over tiles of keys: one kernel here, with the tile length of the profile."""
    value = build.operand(value, 2, fixed=True)
    build.check_formats("batchmatmul", [query, key, value])
    numerics = build.profile.stack.numerics
    shape = (*query.shape[:-1], value.shape[-1])
    inputs = [query, key, value] + ([build.operand(mask, 3)] if mask is not None else [])
    out = build.emit("flash", inputs, shape, query.dtype, factor=factor, tile=int(numerics.sdpa_tile))
    _mark_ragged(build, key)
    return _stored(build, out)


def _mark_ragged(build: Builder, key: Value) -> None:
    """S8: the last stick of the score matmul is not full, and not the only one."""
    keys, lanes = key.shape[-2], build.profile.lanes
    if keys > lanes and keys % lanes:
        build.mark("S8")


def _stored(build: Builder, out: Value) -> Value:
    """transpose(1, 2).clone(contiguous).transpose(1, 2) (9.2)."""
    if len(out.shape) != 4:
        return out
    turned = build.view(out, torch.ops.aten.transpose.int, 1, 2)
    copied = build.emit("identity", [turned], turned.shape, turned.dtype)
    return build.view(copied, torch.ops.aten.transpose.int, 1, 2)


def _operand(build: Builder, item: Value, position: int, *, fixed: bool = False) -> Value:
    """An operand of the attention; of those that one layout rule refuses the first is reported."""
    try:
        return build.operand(item, position, fixed=fixed)
    except Refused as refused:
        build.note(refused)
        return item


def _usable_mask(build: Builder, mask: Value | None) -> Value | None:
    """The stack adds the mask to the scores, so it has to be a float one that the host made (T23)."""
    if mask is None:
        return None
    if mask.dtype == "bool":
        build.note(
            Refused(
                "T23",
                f"{PREFIX}attn_mask of torch.bool in scaled_dot_product_attention: the mask is added to the scores"
                " (its boolean would have to be selected on, and integer and boolean masks are rejected on the device)",
            )
        )
        return None
    return mask


def _causal_mask(build: Builder, rows: int, columns: int, dtype: str) -> Value:
    """full(-inf).triu(1): triu is a host fallback before August 2026, and -inf changes on the way up (N13)."""
    data = torch.full((rows, columns), float("-inf"), dtype=getattr(torch, dtype)).triu(1)
    mask = Value((rows, columns), dtype, Format.HOST, data=data)
    if build.profile.kind("triu") == "fallback":
        site = build.site
        build.site = type(site)(site.node, "aten.triu", site.module_path, site.source_line)
        full = Value((rows, columns), dtype, Format.HOST, data=data)
        build.fallback([full], [mask])
        build.site = site
    return mask


def _repeat_heads(build: Builder, item: Value, times: int) -> Value:
    """Grouped heads repeated in memory: [B, H, S, E] -> [B, H * times, S, E]."""
    batch, heads, length, width = item.shape
    wide = build.view(item, torch.ops.aten.unsqueeze.default, 2)
    wide = build.view(wide, torch.ops.aten.expand.default, [batch, heads, times, length, width])
    copied = build.emit("identity", [wide], wide.shape, wide.dtype)
    return build.view(copied, torch.ops.aten.view.default, [batch, heads * times, length, width])
