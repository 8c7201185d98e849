"""Rows by index, read and written: on the host before August 2026, by gather and scatter afterwards (O12, O13)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..errors import PREFIX
from ..graph import DeviceOp, Format, Value
from .builder import Builder, dtype_name
from .movement import seen_as
from .pointwise import pointwise
from .refused import Refused
from .registry import lowers

aten = torch.ops.aten


def rows_on_host(build: Builder, target: Any, arguments: dict[str, Any], meta: Any) -> Value:
    """Look rows of a table up on the CPU.

    The stack brings the whole table down for it. Only the rows that are read are re-quantised here, which gives the
    same numbers: the way to the device and back works on each element by itself.
    """
    rows = build.on_host(target, arguments, meta, through_device=False)
    down = Value(rows.shape, rows.dtype, Format.HOST, name=build.site.node)
    up = build.device(rows)
    build.program.ops.append(DeviceOp("d2h", (up,), down, build.site))
    return down


@lowers("embedding")
def embedding(build: Builder, weight: Value, indices: Value, padding_idx: int = -1, **rest: Any) -> Value:
    return _gather(build, weight, indices)


@lowers("index_select")
def index_select(build: Builder, self: Value, dim: int, index: Value) -> Value:
    return _gather_along(build, self, dim % max(len(self.shape), 1), index)


@lowers("select")
def select(build: Builder, self: Value, dim: int, index: Any) -> Value:
    """A view; with a 0-d tensor for an index a gather of one row, which goes wrong (S58, L35)."""
    if not isinstance(index, Value):
        return seen_as(build, self, aten.select.int, dim, index)
    if dim % len(self.shape) or not build.profile.defect("S58"):
        raise Refused("L35", f"{PREFIX}a 0-dim index on dim {dim}")
    return _gather(build, self, index, build.profile.active("S58"))


@lowers("index")
def index(build: Builder, self: Value, indices: Sequence[Any]) -> Value:
    """aten.index with one 1-D integer index on the first dim; any more is not lowered (N35, O12)."""
    used = [item for item in indices if item is not None]
    if any(item.dtype in ("bool", "uint8") for item in used):
        raise Refused("R5", f"{PREFIX}boolean indexing in aten.index.Tensor")
    _check_index_dtype(used)
    ranks = [len(item.shape) for item in used]
    if len(used) > 1 or ranks[0] > 1:
        raise Refused(
            "T23",
            f"{PREFIX}aten.index.Tensor with {len(used)} index tensor{'s' if len(used) > 1 else ''} of rank"
            f" {', '.join(map(str, ranks))}: only one 1-D index is gathered",
        )
    if not used[0].shape and build.profile.defect("S58"):
        return _gather(build, self, used[0], build.profile.active("S58"))
    if self.dtype == "bool" or dtype_name(build.meta.dtype) in ("int64", "int32"):
        raise Refused("N35", f"{PREFIX}aten.index.Tensor of a {self.dtype} tensor")
    return _gather_along(build, self, [item is not None for item in indices].index(True), used[0])


def _gather_along(build: Builder, table: Value, dim: int, rows: Value) -> Value:
    """Rows along any dim: a copy brings that dim to the front, where a gather can read it, and a view back (L34)."""
    if dim == 0 or not rows.shape:
        return _gather(build, table, rows)
    table = build.operand(table)
    order = [dim, *(other for other in range(len(table.shape)) if other != dim)]
    turned = build.view(table, aten.permute.default, order)
    lanes = build.lanes(table.format)
    if dim == len(table.shape) - 1 and turned.shape[-1] % lanes:
        raise Refused(
            "E4",
            f"{PREFIX}No supported layout found for stick expression d{dim}. Cannot find alternative layout with"
            f" size={list(table.shape)} and coordinates={[f'd{other}' for other in order]}",
        )
    kernel = "restickify" if dim == len(table.shape) - 1 else "identity"
    found = _gather(build, build.emit(kernel, [turned], turned.shape, turned.dtype), rows)
    return build.view(found, aten.permute.default, [order.index(other) for other in range(len(order))])


def _gather(build: Builder, table: Value, rows: Value, defects: tuple[str, ...] = ()) -> Value:
    """Rows of dim 0. `table`: [n, ...]; `rows`: integers of any shape."""
    if len(table.shape) < 2:
        raise Refused("O12", f"{PREFIX}a gather from a source of rank 1 (#4360): a lane is not addressable")
    _check_index_dtype([rows])
    table, rows = build.operand(table), build.device(rows)
    shape = (*rows.shape, *table.shape[1:])
    return build.emit("gather", [table, rows], shape, table.dtype, defects=defects)


def _check_index_dtype(indices: Sequence[Value]) -> None:
    """The indices of an early topk are float16, which nothing takes for an index (S53)."""
    for item in indices:
        if item.dtype.startswith(("float", "bfloat")):
            raise Refused("O9", f"indices must be int64, byte or bool. Got [torch.{item.dtype}]", nominal=item.nominal)


@lowers("gather")
def torch_gather(build: Builder, self: Value, dim: int, index: Value, sparse_grad: bool = False) -> Value:
    """torch.gather aborts the compiler: published is the first dim with fewer columns of indices (O12)."""
    narrow = dim % len(self.shape) == 0 and index.shape[1:] != self.shape[1:]
    if narrow:
        raise Refused("O12", "DtException: fmod(dsDim,size)==0 (GatherIndexConversion.cpp:119)")
    raise Refused("O12", f"{PREFIX}aten.gather along dim {dim}: a lane within a stick is not addressable")


@lowers("index_copy")
def index_copy(build: Builder, self: Value, dim: int, index: Value, source: Value) -> Value:
    """Rows written at an index, in a layout that allows it (O13)."""
    target, rows = build.operand(self, 0), build.operand(source, 2)
    axis = dim % len(target.shape)
    if axis == len(target.shape) - 1:
        raise Refused("L34", f"{PREFIX}index_copy on the stick dim")
    inputs = [target, build.device(index), rows]
    return build.emit("index_copy", inputs, target.shape, target.dtype, dim=axis)


@lowers("index_add")
def index_add(build: Builder, self: Value, dim: int, index: Value, source: Value, alpha: Any = 1) -> Value:
    """Rows read, added to and written back: right for distinct indices, and of repeated ones the last wins (O13)."""
    if dim % len(self.shape) or len(self.shape) < 2:
        raise Refused("L34", f"{PREFIX}index_add on dim {dim}: the indexed dim must be at device position 0")
    if alpha != 1:
        source = pointwise(build, "mul", [source, float(alpha)])
    sums = pointwise(build, "add", [_gather(build, self, index), source])
    return index_copy(build, self, 0, index, sums)


@lowers("index_put")
def index_put(build: Builder, self: Value, indices: Sequence[Any], values: Value, accumulate: bool = False) -> Value:
    """One 1-D integer index on the first dim: a scatter of rows, which accumulates no repeated index (O13, S60)."""
    used = [item for item in indices if item is not None]
    if any(item.dtype in ("bool", "uint8") for item in used):
        raise Refused("R5", f"{PREFIX}boolean indexing in aten.index_put")
    if len(used) != 1 or indices[0] is None or len(used[0].shape) != 1 or len(self.shape) < 2:
        raise Refused("L34", f"{PREFIX}aten.index_put: only one 1-D index at device position 0 is scattered")
    rows = seen_as(build, values, aten.expand.default, [*used[0].shape, *self.shape[1:]])
    return (index_add if accumulate else index_copy)(build, self, 0, used[0], rows)


@lowers("masked_scatter")
def masked_scatter(build: Builder, self: Value, mask: Value, source: Value) -> Value:
    """Rows only: an element-level mask would gather lanes (E20)."""
    limit = build.profile.limit("masked_scatter", "mask-selects-rows")
    if limit is not None and mask.shape and mask.shape[-1] != 1:
        ranks = {"self_rank": len(self.shape), "mask_rank": len(mask.shape), "source_rank": len(source.shape)}
        raise Refused("E20", f"{PREFIX}{limit.text.format(**ranks)}")
    raise Refused("", "not modelled by the simulator: masked_scatter of rows", kind="not_modelled")
