"""What a lowering builds with: operands that are checked, kernels that are emitted, results with a layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..errors import PREFIX
from ..graph import Arrangement, DeviceOp, Format, Program, Site, Value
from ..layout.view import StickView
from ..report import Fallback
from .profile import Profile
from .refused import Refused

FORMATS = {
    "float16": Format.DL16,
    "bfloat16": Format.DL16,
    "bool": Format.DL16,
    "float32": Format.FP32,
    "int64": Format.INT32,
    "int32": Format.INT32,
    "int16": Format.INT32,
    "int8": Format.INT32,
    "uint8": Format.INT32,
}

# The kernels that take float32 (A8). The kernel of torch.where is called where3 and is not among them. sin and cos are
# polynomials in float32 where the stack has them at all (A17); before that they run on the host.
FP32_KERNELS = frozenset(
    "add sub mul where realdiv relufwd reciprocal mean sum max min layernormscale abs neg exp sigmoid exx2"
    " layernormnorm identity sqrt rsqrt topkvalue topkindex floor to_dtype maximum minimum"
    " dl16tofp32 fp32todl16 sin cos".split()
)
INT_KERNELS = frozenset({"add", "sub", "mul", "maximum", "minimum", "identity"})  # through float32 (N36)


def format_of(dtype: str) -> Format:
    """The device format of a torch dtype (N30); raises Refused for one without a mapping."""
    if dtype not in FORMATS:
        raise Refused("N30", f"Unsupported CPU tensor dtype for DMA transfer: {dtype}")
    return FORMATS[dtype]


def dtype_name(dtype: Any) -> str:
    """ "float16" for torch.float16."""
    return str(dtype).removeprefix("torch.")


class Builder:
    """Collects the ops of one program. `site` is the place in the model that is being lowered."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.program = Program([], {}, [], [])
        self.site = Site("", "")
        self.meta: Any = None  # the fake result of the op that is being lowered
        self.noted: list[Refused] = []  # refusals after which the lowering could go on
        self.fallbacks: list[tuple[Fallback, tuple[Value, ...]]] = []
        self._uploaded: dict[int, Value] = {}
        self._downloaded: dict[int, Value] = {}

    def note(self, refused: Refused) -> None:
        """Record a refusal after which the lowering can look for more; one per fact and site."""
        if all(refused.fact != other.fact for other in self.noted):
            self.noted.append(refused)

    def producer(self, value: Value) -> DeviceOp | None:
        """The op that gives `value`, or None for what comes from outside."""
        return next((op for op in reversed(self.program.ops) if op.output is value), None)

    def mark(self, defect: str) -> None:
        """Add a defect to the op emitted last, if the stack has it."""
        self.program.ops[-1].defects += self.profile.active(defect)

    # -- placing values -----------------------------------------------------------------------------------------

    def device(self, value: Value) -> Value:
        """`value` on the device: itself, or the result of a transfer (D3), made once."""
        if value.on_device:
            return value
        if value.numel == 0:
            text = "copy_host_to_device of a zero-length tensor: segmentation fault"
            raise Refused("R5", text, kind="undefined", nominal=value.nominal)
        if id(value) not in self._uploaded:
            fmt = format_of(value.dtype)
            layout = StickView.dense(value.shape, self.lanes(fmt))
            self._check_rank(layout)
            moved = Value(value.shape, value.dtype, fmt, layout, nominal=value.nominal, name=value.name)
            moved.from_outside = value.source is not None
            moved.source = value.source
            self.program.ops.append(DeviceOp("h2d", (value,), moved, self.site))
            self._uploaded[id(value)] = moved
        return self._uploaded[id(value)]

    def _check_rank(self, layout: StickView) -> None:
        """A layout has six dims at most, and a sparse one needs one of them for its empty lanes (3.2)."""
        rank = len(layout.size) + layout.sparse
        if rank > self.profile.stack.constants.max_rank:
            raise Refused("L10", f"Unsupported tensor rank: {rank}")

    def host(self, value: Value) -> Value:
        """`value` on the host, re-quantised by the transfer (Q5)."""
        if not value.on_device:
            return value
        if id(value) not in self._downloaded:
            moved = Value(value.shape, value.dtype, Format.HOST, name=value.name)
            self.program.ops.append(DeviceOp("d2h", (value,), moved, self.site))
            self._downloaded[id(value)] = moved
        return self._downloaded[id(value)]

    def lanes(self, fmt: Format) -> int:
        return self.profile.lanes if fmt is Format.DL16 else self.profile.lanes // 2

    # -- checking operands --------------------------------------------------------------------------------------

    def operand(self, value: Any, position: int = 0, *, fixed: bool = False) -> Any:
        """`value` as an operand of a kernel: on the device and in sticks that the stack can express.

        `fixed`: the kernel takes one layout only (matmul, exx2, layernormnorm): no offset along the stick at all.
        """
        if not isinstance(value, Value):
            return value
        value = self.device(value)
        assert value.layout is not None
        sticks = value.layout.expression
        if not sticks.supported:
            raise Refused("E10", unexpected_stick(sticks.text, value.layout.lanes), nominal=value.nominal)
        if not sticks.aligned:
            coordinates = [f"d{dim}" for dim in range(len(value.shape))]
            raise Refused(
                "O14",
                f"{PREFIX}No supported layout found for stick expression {sticks.text}. Cannot find alternative"
                f" layout with size={list(value.shape)} and coordinates={coordinates}",
                nominal=value.nominal,
            )
        if fixed and sticks.moves and sticks.start:
            raise Refused(
                "E3",
                f"{PREFIX}{self.site.op.removeprefix('aten.')}: input arg{position} has stick expression with offset"
                f" {sticks.from_start} (likely from slicing the stick dimension); this op requires a fixed input"
                " layout and double-restickify is not yet supported",
                nominal=value.nominal,
            )
        return value

    def check_formats(self, kernel: str, values: Sequence[Any]) -> None:
        """The gates on formats (A8, N36) and on element arrangements (N46)."""
        tensors = [value for value in values if isinstance(value, Value)]
        for value in tensors:
            gate = {Format.FP32: FP32_KERNELS, Format.INT32: INT_KERNELS}.get(value.format)
            if gate is not None and kernel not in gate:
                fact = "A8" if value.format is Format.FP32 else "N36"
                raise Refused(fact, f"{PREFIX}{kernel} on DataFormats.{value.format.value}", nominal=value.nominal)
        spread = [value for value in tensors if value.layout is not None and value.layout.spread]
        if len({value.arrangement for value in spread}) > 1:
            shown = ", ".join(value.arrangement.value for value in spread)
            raise Refused("N46", f"All inputs to an op must have same element arrangement, op: {kernel}, args: {shown}")

    # -- emitting -----------------------------------------------------------------------------------------------

    def emit(
        self,
        kernel: str,
        inputs: Sequence[Any],
        shape: Sequence[int],
        dtype: str,
        layout: StickView | None = None,
        *,
        defects: tuple[str, ...] = (),
        arrangement: Arrangement = Arrangement.STANDARD,
        **attributes: Any,
    ) -> Value:
        """Append one kernel; the result is contiguous with the stick on its last dim unless `layout` says otherwise."""
        fmt = format_of(dtype)
        view = layout if layout is not None else StickView.dense(tuple(shape), self.lanes(fmt))
        self._check_rank(view)
        out = Value(tuple(shape), dtype, fmt, view, arrangement, name=self.site.node)
        self.program.ops.append(DeviceOp(kernel, tuple(inputs), out, self.site, attributes, defects))
        return out

    def view(self, value: Value, target: Any, *args: Any) -> Value:
        """The result of an aten view op on `value`, without moving data. Raises Refused where data must move."""
        moved = self.try_view(value, target, *args)
        if moved is None:
            raise Refused("L46", f"{self.site.op} of these strides is not a view", kind="misuse")
        return moved

    def try_view(self, value: Value, target: Any, *args: Any) -> Value | None:
        """As `view`; None where the result is not a view of the buffer."""
        shadow = shadow_of(value)
        try:
            result = target(shadow, *args)
        except RuntimeError:
            return None
        if result.untyped_storage()._cdata != shadow.untyped_storage()._cdata:
            return None
        return self.view_as(value, result, target, args)

    def view_as(self, value: Value, shadow: torch.Tensor, target: Any, args: Sequence[Any], pick: int = -1) -> Value:
        """Append the view op whose result on the shadow is known; `pick` selects one of several results."""
        layout = _moved(value.layout, shadow)
        out = Value(sizes(shadow), value.dtype, value.format, layout, value.arrangement, name=self.site.node)
        out.nominal = value.nominal
        attributes = {"target": target, "args": tuple(args), "pick": pick}
        self.program.ops.append(DeviceOp("view", (value,), out, self.site, attributes))
        return out

    def fallback(self, moved: Sequence[Value], results: Sequence[Value]) -> None:
        """Note that this site runs on the CPU, what moves because of it and what comes of it."""
        moved = [*moved, *results]
        count = sum(value.numel * getattr(torch, value.dtype).itemsize for value in moved)
        site = self.site
        found = Fallback(site.op, site.module_path, site.source_line, count)
        self.fallbacks.append((found, tuple(results)))

    def on_host(self, target: Any, arguments: dict[str, Any], metas: Any, *, through_device: bool) -> Any:
        """Run an aten op on the CPU, in torch's own arithmetic.

        `through_device`: its tensors live on the device and come down first (a fallback); else they are taken from
        where they are. `metas`: the fake result or a list of them.
        """

        def place(item: Any) -> Any:
            if isinstance(item, Value):
                return self.host(self.device(item) if through_device and _crosses(item) else item)
            if isinstance(item, (list, tuple)):
                return [place(part) for part in item]
            return item

        placed = {name: place(item) for name, item in arguments.items()}
        many = isinstance(metas, (list, tuple))
        outs = [
            Value(sizes(meta), dtype_name(meta.dtype), Format.HOST, name=self.site.node)
            for meta in (metas if many else [metas])
        ]
        names = tuple(placed)
        for pick, out in enumerate(outs):
            attributes = {"target": target, "names": names, "pick": pick if many else -1}
            self.program.ops.append(DeviceOp("host", tuple(placed.values()), out, self.site, attributes))
        return outs if many else outs[0]


