"""`torch.compile(fn, backend="spyre_sim")`: how a user of the real stack comes in."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._dynamo.exc import ShortenTraceback
from torch.fx.traceback import preserve_node_meta

from .compiling import compile
from .defects import EMERGENT, MODELLED
from .errors import PREFIX, CompileError, Refusal, SilentDefectWarning
from .ideal import IdealModel
from .layout.default import ELEMENTS_IN_STICK, elements_in_stick
from .stacks import Stack, chosen_stack

Backend = Callable[..., Any]


class DynamoCompileError(CompileError, ShortenTraceback):
    """A CompileError that dynamo passes on as it is; any other exception it would wrap in one of its own."""

    def __init__(self, refusal: Refusal, *, others: int = 0) -> None:
        ShortenTraceback.__init__(self, first_useful_frame=None)
        CompileError.__init__(self, refusal, others=others)


def dynamo_backend(
    gm: Any, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None, **_: Any
) -> Backend:
    """Compile one graph of dynamo for the stack of `options["stack"]` (a name or a Stack), else of SPYRE_SIM_STACK,
    else 2026-06.

    Raises ValueError for other options, CompileError where the stack does; the callable raises RunError. A graph that
    dynamo made dynamic is compiled once for each set of sizes, unless the stack bakes in the first (S43).

    A graph that runs into silent defects is compiled with one SilentDefectWarning that names them, since this door
    has no report. To be rid of it: `warnings.filterwarnings("ignore", category=spyre_sim.SilentDefectWarning)`.
    """
    if unknown := set(options or {}) - {"stack"}:
        raise ValueError(f"spyre_sim has no option {', '.join(map(repr, sorted(unknown)))}; there is 'stack'")
    stack = chosen_stack((options or {}).get("stack"))
    _check_offsets(example_inputs, stack)
    if any(isinstance(item, torch.SymInt | torch.SymFloat) for item in example_inputs):
        return _Dynamic(gm, stack)
    compiled = _compiled(gm, example_inputs, stack)
    return lambda *args: _run(compiled, args, stack)


OFFSETS_CHECKED = "2026-08-17"  # of graph inputs, at compile time (#3797), day approximate; before, S18 is silent


def _check_offsets(inputs: Sequence[Any], stack: Stack) -> None:
    """A graph input may not start inside a stick (E14); whole rows of a padded tensor do, so they are refused too."""
    if not stack.enforces_limits or stack.date.isoformat() < OFFSETS_CHECKED:
        return
    for position, item in enumerate(inputs):
        if not isinstance(item, torch.Tensor) or str(item.dtype).removeprefix("torch.") not in ELEMENTS_IN_STICK:
            continue
        lanes = elements_in_stick(str(item.dtype).removeprefix("torch."))
        offset = int(item.storage_offset()) if item.layout is torch.strided else 0
        if offset % lanes:
            coordinate = f"Mod(_offset_check_i{max(item.dim() - 1, 0)}, {lanes}) + {offset % lanes}"
            text = (
                f"{PREFIX}graph input arg{position}_1 has a non-stick-aligned device stick coordinate ({coordinate}) at"
                f" storage_offset={offset}; not yet supported"
            )
            raise DynamoCompileError(Refusal(f"arg{position}_1", "", "", "E14", "unsupported", "compile", text))


class _Dynamic:
    """A graph with symbolic sizes, compiled with the sizes that it is called with (Q21)."""

    def __init__(self, gm: Any, stack: Stack) -> None:
        self.gm = gm
        self.stack = stack
        self.compiled: dict[Any, Any] = {}
        self.sizes: dict[Any, Any] = {}  # that each was compiled with
        self.baked = False  # has it been told that other sizes were used (S43)?

    def __call__(self, *args: Any) -> Any:
        key = _shapes(args) if self.stack.has_defect("S43") else _sizes(args)
        if key not in self.compiled:
            numbers = {position: item for position, item in enumerate(args) if _is_number(item)}
            concrete = _WithNumbers(self.gm, numbers, len(args))
            self.compiled[key] = _compiled(concrete, _tensors(args), self.stack)
            self.sizes[key] = _sizes(args)
        elif not self.baked and self.sizes[key] != _sizes(args):
            self.baked = True
            _warn_of_defects(["S43"], self.stack)
        return _run(self.compiled[key], _tensors(args), self.stack)


class _WithNumbers(torch.nn.Module):
    """The graph with its symbolic numbers given."""

    def __init__(self, gm: Any, numbers: Mapping[int, Any], count: int) -> None:
        super().__init__()
        self.gm = gm
        self.numbers = dict(numbers)
        self.count = count

    def forward(self, *tensors: Any) -> Any:
        rest = iter(tensors)
        args = [self.numbers[i] if i in self.numbers else next(rest) for i in range(self.count)]
        with preserve_node_meta():  # module paths and lines, which torch.export keeps by itself for a graph alone
            return torch.fx.Interpreter(self.gm).run(*args)


def _compiled(module: Any, args: Sequence[Any], stack: Stack) -> Any:
    try:
        compiled = compile(module, tuple(args), stack=stack)
    except CompileError as error:
        raise DynamoCompileError(error.refusal, others=error.others) from None
    _warn_of_defects([*compiled.report.defects, *_defects_of_offsets(args, stack)], stack)
    return compiled


def _warn_of_defects(names: Sequence[str], stack: Stack) -> None:
    """One warning of all defects by which the numbers may be wrong; none if there are none.

    Where warnings are errors this raises, and dynamo makes a BackendCompilerFailed of it, as it would of any error.
    """
    if names:
        named = "; ".join(f"{name}: {MODELLED.get(name) or EMERGENT[name]}" for name in names)
        text = f"numbers may be silently wrong on {stack.name}. {named}. More: spyre-dsl explain {' '.join(names[:1])}"
        warnings.warn(text, SilentDefectWarning, stacklevel=2)


def _defects_of_offsets(args: Sequence[Any], stack: Stack) -> list[str]:
    """What reads an argument that starts inside its storage from the beginning (S18, S41)."""
    moved = any(isinstance(item, torch.Tensor) and _without_offset(item) is not item for item in args)
    return [name for name in ("S18", "S41") if stack.has_defect(name)][:1] if moved else []


def _run(compiled: Any, args: Sequence[Any], stack: Stack) -> Any:
    """Call with the tensors as the kernels find them; what shares memory is told from those that were given."""
    if isinstance(compiled, IdealModel):
        return compiled.in_dtypes_of_the_model(*args)
    compiled.require_apart(args)
    return compiled.run(_as_passed(args, stack))


def _as_passed(args: Sequence[Any], stack: Stack) -> tuple[Any, ...]:
    """Arguments as the kernels find them: a device layout has no offset (S18, S41)."""
    if not (stack.has_defect("S18") or stack.has_defect("S41")):
        return tuple(args)
    return tuple(_without_offset(item) for item in args)


def _without_offset(item: Any) -> Any:
    moved = isinstance(item, torch.Tensor) and not isinstance(item, torch.nn.Parameter) and item.storage_offset()
    return item.as_strided(item.shape, item.stride(), 0) if moved else item


def _is_number(item: Any) -> bool:
    return isinstance(item, int | float) and not isinstance(item, bool)


def _tensors(args: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(item for item in args if not _is_number(item))


def _shapes(args: Sequence[Any]) -> Any:
    """What tells the baked graphs of a stack with S43 apart: the shapes of the tensors only."""
    return tuple(tuple(item.shape) for item in args if isinstance(item, torch.Tensor))


def _sizes(args: Sequence[Any]) -> Any:
    """All sizes and numbers."""
    return (_shapes(args), tuple(item for item in args if _is_number(item)))
