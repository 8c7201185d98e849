"""Which intermediates stay in the scratchpad, so that reading and writing them costs nothing (facts W12, Q8, Q9).

Only results of a few ops may, if every reader is a pointwise op or a reduction: a matmul divides its operands in
another way, and a restickify reads them in another order. Each core holds its part of a buffer from the op that
writes it to the last that reads it, and buffers are placed greedily, in program order, while they fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..graph import DeviceOp, Program, Value
from ..stacks import Stack
from .extent import device_bytes

PRODUCERS = frozenset({"max", "amax", "sum", "exp", "sub", "mul", "mean", "add", "rsqrt"})  # Q8
OTHER_READERS = frozenset({"batchmatmul", "batchmatmulfp8", "flash", "restickify", "gather"})


@dataclass(frozen=True)
class _Life:
    buffer: int
    first: int
    last: int
    bytes_per_core: int


def resident_buffers(program: Program, stack: Stack) -> frozenset[int]:
    """The ids of the buffers (see `buffers`) that are in the scratchpad; none before there was planning (#2459)."""
    if not stack.constants.lx_planning:
        return frozenset()
    placed: list[_Life] = []
    for life in _lives(program, stack.constants.cores):
        together = [other for other in placed if other.first <= life.last and life.first <= other.last]
        if sum(other.bytes_per_core for other in together) + life.bytes_per_core <= stack.constants.lx_frontend_bytes:
            placed.append(life)
    return frozenset(life.buffer for life in placed)


def buffers(program: Program) -> dict[int, Value]:
    """By the id of each value the value whose buffer it looks at: itself, or what a view was made of."""
    found: dict[int, Value] = {}
    for op in program.ops:
        source = next(op.values(), None) if op.kernel == "view" else None
        found[id(op.output)] = op.output if source is None else found.get(id(source), source)
    return found


def _lives(program: Program, cores: int) -> list[_Life]:
    owner = buffers(program)
    kept = {id(_owner(owner, item)) for item in program.outputs if isinstance(item, Value)}
    kept |= {id(_owner(owner, value)) for value, _ in program.writes}
    readers = _readers(program.ops, owner)
    lives = []
    for position, op in enumerate(program.ops):
        reads = readers.get(id(op.output), [])
        if op.kernel not in PRODUCERS or id(op.output) in kept or not reads:
            continue
        if all(program.ops[read].is_kernel and program.ops[read].kernel not in OTHER_READERS for read in reads):
            lives.append(_Life(id(op.output), position, max(reads), -(-device_bytes(op.output) // cores)))
    return lives


def _readers(ops: Sequence[DeviceOp], owner: Mapping[int, Value]) -> dict[int, list[int]]:
    readers: dict[int, list[int]] = {}
    for position, op in enumerate(ops):
        if op.kernel != "view":
            for value in op.values():
                readers.setdefault(id(_owner(owner, value)), []).append(position)
    return readers


def _owner(owner: Mapping[int, Value], value: Value) -> Value:
    return owner.get(id(value), value)
