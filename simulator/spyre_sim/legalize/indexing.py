"""Reading rows by index: on the host before August 2026, by a gather afterwards (O12)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import PREFIX
from ..graph import DeviceOp, Format, Value
from .builder import Builder, dtype_name
from .refused import Refused
from .registry import lowers


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
    if dim % len(self.shape):
        raise Refused("L34", f"not modelled by the simulator: index_select on dim {dim}", kind="not_modelled")
    return _gather(build, self, index)


@lowers("index")
def index(build: Builder, self: Value, indices: Sequence[Any]) -> Value:
    """aten.index with one 1-D integer index on the first dim; any more is not lowered (N35, O12)."""
    used = [item for item in indices if item is not None]
    if any(item.dtype in ("bool", "uint8") for item in used):
        raise Refused("R5", f"{PREFIX}boolean indexing in aten.index.Tensor")
    ranks = [len(item.shape) for item in used]
    if len(used) > 1 or ranks[0] > 1:
        raise Refused(
            "T23",
            f"{PREFIX}aten.index.Tensor with {len(used)} index tensor{'s' if len(used) > 1 else ''} of rank"
            f" {', '.join(map(str, ranks))}: only one 1-D index is gathered",
        )
    if not used[0].shape and build.profile.defect("S58"):
        return _gather(build, self, used[0], build.profile.active("S58"))
    if indices[0] is None:
        raise Refused("L34", "not modelled by the simulator: aten.index past the first dim", kind="not_modelled")
    if self.dtype == "bool" or dtype_name(build.meta.dtype) in ("int64", "int32"):
        raise Refused("N35", f"{PREFIX}aten.index.Tensor of a {self.dtype} tensor")
    return _gather(build, self, used[0])


def _gather(build: Builder, table: Value, rows: Value, defects: tuple[str, ...] = ()) -> Value:
    """Rows of dim 0. `table`: [n, ...]; `rows`: integers of any shape."""
    table, rows = build.operand(table), build.device(rows)
    shape = (*rows.shape, *table.shape[1:])
    return build.emit("gather", [table, rows], shape, table.dtype, defects=defects)
