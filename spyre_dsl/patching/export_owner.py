"""Export one module by itself, with the inputs it received inside its model.

What torch.export sees is a thin wrapper over the tensor leaves of ``(args, kwargs)``, every dimension ``Dim.AUTO``.
The wrapper puts the call together again, runs the module's own forward, and returns the tensor leaves of the result
and of the caches that the forward changed.
"""

from __future__ import annotations

import logging
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.export.graph_signature import InputKind, OutputKind

from spyre_dsl.graphs.functional import without_own_writes
from spyre_dsl.graphs.provenance import moved_path, own_frames
from spyre_dsl.graphs.sharing import Sharing, hands_on_silently
from spyre_dsl.graphs.transformers_support import exportable
from spyre_dsl.patching.errors import ExportError, RewriteError
from spyre_dsl.patching.gradients import GradientLog, watching, write_detached
from spyre_dsl.patching.open_dimensions import Dimensions, dynamic_dimensions
from spyre_dsl.patching.reads import ReadLog, Reads, recording
from spyre_dsl.patching.signature import Structure, flatten, mutable_arguments, unflatten
from spyre_dsl.patching.untouched import untouched

_REFUSED_INPUTS = frozenset({InputKind.CUSTOM_OBJ, InputKind.TOKEN})


@dataclass(frozen=True)
class Source:
    """Where the graph's placeholder number so-and-so gets its value.

    ``kind`` is ``parameter`` or ``buffer`` (``target`` is a path below the owner), ``constant`` (``value`` is the
    tensor), or ``leaf`` (``index`` counts the call's leaves).
    """

    kind: str
    target: str = ""
    index: int = -1
    value: torch.Tensor | None = None


@dataclass(frozen=True)
class ExportedOwner:
    """One module as a graph without state: parameters, buffers, constants and inputs are all placeholders.

    ``sources`` is parallel to the placeholders. ``result`` is the structure of ``(what forward returns, its caches)``.
    """

    graph_module: torch.fx.GraphModule
    sources: tuple[Source, ...]
    result: Structure
    reads: Reads
    program: torch.export.ExportedProgram


class _Call:
    """One call of a forward on tensor leaves, and what was learnt while it ran.

    (It is no part of the wrapper's own attributes: torch.export puts those back after tracing.)
    """

    def __init__(self, owner: torch.nn.Module, forward: Callable[..., Any], structure: Structure) -> None:
        self.owner = owner
        self.forward = forward
        self.structure = structure
        self.log = ReadLog(owner)
        self.gradients = GradientLog(torch.is_grad_enabled())
        self.result: Structure | None = None

    def run(self, owner: Any, leaves: tuple[Any, ...]) -> tuple[Any, ...]:
        """``owner`` is the module, or the stand-in by which torch knows the ways to modules with several names."""
        bound = getattr(self.forward, "__self__", None) is self.owner
        forward = types.MethodType(self.forward.__func__, owner) if bound else self.forward  # type: ignore[attr-defined]
        args, kwargs = unflatten(self.structure, iter(leaves))
        caches = mutable_arguments((args, kwargs))
        with recording(self.log), watching(self.gradients):
            value = forward(*args, **kwargs)
        found: list[Any] = []
        kept = flatten(value, found, tuple(caches), counters=False)
        changed = tuple(flatten(cache, found, counters=False) for cache in caches)
        self.result = ("tuple", (kept, ("tuple", changed)))
        return tuple(found)

    def reads(self) -> Reads:
        return self.log.reads()._replace(gradients=self.gradients.mode())


class _Wrapper(torch.nn.Module):
    """What torch.export sees: a module over tensor leaves that has ``owner`` as its only child."""

    def __init__(self, owner: torch.nn.Module, call: _Call) -> None:
        super().__init__()
        self.owner = owner
        self.call = call

    def forward(self, *leaves: Any) -> tuple[Any, ...]:
        return self.call.run(self.owner, leaves)


