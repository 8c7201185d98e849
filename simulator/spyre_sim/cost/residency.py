"""Which intermediates stay in the scratchpad, so that reading and writing them costs nothing (facts W12, Q8, Q9).

Only results of a few ops may, if every reader is a pointwise op or a reduction: a matmul divides its operands in
another way, and a restickify reads them in another order. Each core holds its part of a buffer from the op that
writes it to the last that reads it, and buffers are placed greedily, in program order, while they fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..graph import DeviceOp, Program, Value
from ..stacks import Stack
from .extent import device_bytes

PRODUCERS = frozenset({"max", "sum", "exp", "sub", "mul", "mean", "add", "rsqrt"})  # Q8
OTHER_READERS = frozenset({"batchmatmul", "batchmatmulfp8", "flash", "restickify", "gather"})


@dataclass(frozen=True)
class Placement:
    """A buffer in the scratchpad of every core, from the op that writes it to the last that reads it.

    `buffer`: its id (see `buffers`); `first`, `last`: positions in the program; `below`: bytes a core of what lies
    there at the same time and was placed before it.
    """

    buffer: int
    first: int
    last: int
    bytes_per_core: int
    below: int = 0

    @property
    def end(self) -> int:
        """Bytes of a core's scratchpad that are in use with it."""
        return self.below + self.bytes_per_core


def placements(
    program: Program, stack: Stack, *, other_readers: frozenset[str] = OTHER_READERS
) -> tuple[Placement, ...]:
    """What is placed in the scratchpad, in program order; nothing before there was planning (#2459).

    `other_readers`: the kernels that keep what they read out of it.
    """
    if not stack.constants.lx_planning:
        return ()
    placed: list[Placement] = []
    for life in _lives(program, stack.constants.cores, other_readers):
        together = [other for other in placed if other.first <= life.last and life.first <= other.last]
        found = replace(life, below=sum(other.bytes_per_core for other in together))
        if found.end <= stack.constants.lx_frontend_bytes:
            placed.append(found)
    return tuple(placed)


def resident_buffers(program: Program, stack: Stack) -> frozenset[int]:
    """The ids of the buffers that are in the scratchpad."""
    return frozenset(placed.buffer for placed in placements(program, stack))


def buffers(program: Program) -> dict[int, Value]:
    """By the id of each value the value whose buffer it looks at: itself, or what a view was made of."""
    found: dict[int, Value] = {}
    for op in program.ops:
        source = next(op.values(), None) if op.kernel == "view" else None
        found[id(op.output)] = op.output if source is None else found.get(id(source), source)
    return found


def _lives(program: Program, cores: int, other_readers: frozenset[str]) -> list[Placement]:
    owner = buffers(program)
    kept = {id(_owner(owner, item)) for item in program.outputs if isinstance(item, Value)}
    kept |= {id(_owner(owner, value)) for value, _ in program.writes}
    readers = _readers(program.ops, owner)
    lives = []
    for position, op in enumerate(program.ops):
        reads = readers.get(id(op.output), [])
        if op.kernel not in PRODUCERS or id(op.output) in kept or not reads:
            continue
        if all(program.ops[read].is_kernel and program.ops[read].kernel not in other_readers for read in reads):
            lives.append(Placement(id(op.output), position, max(reads), -(-device_bytes(op.output) // cores)))
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
