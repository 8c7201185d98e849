"""The plan of a compiled program, op by op: layout, division over the cores, span, scratchpad, launch.

Read it as a table (`str(plan)`) or as data (`plan.rows()`). The division of products is that which the cost is
reckoned with (W3-W5); that of other kernels follows W3 and W5 over the dims of what they write, or read if they reduce.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..graph import DeviceOp, Program, Value
from ..layout.default import Generation, LayoutError, default_layout
from ..stacks import Stack
from .extent import device_bytes
from .op_division import OpDivision, divided
from .residency import buffers, resident_buffers

DTYPE_OF_LANES = {64: "float16", 32: "float32", 128: "int8"}  # of a stick, for the layout of what fills it
COLUMNS = ("bundle", "op", "kernel", "module_path", "shape", "device_size", "stick", "cores", "division", "span", "in")


@dataclass(frozen=True)
class PlannedOp:
    """One step of every run.

    `op`: the aten op; `node`: of the exported graph; `kernel`: of the device, or "host", "h2d", "d2h"; `bundle`: its
    launch, -1 for what is no kernel. `shape`, `dtype`: of the result; `device_size`: its layout with the stick last, ()
    on the host; `stick_dim`: its dim along the stick, None for one value a stick. `cores` and `division`: cores in
    all and by dim ("b", "m", "n", "k" of a product, else "d0", "d1", ...); `span_bytes`: the most that one core
    addresses of one tensor; `overflowing`: the tensors beyond the limit (S29). `placement`: "LX" for a result that
    stays in the scratchpad, "HBM", or "host"; `device_bytes`: of its sticks; `defects`: ids of those it triggers.
    `note`: what the stack's divider would complain of.
    """

    node: str
    op: str
    kernel: str
    module_path: str
    source_line: str
    bundle: int
    shape: tuple[int, ...]
    dtype: str
    device_size: tuple[int, ...]
    stick_dim: int | None
    cores: int
    division: Mapping[str, int]
    span_bytes: int
    overflowing: tuple[str, ...]
    placement: str
    device_bytes: int
    defects: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class ProgramPlan:
    """All steps in order; `bundles`: how many launches."""

    stack: str
    bundles: int
    ops: tuple[PlannedOp, ...]

    def rows(self) -> list[dict[str, Any]]:
        """The steps as plain data, fit for JSON: lists, dicts, numbers and text."""
        return [{field.name: _plain(getattr(op, field.name)) for field in fields(op)} for op in self.ops]

    def of_module(self, path: str) -> tuple[PlannedOp, ...]:
        """The steps of one module of the model and of the modules inside it; "" is the whole model."""
        return tuple(op for op in self.ops if not path or f"{op.module_path}.".startswith(f"{path}."))

    def of_bundle(self, index: int) -> tuple[PlannedOp, ...]:
        """The steps of one launch."""
        return tuple(op for op in self.ops if op.bundle == index)

    def __str__(self) -> str:
        table = [COLUMNS, *(_cells(op) for op in self.ops)]
        widths = [max(len(row[column]) for row in table) for column in range(len(COLUMNS))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
        return "\n".join(line.rstrip() for line in lines)


def program_plan(program: Program, stack: Stack) -> ProgramPlan:
    """The plan of a bundled program."""
    owner, resident = buffers(program), resident_buffers(program, stack)
    ops = []
    for op in _steps(program):
        placement = "LX" if id(owner.get(id(op.output), op.output)) in resident else "HBM"
        ops.append(_planned(op, placement if op.output.on_device else "host", stack))
    return ProgramPlan(stack.name, len({op.bundle for op in ops if op.bundle >= 0}), tuple(ops))


def _steps(program: Program) -> Iterator[DeviceOp]:
    """What happens in a run: no views, and no moves of weights and constants, which are there when it starts."""
    for op in program.ops:
        moves = op.kernel != "h2d" or any(
            value.data is None and (value.source is None or value.source.kind == "input") for value in op.values()
        )
        if op.kernel != "view" and moves:
            yield op


def _planned(op: DeviceOp, placement: str, stack: Stack) -> PlannedOp:
    division = divided(op, stack) if op.is_kernel else OpDivision({}, 0, ())
    out, site = op.output, op.site
    return PlannedOp(
        node=site.node,
        op=site.op,
        kernel=op.kernel,
        module_path=site.module_path,
        source_line=site.source_line,
        bundle=op.bundle if op.is_kernel else -1,
        shape=out.shape,
        dtype=out.dtype,
        device_size=device_size(out, stack),
        stick_dim=out.layout.expression.variable if out.layout is not None else None,
        cores=division.cores if op.is_kernel else 0,
        division=division.splits,
        span_bytes=division.span_bytes,
        overflowing=division.overflowing,
        placement=placement,
        device_bytes=device_bytes(out),
        defects=op.defects,
        note=division.note,
    )


def device_size(value: Value, stack: Stack) -> tuple[int, ...]:
    """The device layout's sizes of a value, the stick last (L1-L19); () for one on the host."""
    layout = value.layout
    if layout is None:
        return ()
    dims = tuple(range(len(value.shape)))
    along = layout.expression.variable
    order = (*dims, -1) if layout.sparse else dims if along is None else (*(d for d in dims if d != along), along)
    generation: Generation = "2025-11" if stack.date.year < 2026 else "2026"
    try:
        return tuple(default_layout(value.shape, None, DTYPE_OF_LANES[layout.lanes], order, generation=generation)[0])
    except LayoutError:  # a rank that has a layout as a view only
        return ()


def _cells(op: PlannedOp) -> tuple[str, ...]:
    """The texts of COLUMNS."""
    return (
        str(op.bundle) if op.bundle >= 0 else "-",
        op.op,
        op.kernel,
        op.module_path or ".",
        "x".join(map(str, op.shape)) or "scalar",
        "x".join(map(str, op.device_size)) or "-",
        "-" if op.stick_dim is None else f"d{op.stick_dim}",
        str(op.cores) if op.cores else "-",
        " ".join(f"{name}={split}" for name, split in op.division.items() if split > 1) or "-",
        f"{_size(op.span_bytes)}{' over' if op.overflowing else ''}" if op.span_bytes else "-",
        op.placement,
    )


def _size(nbytes: int) -> str:
    """Bytes in the largest unit that leaves a number of at least one."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if nbytes >= unit:
            return f"{nbytes / unit:.1f} {name}"
    return f"{nbytes} B"


def _plain(item: Any) -> Any:
    if isinstance(item, tuple):
        return list(item)
    return dict(item) if isinstance(item, Mapping) else item
