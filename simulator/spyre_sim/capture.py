"""From a torch module or function to one functional aten graph with static shapes.

Export is asked for no decomposition: what becomes of `linear` or `scaled_dot_product_attention` is the stack's
business (`legalize`). A graph that writes into its inputs is made functional; what it writes is listed so that the
caller's tensors (a KV cache, a buffer) see it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind
from torch.utils import _pytree as pytree

from .call_text import shown_call
from .errors import RunError, misuse
from .sharing import SHARED, require_apart

METADATA_CHECK = torch.ops.aten._assert_tensor_metadata.default


@dataclass(frozen=True)
class Captured:
    """One exported graph.

    `nodes`: fx nodes in order; `sources`: placeholder name -> how to get its tensor; `outputs`: the nodes or constants
    that are returned, in flat order; `writes`: (node, what is written: an index of the flat inputs or a buffer's
    path); `out_spec`: the model's own output structure; `program` keeps the graph alive; `rewritten`: whether in-place
    writes were made functional, so that a `slice_scatter` in the graph is a slice assignment of the model;
    `constants`: the arguments that are no tensors and were compiled in, (name, value) by index of the flat inputs.
    """

    program: torch.export.ExportedProgram
    nodes: tuple[torch.fx.Node, ...]
    sources: Mapping[str, Source]
    outputs: tuple[Any, ...]
    writes: tuple[tuple[torch.fx.Node, int | str], ...]
    in_spec: Any
    out_spec: Any
    rewritten: bool = False
    constants: Mapping[int, tuple[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """Where a placeholder's value comes from: kind is "parameter", "buffer", "constant" or "input"."""

    kind: str
    name: str = ""
    index: int = -1
    tensor: Any = None


class _Function(torch.nn.Module):
    """A plain function as a module, for `torch.export`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def capture(
    model: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    decompose: Callable[[Any], bool] = lambda target: False,
) -> Captured:
    """Export `model` (an nn.Module or a function) for these arguments, which fix all shapes.

    `decompose` picks the composite ops that are to be taken apart by torch's own definition. Raises whatever
    `torch.export` raises when the model cannot be captured, and TypeError for what is no model or no arguments.
    """
    _check_arguments(model, args)
    module = model if isinstance(model, torch.nn.Module) else _Function(model)
    kwargs = dict(kwargs or {})
    with torch.no_grad(), _quiet():
        _register_caches(module)
        program = torch.export.export(module, tuple(args), kwargs, strict=False)
        if module is not model:
            _place_in(program, model)
        rewritten = any(_mutates(node) for node in program.graph.nodes)
        table = _decompositions(program, decompose)
        if rewritten or table:
            program = _decomposed(program, table, args, kwargs)
        _drop_dead_code(program.graph)
    signature = program.graph_signature
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    sources = {}
    constants: dict[int, tuple[str, Any]] = {}
    index = 0
    for node, spec in zip(placeholders, signature.input_specs, strict=True):
        if spec.kind == InputKind.USER_INPUT:
            sources[node.name] = Source("input", node.name, index)
            if isinstance(spec.arg, ConstantArgument):
                constants[index] = (node.name, spec.arg.value)
            index += 1
        else:
            sources[node.name] = _state(program, spec)
    results = next(node for node in program.graph.nodes if node.op == "output").args[0]
    outputs: list[Any] = []
    writes: list[tuple[torch.fx.Node, int | str]] = []
    for spec, result in zip(signature.output_specs, results, strict=True):
        if spec.kind == OutputKind.USER_OUTPUT:
            outputs.append(result)
        elif spec.kind == OutputKind.BUFFER_MUTATION:
            writes.append((result, str(spec.target)))
        elif spec.kind == OutputKind.USER_INPUT_MUTATION:
            writes.append((result, sources[str(spec.target)].index))
    captured = Captured(
        program,
        tuple(program.graph.nodes),
        sources,
        tuple(outputs),
        tuple(writes),
        program.call_spec.in_spec,
        program.call_spec.out_spec,
        rewritten,
        constants,
    )
    if writes:
        held = {source.name: source.tensor for source in sources.values() if source.kind != "input"}
        require_apart_inputs(captured, pytree.tree_leaves((tuple(args), kwargs)), held)
    return captured


def require_apart_inputs(captured: Captured, leaves: Sequence[Any], held: Mapping[str, Any]) -> None:
    """Raise ValueError where flat arguments have memory in common, with each other or with the module's tensors
    `held`, that the graph writes."""
    names = {source.index: source.name for source in captured.sources.values() if source.kind == "input"}
    written = [names[target] if isinstance(target, int) else target for _, target in captured.writes]
    require_apart({names[index]: leaves[index] for index in names}, held, written)


def _drop_dead_code(graph: torch.fx.Graph) -> None:
    """Erase what nobody reads, which the stack never sees (Q2), and the export's own checks, which read everything."""
    for node in [node for node in graph.nodes if node.target is METADATA_CHECK]:
        graph.erase_node(node)
    graph.eliminate_dead_code()


