"""Which kernels are launched together: maximal runs of ops that touch few tensors from outside (Q4)."""

from __future__ import annotations

from collections.abc import Sequence

from .graph import DeviceOp, Program
from .report import Bundle
from .stacks import Stack

HOST = frozenset({"host", "d2h", "h2d"})


def bundle(program: Program, stack: Stack) -> tuple[Bundle, ...]:
    """Number every op with its bundle and describe the bundles.

    Ops are taken in order while the distinct tensors that are no intermediates stay within the limit of the stack; a
    host call or a transfer closes the bundle. Before there was bundling (2025), every op is its own launch (O1).
    """
    limit = stack.constants.bundle_tensors_with_pool if stack.constants.hbm_pool else stack.constants.bundle_tensors
    if stack.date.isoformat() < "2026-01-01":
        limit = 0
    returned = {id(item) for item in program.outputs} | {id(value) for value, _ in program.writes}
    produced = {id(op.output) for op in program.ops if op.is_kernel or op.kernel == "view"}
    groups: list[list[DeviceOp]] = [[]]
    outside: set[int] = set()
    for op in program.ops:
        if op.kernel in HOST:
            if _is_runtime(op) and groups[-1]:
                groups.append([])
                outside = set()
            continue
        touched = {id(value) for value in op.values() if id(value) not in produced}
        touched |= {id(op.output)} & returned
        if op.is_kernel and groups[-1] and len(outside | touched) > limit:
            groups.append([])
            outside = set()
        outside |= touched
        op.bundle = len(groups) - 1
        groups[-1].append(op)
    return tuple(_described(index, group, produced) for index, group in enumerate(_launched(groups)))


def _is_runtime(op: DeviceOp) -> bool:
    """Does it happen between kernels? Weights, constants and arguments are on the device when the graph starts."""
    return op.kernel != "h2d" or not all(value.data is not None or value.source is not None for value in op.values())


def _launched(groups: Sequence[list[DeviceOp]]) -> list[list[DeviceOp]]:
    kept = [group for group in groups if any(op.is_kernel for op in group)]
    for index, group in enumerate(kept):
        for op in group:
            op.bundle = index
    return kept


def _described(index: int, group: Sequence[DeviceOp], produced: set[int]) -> Bundle:
    outside = {id(value) for op in group for value in op.values() if id(value) not in produced}
    return Bundle(index, tuple(op.kernel for op in group if op.is_kernel), len(outside))
