"""Dead code elimination, which the stack does first of all (fact Q2)."""

from __future__ import annotations

from ..graph import Program, Value


def without_dead_ops(program: Program) -> set[int]:
    """Drop what nobody reads; the ids of the values that are left."""
    wanted = [*program.outputs, *(value for value, _ in program.writes)]
    live = {id(item) for item in wanted if isinstance(item, Value)}
    kept = []
    for op in reversed(program.ops):
        if op.kernel == "refuse" or id(op.output) in live:
            live.update(id(value) for value in op.values())
            kept.append(op)
    program.ops = kept[::-1]
    return live
