"""Running a program: ops in order on slots, each value dropped after its last use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch

from .errors import RunError
from .graph import DeviceOp, Program, Value
from .kernels import attention, elementwise, matmul, movement, normalisation, reductions, selection  # noqa: F401
from .kernels.fused import fuse
from .kernels.in_context import as_miscompiled
from .kernels.numbers import Arithmetic, Words, values_of
from .kernels.parallel import torch_aside, torch_team
from .kernels.registry import KERNELS
from .kernels.tails import Tails
from .legalize.arguments import call
from .stacks import Stack
from .transfers import down, up

LARGE = 1 << 20  # elements of a host operation from which on torch has all threads

# What does the same as an overload and is called several times as fast.
DIRECT: dict[Any, Callable[..., Any]] = {
    torch.ops.aten.view.default: torch.Tensor.view,
    torch.ops.aten.reshape.default: torch.reshape,
    torch.ops.aten.transpose.int: torch.transpose,
    torch.ops.aten.permute.default: torch.permute,
    torch.ops.aten.unsqueeze.default: torch.unsqueeze,
}

Observer = Callable[[DeviceOp, Any], None]


@dataclass(eq=False)
class Step:
    """One call: `run` takes the values of `reads` from their slots and its result goes to slot `writes`."""

    op: DeviceOp
    run: Callable[[list[Any]], Any]
    reads: tuple[Any, ...]
    writes: int
    frees: tuple[int, ...] = ()


class Executor:
    """A program made ready: weights encoded once, slots numbered, last uses known."""

    def __init__(self, program: Program, stack: Stack, *, fused: bool = True) -> None:
        self.program = program
        self.stack = stack
        self.arithmetic = Arithmetic(stack)
        self._slots: dict[int, int] = {}
        self._loaded: dict[int, Any] = {}
        self._encoded: list[Any] = []
        for value in program.inputs.values():
            self._slot(value)
        self._held: dict[int, tuple[str, Any]] = {}
        self._written = {target for _, target in program.writes if isinstance(target, str)}
        self._clean = stack.numerics.tail_lanes == "zero"  # fresh memory: else tail lanes take part (L4)
        ops = fuse(program, self.arithmetic) if fused and self._clean else program.ops
        steps = [step for step in map(self._step, ops) if step is not None]
        self.steps = _with_last_uses(steps, self._kept())

    # -- making ready -------------------------------------------------------------------------------------------

    def _slot(self, value: Value) -> int:
        return self._slots.setdefault(id(value), len(self._slots))

    def _kept(self) -> set[int]:
        """Slots that live to the end: results, and what was loaded."""
        wanted = [*self.program.outputs, *(value for value, _ in self.program.writes)]
        returned = {self._reference(item).index for item in wanted if isinstance(item, Value)}
        return returned | set(self._loaded)

    def _step(self, op: DeviceOp) -> Step | None:
        reads = tuple(self._reference(item) for item in op.inputs)
        if op.kernel in ("h2d", "view") and all(slot in self._loaded for slot in _slots_in(reads)):
            self._load(op, reads)
            return None
        return Step(op, self._runner(op), reads, self._slot(op.output))

    def _load(self, op: DeviceOp, reads: tuple[Any, ...]) -> None:
        """What depends on weights and constants only is done now and kept."""
        source = self._loaded[reads[0].index]
        if op.kernel == "h2d":
            wide = len(op.output.shape) >= 2 and op.output.dtype != "bool" and op.output.numel > 4096
            result = up(source, op.output.format, self.stack, as_words=wide)
            self._encoded.append(result)
        else:
            result = seen(op, source)
        self._loaded[self._slot(op.output)] = result

    def _reference(self, item: Any) -> Any:
        if isinstance(item, Value):
            slot = self._slot(item)
            if item.source is not None and item.source.name in self._written and item.data is not None:
                self._held.setdefault(slot, (item.source.name, item.data))
            elif item.data is not None:
                self._loaded.setdefault(slot, item.data)
            return SlotRef(slot)
        if isinstance(item, (list, tuple)):
            return [self._reference(part) for part in item]
        return item

    def _runner(self, op: DeviceOp) -> Callable[[list[Any]], Any]:
        if op.kernel == "refuse":
            return _refuser(op)
        if op.kernel == "view":
            return lambda inputs: seen(op, inputs[0])
        if op.kernel == "h2d":
            return lambda inputs: up(inputs[0], op.output.format, self.stack)
        if op.kernel == "d2h":
            return as_miscompiled(
                self.arithmetic, op, lambda inputs: down(values_of(inputs[0]), op.inputs[0], self.stack)
            )
        if op.kernel == "host":
            return as_miscompiled(self.arithmetic, op, lambda inputs: _on_host(op, inputs))
        compute = KERNELS[op.kernel]
        return as_miscompiled(self.arithmetic, op, lambda inputs: compute(self.arithmetic, op, inputs))

    # -- running ------------------------------------------------------------------------------------------------

    def run(
        self,
        inputs: Sequence[Any],
        observe: Observer | None = None,
        held: Mapping[str, torch.Tensor] = MappingProxyType({}),
    ) -> tuple[list[Any], list[tuple[Any, Any]]]:
        """Flat results, and (target, tensor) for what the graph writes. `observe` sees every op and its value.

        `held`: by path the buffers that the program writes, as they are now; else as they were compiled with.
        """
        slots: list[Any] = [None] * len(self._slots)
        for slot, item in self._loaded.items():
            slots[slot] = item
        for slot, (name, item) in self._held.items():
            slots[slot] = held.get(name, item)
        for index, value in self.program.inputs.items():
            slots[self._slot(value)] = inputs[index]
        tails = None if self._clean else Tails(self.arithmetic)
        with torch.no_grad(), torch_aside():
            for step in self.steps:
                given = _taken(step.reads, slots)
                result = step.run(given)
                if tails is not None:
                    result = tails.through(step.op, given, result)
                if observe is not None:
                    observe(step.op, result)
                slots[step.writes] = result
                for slot in step.frees:
                    slots[slot] = None
        outputs = [self._result(item, slots) for item in self.program.outputs]
        return outputs, [(target, slots[self._slot(value)]) for value, target in self.program.writes]

    def _result(self, item: Any, slots: list[Any]) -> Any:
        return slots[self._slot(item)] if isinstance(item, Value) else item

    @property
    def weight_bytes(self) -> int:
        """What the encoded weights take here; views of one weight count once."""
        held = [item.words if isinstance(item, Words) else item for item in self._encoded]
        return sum({tensor.data_ptr(): tensor.numel() * tensor.element_size() for tensor in held}.values())


@dataclass(frozen=True)
class SlotRef:
    """The place of a value among the slots."""

    index: int


def seen(op: DeviceOp, source: Any) -> Any:
    """The result of a view op on values or words."""
    target, args, pick = op.attributes["target"], op.attributes["args"], op.attributes["pick"]
    result = DIRECT.get(target, target)(source.words if isinstance(source, Words) else source, *args)
    part = result if pick < 0 else result[pick]
    return Words(part) if isinstance(source, Words) else part


def _on_host(op: DeviceOp, inputs: list[Any]) -> Any:
    with torch_team() if op.output.numel >= LARGE else nullcontext():
        result = call(op.attributes["target"], list(op.attributes["names"]), inputs)
    pick = op.attributes["pick"]
    return result if pick < 0 else result[pick]


def _refuser(op: DeviceOp) -> Callable[[list[Any]], Any]:
    def run(inputs: list[Any]) -> Any:
        raise RunError(op.attributes["refusal"])

    return run


def _taken(reads: Sequence[Any], slots: list[Any]) -> list[Any]:
    return [
        slots[item.index] if type(item) is SlotRef else _taken(item, slots) if type(item) is list else item
        for item in reads
    ]


def _slots_in(reads: Sequence[Any]) -> list[int]:
    found: list[int] = []
    for item in reads:
        if isinstance(item, SlotRef):
            found.append(item.index)
        elif isinstance(item, list):
            found.extend(_slots_in(item))
    return found


def _with_last_uses(steps: list[Step], kept: set[int]) -> list[Step]:
    """Tell every step which slots nobody reads after it."""
    seen_later = set(kept)
    for step in reversed(steps):
        used = {*_slots_in(step.reads), step.writes}
        step.frees = tuple(slot for slot in used if slot not in seen_later)
        seen_later |= used
    return steps
