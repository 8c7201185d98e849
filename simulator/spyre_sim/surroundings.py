"""What stands around an op: who makes a value, who reads it, where it lies. And the register of what asks for that.

A compiler bug that shows only in company (S-note 2) has a finder, which names the ops that the bug hits. Finders are in
`context.py`, `context_memory.py` and `context_values.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import torch

from .cost.residency import resident_buffers
from .graph import DeviceOp, Program
from .ranges import Ranges
from .stacks import Stack

Finder = Callable[["Surroundings"], Iterator[DeviceOp]]

FINDERS: dict[str, Finder] = {}
CUTS = ("aten.slice", "aten.narrow", "aten.split", "aten.chunk")
PRIME = 1009  # its powers tell dims apart by their strides


def in_context(identifier: str) -> Callable[[Finder], Finder]:
    """Register the finder of a defect of section 6."""

    def register(finder: Finder) -> Finder:
        if identifier in FINDERS:
            raise ValueError(f"two finders of {identifier}")
        FINDERS[identifier] = finder
        return finder

    return register


def mark_in_context(program: Program, stack: Stack) -> None:
    """Add to every op the defects of the stack that its surroundings bring about. The ops have their bundles."""
    around = Surroundings(program, stack)
    for identifier, find in FINDERS.items():
        if stack.has_defect(identifier):
            for op in find(around):
                op.defects += (identifier,)


class Surroundings:
    """Who makes a value and who reads it."""

    def __init__(self, program: Program, stack: Stack) -> None:
        self.program = program
        self.stack = stack
        self.makers = {id(op.output): op for op in program.ops}
        self.readers: dict[int, list[DeviceOp]] = {}
        for op in program.ops:
            for value in op.values():
                self.readers.setdefault(id(value), []).append(op)
        self.returned = {id(item) for item in (*program.outputs, *(value for value, _ in program.writes))}

    @cached_property
    def ranges(self) -> Ranges:
        """What numbers a value can hold."""
        return Ranges(self.program)

    @cached_property
    def _resident(self) -> frozenset[int]:
        return resident_buffers(self.program, self.stack)

    def in_scratchpad(self, value: Any) -> bool:
        """Is the value, or the buffer that it is a view of, kept in the scratchpad (Q8)?"""
        maker, _ = self.chain(value)
        return maker is not None and id(maker.output) in self._resident

    def kernels(self, *names: str) -> Iterator[DeviceOp]:
        """The kernels of these names, or all."""
        return (op for op in self.program.ops if op.is_kernel and (not names or op.kernel in names))

    def chain(self, value: Any) -> tuple[DeviceOp | None, list[DeviceOp]]:
        """The op that made the buffer of `value`, and the views between, nearest to the buffer first."""
        views: list[DeviceOp] = []
        maker = self.makers.get(id(value))
        while maker is not None and maker.kernel == "view":
            views.append(maker)
            maker = self.makers.get(id(maker.inputs[0]))
        return maker, views[::-1]

    def made_here(self, value: Any, bundle: int | None = None) -> list[DeviceOp] | None:
        """The views between `value` and a kernel of the graph (of that bundle, if given) that made it; None where
        it came from outside."""
        maker, views = self.chain(value)
        here = maker is not None and maker.is_kernel and bundle in (None, maker.bundle)
        return views if here else None

    def is_intermediate(self, value: Any) -> bool:
        """Made and read by kernels, and never returned (Q7)?"""
        maker = self.makers.get(id(value))
        return maker is not None and maker.is_kernel and id(value) not in self.returned


def permutation(view: DeviceOp) -> tuple[int, ...] | None:
    """The order in which a view has the dims of what it looks at; None for one that does more than reorder them."""
    source = view.inputs[0]
    strides = [PRIME ** (dim + 1) for dim in range(len(source.shape))]
    marked = torch.empty_strided(source.shape, strides, dtype=torch.bool, device="meta")
    try:
        seen = view.attributes["target"](marked, *view.attributes["args"])
    except RuntimeError:  # a reshape, which strides like these do not allow
        return None
    if not isinstance(seen, torch.Tensor) or seen.storage_offset() or not set(seen.stride()) <= set(strides):
        return None
    order = tuple(strides.index(stride) for stride in seen.stride())
    whole = sorted(order) == list(range(len(source.shape)))
    return order if whole and tuple(seen.shape) == tuple(source.shape[dim] for dim in order) else None
