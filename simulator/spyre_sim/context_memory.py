"""Compiler bugs of places: scratchpad addresses, extents and offsets of slices, labels of results (S-note 1).

As in `context.py`, a finder names the ops that a bug hits and says what it chose where a fact leaves it open; what
those ops then compute is in `kernels/in_context_memory.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .context import SCRATCHPAD_PRODUCERS, Surroundings, in_context
from .cost.extent import device_bytes
from .cost.residency import OTHER_READERS
from .graph import DeviceOp, Format, Value

SAFE_LX_BYTES = 1_625_344  # 1587.25 KB: what lies beyond is the backend's, though the planner gives it away
REPORTED_LX_BYTES = 1_638_400  # 1600 KB: the use from which corruption was reported


@in_context("S22")
def scratchpad_overlap(around: Surroundings) -> Iterator[DeviceOp]:
    """An intermediate whose place in a core's scratchpad runs past 1587.25 KB, in a plan of 1600 KB or more."""
    cores = int(around.stack.constants.cores)
    limit = int(around.stack.constants.lx_frontend_bytes)
    order = {id(op): position for position, op in enumerate(around.program.ops)}
    placed: list[tuple[int, int]] = []  # last use, bytes a core
    for op in around.kernels(*SCRATCHPAD_PRODUCERS):
        readers = around.readers.get(id(op.output), [])
        inside = bool(readers) and all(reader.is_kernel and reader.kernel not in OTHER_READERS for reader in readers)
        if not inside or not around.is_intermediate(op.output):
            continue
        below = sum(size for last, size in placed if last >= order[id(op)])
        own = -(-device_bytes(op.output) // cores)
        if below + own > limit:
            continue  # it does not fit and stays outside
        placed.append((max(order[id(reader)] for reader in readers), own))
        if below + own >= REPORTED_LX_BYTES:
            op.attributes["lost_share"] = min((below + own - SAFE_LX_BYTES) / own, 1.0)
            yield op


@in_context("S24")
def scratchpad_read_transposed(around: Surroundings) -> Iterator[DeviceOp]:
    """A restickify in front of a pointwise op whose source the same bundle left in the scratchpad.

    Operands of matmuls are never there (Q8), so a restickify in front of one is right.
    """
    for op in around.kernels("restickify"):
        maker, _ = around.chain(op.inputs[0])
        held = maker is not None and maker.kernel in SCRATCHPAD_PRODUCERS and maker.bundle == op.bundle
        readers = around.readers.get(id(op.output), [])
        if held and not any("matmul" in reader.kernel or reader.kernel == "flash" for reader in readers):
            yield op


@in_context("S34")
def result_taken_for_default(around: Surroundings) -> Iterator[DeviceOp]:
    """A result with a dim of one element (one token) whose sticks do not lie along its last dim."""
    for op in around.program.ops:
        source = op.inputs[0] if op.kernel == "d2h" else None
        layout = source.layout if isinstance(source, Value) else None
        if layout is None or id(op.output) not in around.returned or op.output.numel < 2:
            continue
        plain = source.format is Format.DL16 and not layout.sparse and layout.expression.supported
        stick = layout.stick_dim if plain else None
        if stick is not None and stick != len(source.shape) - 1 and 1 in source.shape:
            op.attributes["stick"] = stick
            yield op


@in_context("S42")
def extent_of_an_earlier_write(around: Surroundings) -> Iterator[DeviceOp]:
    """dst[a:b] = src[:n] after such a write of another n: the size of all of src is written.

    Published for a second call; here the earlier write is one of the same graph.
    """
    lengths: dict[tuple[int, int], set[int]] = {}
    for op in around.kernels("slice_scatter"):
        axis, start, _, step = op.attributes["args"]
        base = _prefix_of(around, op.inputs[1], axis)
        if base is None or step != 1:
            continue
        length, seen = op.inputs[1].shape[axis], lengths.setdefault((id(base), axis), set())
        if seen - {length}:
            first = int(start or 0)
            written = min(base.shape[axis], op.output.shape[axis] - first)
            op.attributes["args"] = (axis, first, first + written, 1)
            op.inputs = (op.inputs[0], base)
            yield op
        seen.add(length)


def _prefix_of(around: Surroundings, source: Value, axis: int) -> Value | None:
    """The longer tensor of which `source` is the first part along `axis`, seen through views that change no size."""
    value = source
    while (maker := around.makers.get(id(value))) is not None and maker.kernel == "view":
        before = maker.inputs[0]
        if before.shape != value.shape:
            rest = [dim for dim in range(len(value.shape)) if dim != axis]
            same = len(before.shape) == len(value.shape) and all(before.shape[d] == value.shape[d] for d in rest)
            starts_together = before.layout is not None and before.layout.offset == value.layout.offset
            return before if same and starts_together and before.shape[axis] > value.shape[axis] else None
        value = before
    return None


@in_context("S65")
def narrowed_operand(around: Surroundings) -> Iterator[DeviceOp]:
    """A matmul over a view that starts inside its buffer: the offset is ignored."""
    for op in around.kernels("batchmatmul"):
        narrowed = [position for position, value in enumerate(op.inputs) if _starts_inside(value)]
        if narrowed:
            op.attributes["narrowed"] = tuple(narrowed)
            yield op


def _starts_inside(value: Any) -> bool:
    layout = value.layout if isinstance(value, Value) else None
    return layout is not None and layout.offset > 0


@in_context("S66")
def write_without_offset(around: Surroundings) -> Iterator[DeviceOp]:
    """A write to a slice of the sequence, the last dim but one: it lands at the start."""
    for op in around.kernels("slice_scatter"):
        axis, start, end, step = op.attributes["args"]
        first = int(start or 0)
        if axis == len(op.output.shape) - 2 and first > 0 and step == 1:
            op.attributes["args"] = (axis, 0, op.inputs[1].shape[axis], 1)
            yield op


@in_context("S12")
def norm_of_a_view(around: Surroundings) -> Iterator[DeviceOp]:
    """rms_norm of a transposed 4-D view: its kernels read [B, S, H, D] for [B, H, S, D], with or without company."""
    for op in around.kernels("mul"):
        value = op.inputs[0]
        if op.site.op != "aten.rms_norm" or not isinstance(value, Value) or value.layout is None:
            continue
        sizes, strides = value.shape, value.layout.stride
        if len(sizes) == 4 and min(sizes[1:3]) > 1 and strides[1] < strides[2]:
            op.attributes["views"] = tuple(i for i, item in enumerate(op.inputs) if item is value)
            yield op


@in_context("S7")
def rotated_into_attention(around: Surroundings) -> Iterator[DeviceOp]:
    """q and k of a fused attention are the sums of a rotation in the same bundle, a * cos + b * sin.

    "The lowering choice overflows": here the scale comes after the product of q and k, whose scores are then held in
    float16's range. Scores that stay in it are right.
    """
    for op in around.kernels("flash"):
        if all(_is_rotation(around, op, value) for value in op.inputs[:2]):
            yield op


def _is_rotation(around: Surroundings, op: DeviceOp, value: Value) -> bool:
    maker, _ = around.chain(value)
    if maker is None or maker.kernel != "add" or maker.bundle != op.bundle:
        return False
    parts = [around.chain(item)[0] for item in maker.inputs]
    return all(part is not None and part.kernel == "mul" and part.bundle == op.bundle for part in parts)


@in_context("S61")
def infinities_added(around: Surroundings) -> Iterator[DeviceOp]:
    """Two tensors of bfloat16 added, such as masks: infinity and not-a-number are one word without a sign (N2)."""
    for op in around.kernels("add"):
        if op.output.dtype == "bfloat16" and all(isinstance(item, Value) for item in op.inputs):
            yield op