def _check_arguments(model: Any, args: Any) -> None:
    """Raise TypeError in words for what is easily mixed up."""
    if not callable(model):
        raise TypeError(f"the model must be an nn.Module or a function, not {type(model).__name__}")
    if isinstance(args, torch.Tensor):
        raise TypeError("the arguments must be a tuple or a list; for one tensor that is (tensor,)")


def _decomposed(program: Any, table: Any, args: Any, kwargs: Any) -> torch.export.ExportedProgram:
    """The functional program. Raises ValueError for a tensor that is two arguments and written as one of them."""
    try:
        return program.run_decompositions(table)  # type: ignore[no-any-return]
    except (AssertionError, RuntimeError) as error:  # what torch makes of aliased inputs that are written
        tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        storages = {leaf.untyped_storage()._cdata for leaf in tensors if leaf.layout is torch.strided}
        if len(storages) == len(tensors):
            raise
        raise ValueError(SHARED) from error


def flat_inputs(captured: Captured, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """The leaves of (args, kwargs) in the order of the graph's inputs.

    Raises RunError (misuse) when their structure is not the one that was captured.
    """
    wanted = captured.in_spec
    ordered = {key: kwargs[key] for key in _keyword_order(wanted) if key in kwargs}
    ordered.update({key: value for key, value in kwargs.items() if key not in ordered})
    leaves, spec = pytree.tree_flatten((tuple(args), ordered))
    if spec != wanted:
        text = f"compiled for arguments of another structure: {shown_call(wanted)}, called as {shown_call(spec)}"
        raise RunError(misuse("arguments", text, "run"))
    return leaves


def _keyword_order(spec: Any) -> list[str]:
    return list(spec.children()[1].context)


def _register_caches(module: torch.nn.Module) -> None:
    """Let transformers' caches be arguments and results; nothing to do where transformers is not in use."""
    if "transformers" in sys.modules and isinstance(module, sys.modules["transformers"].PreTrainedModel):
        from transformers.exporters.exporter_dynamo import register_cache_pytrees_for_model

        register_cache_pytrees_for_model(module)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings about what torch itself does."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*LeafSpec.*", category=FutureWarning)
        yield


def _decompositions(program: torch.export.ExportedProgram, decompose: Callable[[Any], bool]) -> dict[Any, Any]:
    """torch's own definitions of the ops of the graph that are to be taken apart."""
    found = {node.target for node in program.graph.nodes if node.op == "call_function" and decompose(node.target)}
    if not found:
        return {}
    known = torch.export.default_decompositions()
    return {target: known[target] for target in found if target in known}


def _place_in(program: torch.export.ExportedProgram, function: Any) -> None:
    """Say of every node that it comes from this function: export keeps the lines of modules only."""
    code = getattr(function, "__code__", None)
    if code is None:
        return
    for node in program.graph.nodes:
        if "stack_trace" in node.meta:
            node.meta["stack_trace"] = f'File "{code.co_filename}", line {code.co_firstlineno}, in {code.co_name}'


def _mutates(node: torch.fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return node.op == "call_function" and schema is not None and schema.is_mutable


def _state(program: torch.export.ExportedProgram, spec: Any) -> Source:
    name = str(spec.target)
    if spec.kind == InputKind.PARAMETER:
        return Source("parameter", name, tensor=program.state_dict[name])
    if spec.kind == InputKind.BUFFER:
        held = program.state_dict if name in program.state_dict else program.constants
        return Source("buffer", name, tensor=held[name])
    return Source("constant", name, tensor=program.constants.get(name))