def sizes(meta: Any) -> tuple[int, ...]:
    """The sizes of a fake tensor as numbers. Raises Refused where they depend on data."""
    try:
        return tuple(int(size) for size in meta.shape)
    except RuntimeError as error:  # GuardOnDataDependentSymNode is one
        text = f"not modelled by the simulator: a shape that depends on data ({type(error).__name__})"
        raise Refused("", text, kind="not_modelled") from None


def unexpected_stick(expression: str, lanes: int) -> str:
    """E10, as the stack words it."""
    return (
        f"{PREFIX}Unexpected stick expression {expression}: expected Mod(var, {lanes}), a bare variable, 0, or any of"
        " those with a constant offset"
    )


def shadow_of(value: Value) -> torch.Tensor:
    """A tensor without data that has the value's sizes, strides and offset: torch's own view rules run on it."""
    base = torch.empty(0, device="meta", dtype=getattr(torch, value.dtype))
    view = value.layout
    if view is None:
        return torch.empty(value.shape, device="meta", dtype=getattr(torch, value.dtype))
    return base.as_strided(view.size, view.stride, view.offset)


def _moved(layout: StickView | None, shadow: torch.Tensor) -> StickView | None:
    if layout is None:
        return None
    return StickView(
        sizes(shadow),
        tuple(int(step) for step in shadow.stride()),
        int(shadow.storage_offset()),
        layout.extent,
        layout.step,
        layout.lanes,
        layout.sparse,
    )


def _crosses(value: Value) -> bool:
    """Does a trip to the device change it? Integers within 32 bits come back as they went."""
    return value.data is None and value.dtype not in ("int64", "int32", "bool")
