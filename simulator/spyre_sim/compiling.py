"""The door for a caller who has a model in hand: check it, or compile it and call the result."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from . import context, context_memory, context_values  # noqa: F401  (they register their finders)
from .bundles import bundle
from .capture import Captured, capture, flat_inputs, require_apart_inputs
from .copying import NotCopied
from .cost.plan import ProgramPlan, program_plan
from .cost.program import ProgramCost, program_cost
from .errors import CompileError, Refusal, RunError, misuse
from .execute import Executor, Observer
from .graph import Program, Value
from .ideal import IdealModel
from .legalize import legalize, taken_apart
from .report import Bundle, Report
from .sharing import storage_of, write_back
from .stacks import Stack, chosen_stack
from .surroundings import mark_in_context
from .trace import Trace, record
from .weights import Weights


class CompiledModel(NotCopied):
    """A model compiled for one stack and one set of shapes; call it with the arguments it was compiled for.

    `report` says what it consists of. A call raises RunError where the stack fails at run time, and (of the kind
    "misuse") for arguments of another structure, shape or dtype, or without numbers.
    """

    def __init__(self, captured: Captured, program: Program, stack: Stack, owner: Any) -> None:
        self.stack = stack
        self._owner = owner
        bundles = self._place(captured, program)
        self.report = report(program, bundles, stack, self._executor.weight_bytes)

    def __repr__(self) -> str:
        return f"<CompiledModel: {self.report.size}>"

    def _place(self, captured: Captured, program: Program) -> tuple[Bundle, ...]:
        weights = Weights(captured, self._owner)
        bundles = bundle(program, self.stack)
        mark_in_context(program, self.stack)
        self._captured = captured
        self._program = program
        self._executor = Executor(program, self.stack)
        self._constants = _constants(program, weights)
        self._weights = weights  # last: a call beside this one has either all or loads again
        return bundles

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves = flat_inputs(self._captured, args, kwargs)
        self.require_apart(leaves)
        return self.run(leaves)

    def require_apart(self, leaves: Sequence[Any]) -> None:
        """Raise ValueError where flat arguments have memory in common that the program writes."""
        if self._program.writes:
            require_apart_inputs(self._captured, leaves, self._weights.all())

    def run(self, leaves: Sequence[Any]) -> Any:
        """As a call with flat arguments, whatever memory they share."""
        self._check(leaves)
        self._load_again_if_changed()
        return self._finish(leaves, *self._executor.run(leaves, held=self._weights.written()))

    def _load_again_if_changed(self) -> None:
        if self._weights.changed():
            captured = self._weights.captured_now(self._captured)
            self._place(captured, _lowered(captured, self.stack))

    def trace(self, *args: Any, **kwargs: Any) -> Trace:
        """As a call, but every value on the way is kept: by name in `.values`, with its place in `.steps`."""
        return record(lambda recorder: self.observe(recorder, *args, **kwargs))

    def cost(self) -> ProgramCost:
        """What one run would cost on the stack's hardware: kernels, launches and copies, by the cost model (C1-C8)."""
        return program_cost(self._program, self.stack)

    def plan(self) -> ProgramPlan:
        """What the compiler decided for every op: layout, cores, span, scratchpad, launch. Print it for a table."""
        return program_plan(self._program, self.stack)

    def observe(self, observe: Observer, *args: Any, **kwargs: Any) -> Any:
        """As a call, kernel by kernel without fusion: `observe(op, value)` sees every op of the device graph.

        `op.site` has the node's name and module path, `op.bundle` its bundle, `op.kernel` the kernel.
        """
        leaves = flat_inputs(self._captured, args, kwargs)
        self.require_apart(leaves)
        self._check(leaves)
        self._load_again_if_changed()
        executor = Executor(self._program, self.stack, fused=False)
        return self._finish(leaves, *executor.run(leaves, observe, self._weights.written()))

    def _check(self, leaves: Sequence[Any]) -> None:
        for index, (name, value) in self._captured.constants.items():
            if type(leaves[index]) is not type(value) or leaves[index] != value:
                given = "a tensor" if isinstance(leaves[index], torch.Tensor) else repr(leaves[index])
                text = f"compiled for {name} = {value!r}, got {given}: compile it again for that"
                raise RunError(misuse(name, text, "run"))
        for index, value in self._program.inputs.items():
            given = leaves[index]
            if not isinstance(given, torch.Tensor) or tuple(given.shape) != value.shape:
                shape = tuple(given.shape) if isinstance(given, torch.Tensor) else repr(given)
                text = f"compiled for shape {value.shape} of {value.name}, got {shape}"
                raise RunError(misuse(value.name, text, "run"))
            dtype = str(given.dtype).removeprefix("torch.")
            if dtype != value.dtype:
                raise RunError(misuse(value.name, f"compiled for {value.dtype}, and {value.name} is {dtype}", "run"))
            if given.layout is not torch.strided:
                raise RunError(misuse(value.name, f"{value.name} is {_layout(given)}", "run"))
            if given.is_meta:
                raise RunError(misuse(value.name, f"{value.name} is on the meta device: it has no numbers", "run"))

    def _finish(self, leaves: Sequence[Any], outputs: list[Any], writes: list[tuple[Any, Any]]) -> Any:
        held = self._weights.written()
        places = [(leaves[target] if isinstance(target, int) else held[target], tensor) for target, tensor in writes]
        results = write_back(places, outputs, self._constants)
        return pytree.tree_unflatten(results, self._captured.out_spec)


