"""Compiler bugs of places: scratchpad addresses, extents and offsets of slices, labels of results (S-note 1).

As in `context.py`, a finder names the ops that a bug hits and says what it chose where a fact leaves it open; what
those ops then compute is in `kernels/in_context_memory.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .cost.residency import OTHER_READERS, placements
from .graph import DeviceOp, Format, Value
from .surroundings import CUTS, Surroundings, in_context

SAFE_LX_BYTES = 1_625_344  # 1587.25 KB: what lies beyond is the backend's, though the planner gives it away
REPORTED_LX_BYTES = 1_638_400  # 1600 KB: the use from which corruption was reported
COPIES = ("identity", "copy", "restickify")
PLACED_THOUGH_READ_ACROSS = OTHER_READERS - {"restickify"}  # what kept a buffer out of the scratchpad with S24


@in_context("S22")
def scratchpad_overlap(around: Surroundings) -> Iterator[DeviceOp]:
    """An intermediate whose place in a core's scratchpad runs past 1587.25 KB, in a plan of 1600 KB or more."""
    for placed in placements(around.program, around.stack):
        if placed.end >= REPORTED_LX_BYTES:
            op = around.program.ops[placed.first]
            op.attributes["cores"] = around.stack.constants.cores
            op.attributes["lost_share"] = min((placed.end - SAFE_LX_BYTES) / placed.bytes_per_core, 1.0)
            yield op


@in_context("S24")
def scratchpad_read_transposed(around: Surroundings) -> Iterator[DeviceOp]:
    """A restickify in front of a pointwise op whose source the same bundle left in the scratchpad.

    Operands of matmuls are never there (Q8), so a restickify in front of one is right.
    """
    placed = placements(around.program, around.stack, other_readers=PLACED_THOUGH_READ_ACROSS)
    resident = {place.buffer for place in placed}
    for op in around.kernels("restickify"):
        maker, _ = around.chain(op.inputs[0])
        held = maker is not None and id(maker.output) in resident and maker.bundle == op.bundle
        readers = around.readers.get(id(op.output), [])
        if held and not any("matmul" in reader.kernel or reader.kernel == "flash" for reader in readers):
            yield op


@in_context("S34")
def result_taken_for_default(around: Surroundings) -> Iterator[DeviceOp]:
    """A result with a dim of one element (one token) whose sticks do not lie along its last dim."""
    for op in around.program.ops:
        source = op.inputs[0] if op.kernel == "d2h" else None
        if not isinstance(source, Value) or id(op.output) not in around.returned or op.output.numel < 2:
            continue
        layout = source.layout
        if layout is None:
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
            whole, part = before.layout, value.layout
            starts_together = whole is not None and part is not None and whole.offset == part.offset
            return before if same and starts_together and before.shape[axis] > value.shape[axis] else None
        value = before
    return None


@in_context("S65")
def narrowed_operand(around: Surroundings) -> Iterator[DeviceOp]:
    """A batched matmul over a part of the sequence that does not start at its beginning: the offset is ignored.

    A copy on the way copies the same wrong words. Other offsets, as of parts of a fused projection, are kept (T63).
    """
    for op in around.kernels("batchmatmul", *COPIES):
        narrowed = [position for position, value in enumerate(op.inputs) if _is_later_part(around, value)]
        if narrowed and (op.kernel not in COPIES or _feeds_a_product(around, op.output)):
            op.attributes["narrowed"] = tuple(narrowed)
            yield op


def _feeds_a_product(around: Surroundings, value: Value) -> bool:
    """Does a matmul read the value, a view of it or a copy?"""
    return any(
        op.kernel == "batchmatmul" or (op.kernel in ("view", *COPIES) and _feeds_a_product(around, op.output))
        for op in around.readers.get(id(value), [])
    )


def _is_later_part(around: Surroundings, value: Value) -> bool:
    """Is it cut with an offset along a dim, not the one along the stick, that is one of its matrices'?"""
    if value.layout is None or len(value.shape) < 3:
        return False
    of_matrices = value.layout.stride[-2:]
    return any(stride in of_matrices for stride in _cut_strides(around.chain(value)[1]))


def _cut_strides(views: list[DeviceOp]) -> Iterator[int]:
    """The strides of the dims that views cut with an offset, those along the stick left out."""
    for view in views:
        before, after = view.inputs[0].layout, view.output.layout
        if before is None or after is None or not str(view.attributes["target"]).startswith(CUTS):
            continue
        shorter = (
            stride
            for whole, part, stride in zip(before.size, after.size, before.stride, strict=True)
            if part < whole and stride != before.step
        )
        if after.offset > before.offset:
            yield from shorter


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
    """rms_norm of a transposed 4-D view, as an op or spelled out (A25): what reads the view takes it for [B, H, S, D].

    With or without company.
    """
    for square in around.kernels("mul"):
        value = square.inputs[0]
        if value is not square.inputs[1] or not _is_transposed_in_memory(value):
            continue
        scale = _scale_of_a_norm(around, square)
        for op in (square, *around.readers[id(value)]) if scale is not None else ():
            if op is square or (op.kernel == "mul" and scale in op.inputs):
                op.attributes["views"] = tuple(i for i, item in enumerate(op.inputs) if item is value)
                yield op


def _is_transposed_in_memory(value: Any) -> bool:
    layout = value.layout if isinstance(value, Value) else None
    if layout is None or len(value.shape) != 4:
        return False
    return min(value.shape[1:3]) > 1 and layout.stride[1] < layout.stride[2]


def _scale_of_a_norm(around: Surroundings, square: DeviceOp) -> Value | None:
    """rsqrt(mean(x * x) + eps) of this x * x, if that is what becomes of it."""
    value = square.output
    for name in ("mean", "add", "rsqrt"):
        reader = next((op for op in around.readers.get(id(value), []) if op.kernel == name), None)
        if reader is None:
            return None
        value = reader.output
    return value


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
    """a * cos + b * sin, or the sum of such products over a dim of two (T2)."""
    maker, _ = around.chain(value)
    if maker is None or maker.bundle != op.bundle:
        return False
    pairs = maker.kernel == "sum" and maker.inputs[0].shape[maker.attributes["dims"][0]] == 2
    if maker.kernel != "add" and not pairs:
        return False
    parts = [around.chain(item)[0] for item in maker.inputs]
    return all(part is not None and part.kernel == "mul" and part.bundle == op.bundle for part in parts)