def export_owner(
    owner: torch.nn.Module,
    path: str,
    forward: Callable[..., Any],
    structure: Structure,
    leaves: list[Any],
    numbers: Dimensions = frozenset(),
) -> ExportedOwner:
    """Export ``owner`` as it runs when called with ``structure`` and ``leaves``. Nothing in ``owner`` changes.

    Whether gradients are enabled now is what its forward is told, should it ask; it is traced without any.

    Args:
        owner: the module; its parameters may be on the meta device.
        path: its path in the model; the graph's nodes carry full paths.
        forward: what computes it (its class's forward, bound), without the hooks that its caller runs.
        structure, leaves: the call, from ``flatten``; fake tensors stand for their sizes, values are never read.
        numbers: of a call with real tensors, the dimensions that the graph is not to leave open.

    Raises:
        ExportError: torch.export refuses the module, with its reason.
        RewriteError: a forward that a rule gave to the module, or to one inside, cannot be carried out.
    """
    call = _Call(owner, forward, structure)
    examples = tuple(example_of(leaf) for leaf in leaves)
    dynamic = (dynamic_dimensions(leaves, numbers),)
    try:
        with torch.inference_mode(False), torch.no_grad(), untouched(owner), exportable(owner), _quietly():
            program = torch.export.export(_Wrapper(owner, call), examples, dynamic_shapes=dynamic, strict=False)
            program = _functional(program)
            write_detached(program.graph)
    except RewriteError:
        raise  # a rule's own forward has said what is wrong with it
    except Exception as problem:  # torch.export raises what the traced code raises: anything
        raise ExportError(
            f"{path or 'the model'} ({type(owner).__name__}) cannot be exported alone: {_first_line(problem)}"
        ) from problem
    if call.result is None:
        raise ExportError(f"{path or 'the model'}: torch.export did not run its forward")
    _place_in_model(program.graph_module.graph, path, owner)
    return ExportedOwner(program.graph_module, _sources(program, path), call.result, call.reads(), program)


def _functional(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """Without writes in place, where they concern nothing but the graph's own values.

    Writes to inputs and buffers (a static cache) stay as they are: they are part of what the forward does. So do those
    that reach a value through an op of which torch does not know that it hands on its argument: it would lose them.
    """
    if without_own_writes(program):
        return program
    if any(node.op == "placeholder" or hands_on_silently(node) for node in Sharing(program.graph.nodes).written()):
        return program
    functional = program.run_decompositions({})
    written = [spec for spec in functional.graph_signature.output_specs if spec.kind is not OutputKind.USER_OUTPUT]
    return program if written else functional


def example_of(leaf: Any) -> torch.Tensor:
    """A tensor of its own, with the leaf's sizes and strides: two leaves that are one object may differ next time."""
    if not isinstance(leaf, torch.Tensor):
        raise ExportError(f"an argument of type {type(leaf).__name__} is computed from sizes; it cannot key a graph")
    sizes, strides = [_hint(size) for size in leaf.shape], [_hint(stride) for stride in leaf.stride()]
    with torch.inference_mode(False):
        return torch.empty_strided(sizes, strides, dtype=leaf.dtype, device=leaf.device)


def _hint(size: Any) -> int:
    if isinstance(size, torch.SymInt):
        hint = size.node.hint
        if hint is None:
            raise ExportError("an argument has a size that depends on data")
        return int(hint)
    return int(size)


@contextmanager
def _quietly() -> Iterator[None]:
    """torch warns for each dimension of size 1 that it will not generalise; here those key the signature."""
    logger = logging.getLogger("torch._export.non_strict_utils")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _first_line(problem: BaseException) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]


def _sources(program: torch.export.ExportedProgram, path: str) -> tuple[Source, ...]:
    sources: list[Source] = []
    leaf = 0
    for spec in program.graph_signature.input_specs:
        if spec.kind in _REFUSED_INPUTS:
            raise ExportError(f"{path or 'the model'}: inputs of kind {spec.kind.name} are not supported")
        target = (spec.target or "").removeprefix("owner.")
        if spec.kind is InputKind.USER_INPUT:
            sources.append(Source("leaf", index=leaf))
            leaf += 1
        elif spec.kind is InputKind.CONSTANT_TENSOR:
            sources.append(Source("constant", target, value=program.constants[spec.target or ""]))
        else:
            sources.append(Source("parameter" if spec.kind is InputKind.PARAMETER else "buffer", target))
    return tuple(sources)


def _place_in_model(graph: torch.fx.Graph, path: str, owner: torch.nn.Module) -> None:
    """Rewrite each node's module stack from the wrapper's names to the model's."""
    own = (path, f"{type(owner).__module__}.{type(owner).__qualname__}")
    for node in graph.nodes:
        stack = node.meta.get("nn_module_stack")
        if node.op != "call_function" or stack is None:
            continue
        moved = {key: (_moved(name, path), cls) for key, (name, cls) in stack.items() if name}
        node.meta["nn_module_stack"] = {"owner": own, **moved}
        if all(file == __file__ for file, _ in own_frames(node.meta.get("stack_trace", ""))):
            node.meta.pop("stack_trace", None)  # a module of torch's own: only the line that called it says something


def _moved(name: str, path: str) -> str:
    """The model's path of a module that the wrapper's trace calls ``name``.

    Where a module has two names, torch's tracer puts the way that it was reached by in their place: that begins at the
    owner, whose forward is bound to it, and not at the wrapper.
    """
    return moved_path(name, "owner" if name == "owner" or name.startswith(("owner.", "owner@")) else "", path)