def compile(
    model: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    stack: str | os.PathLike[str] | Stack | None = None,
) -> CompiledModel | IdealModel:
    """Compile an nn.Module or a function for these arguments, for `stack`, else SPYRE_SIM_STACK's, else 2026-06.

    Raises CompileError for the first refusal at compile time, and for a model without numbers (misuse); refusals of
    run time are raised by the call. UnknownStack and StackError are of the stack.

    The module's weights go to the device now. A call that finds one replaced or written on (by its address and torch's
    count of writes, so not through `.data` or by an optimizer with fused=True) loads all of them again; one of another
    shape or dtype is a ValueError. Buffers that the model writes are read from the module at each call. Submodules
    are those of now, and so are the modules and tensors that a function refers to, whose changes may go unnoticed:
    compile the module itself, or again. Constants come back fresh from every call, weights as themselves. A view of an
    argument or of another result may come back as a tensor of its own, and what was written in place does: write on
    arguments rather than on results. ValueError for an argument that shares memory with another, or with the module's
    tensors, where the model writes one of both in place.
    """
    profile = chosen_stack(stack)
    captured = capture(model, args, kwargs, decompose=taken_apart(profile))
    _require_dense(captured)
    _require_numbers(captured)
    if not profile.enforces_limits:
        return IdealModel(captured, profile, model)
    return CompiledModel(captured, _lowered(captured, profile), profile, model)


def check(
    model: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    stack: str | os.PathLike[str] | Stack | None = None,
) -> tuple[Refusal, ...]:
    """Everything that the stack refuses in this model, at compile and at run time, in one pass and once per site.

    The stack is chosen as in `compile`.
    """
    profile = chosen_stack(stack)
    if not profile.enforces_limits:
        return ()
    captured = capture(model, args, kwargs, decompose=taken_apart(profile))
    _require_dense(captured)
    return legalize(captured, profile)[1]


def _lowered(captured: Captured, stack: Stack) -> Program:
    """The program of a graph. Raises CompileError for the first refusal at compile time."""
    program, refusals = legalize(captured, stack)
    early = [refusal for refusal in refusals if refusal.when == "compile"]
    if early:
        raise CompileError(early[0], others=len(refusals) - 1)
    return program


def report(program: Program, bundles: tuple[Bundle, ...], stack: Stack, weight_bytes: int) -> Report:
    """Sum up a program."""
    kernels = [op for op in program.ops if op.is_kernel]
    return Report(
        stack.name,
        len(kernels),
        bundles,
        tuple(program.fallbacks),
        sum(op.kernel == "restickify" for op in kernels),
        tuple(sorted({name for op in program.ops for name in op.defects})),
        weight_bytes,
    )


def _require_dense(captured: Captured) -> None:
    for node in captured.nodes:
        given = node.meta.get("val") if node.op == "placeholder" else None
        if isinstance(given, torch.Tensor) and given.layout is not torch.strided:
            raise CompileError(misuse(node.name, f"{node.name} is {_layout(given)}", "compile"))


def _layout(tensor: torch.Tensor) -> str:
    """What a tensor is that has no strides, as the end of a sentence."""
    return f"a tensor of layout {str(tensor.layout).removeprefix('torch.')}: the device has dense ones only"


def _require_numbers(captured: Captured) -> None:
    for source in captured.sources.values():
        if isinstance(source.tensor, torch.Tensor) and source.tensor.is_meta:
            text = f"{source.name} is on the meta device: it has no numbers to compile with; check() needs none"
            raise CompileError(misuse(source.name, text, "compile"))


def _constants(program: Program, weights: Weights) -> frozenset[int]:
    """The storages of the program's own constants: no caller gets hold of these, as of what is the module's."""
    values = [item for op in program.ops for item in op.values()]
    known = [item.data for item in (*values, *program.outputs) if isinstance(item, Value)]
    return frozenset(map(storage_of, known)) - set(map(storage_of, weights.owned())) - {0}
