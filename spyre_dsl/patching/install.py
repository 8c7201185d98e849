"""The forward that patched modules run: find the graph for a call, or make it; run it; write caches back."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from spyre_dsl.patching.alone import alone
from spyre_dsl.patching.entry import GraphEntry, GraphTable
from spyre_dsl.patching.errors import NotPicklable, UnseenSignature
from spyre_dsl.patching.export_owner import Source
from spyre_dsl.patching.fold import Fold
from spyre_dsl.patching.inner_hooks import refuse_inner_hooks
from spyre_dsl.patching.journal import Journal
from spyre_dsl.patching.signature import Structure, describe, flatten, mutable_arguments, unflatten
from spyre_dsl.patching.write_back import write_back

STATE = "_spyre_owner"
"""The attribute of a patched module that holds its ``OwnerState``."""

_REFRESH_KEY = "spyre-dsl: refresh folded values"

Stamp = tuple[Any, ...]


@dataclass(eq=False)
class OwnerState:
    """What one patched module knows about its patch. A deep copy of the module gets a state of its own."""

    table: GraphTable
    path: str
    base: Callable[..., Any] | None
    journal: Journal
    stamps: dict[str, Stamp] = field(default_factory=dict)
    folds: dict[str, Fold] = field(default_factory=dict)

    def __deepcopy__(self, memo: dict[int, Any]) -> OwnerState:
        made = OwnerState(self.table, self.path, None, Journal(), {}, dict(self.folds))
        memo[id(self)] = made
        made.base = copy.deepcopy(self.base, memo)
        made.journal = copy.deepcopy(self.journal, memo)
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise NotPicklable(
            f"{self.path or 'the model'} is patched by spyre-dsl, and its rewritten graphs belong to this process: they"
            " cannot be pickled (torch.save of a whole model, or handing one to another process)\n  help: save "
            "`model.state_dict()`, which is that of the unpatched model, load it there, and plan and apply again; or "
            "revert the model first"
        )


def patched_forward(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
    """The forward of every patched module; it takes what the module's own forward takes."""
    state: OwnerState = self._spyre_owner  # type: ignore[assignment]
    leaves: list[Any] = []
    structure = flatten((args, kwargs), leaves)
    if not _tracing(leaves):
        refuse_inner_hooks(self, state.path)
    entry = state.table.find(self, structure, leaves)
    if entry is None:
        entry = _unseen(self, structure, leaves)
    inputs = _gather(self, state, entry, leaves)
    outputs = iter(entry.graph_module(*inputs))
    kept, changed = entry.result[1]
    if not changed[1]:
        return unflatten(kept, outputs)
    caches = mutable_arguments((args, kwargs))
    value = unflatten(kept, outputs, tuple(caches))
    for cache, after in zip(caches, changed[1]):
        write_back(cache, after, outputs)
    return value


def original_forward(module: torch.nn.Module) -> Callable[..., Any]:
    """What computes ``module`` when it is not patched, bound to it."""
    state: OwnerState | None = vars(module).get(STATE)
    if state is not None:
        return state.base or types.MethodType(type(module).forward, module)
    return vars(module).get("forward") or types.MethodType(type(module).forward, module)


def install(module: torch.nn.Module, path: str, table: GraphTable, journal: Journal) -> None:
    """Make ``module`` run the graphs of ``table``; every change goes through ``journal``, which the module keeps."""
    state = OwnerState(table, path, vars(module).get("forward"), journal)
    journal.set_attribute(module, STATE, state)
    for entry in table.all():
        _adopt(module, state, entry)
    journal.set_attribute(module, "forward", types.MethodType(patched_forward, module))


def refresh(module: torch.nn.Module) -> None:
    """Compute the folded values of a patched module again, from its parameters as they are."""
    state: OwnerState = vars(module)[STATE]
    for made in state.folds.values():
        _compute(module, state, made)


def _adopt(module: torch.nn.Module, state: OwnerState, entry: GraphEntry) -> None:
    """Give ``module`` the folded values that ``entry`` needs and that it does not have yet."""
    for made in entry.folds:
        if made.name in state.folds:
            continue
        values = _values(module, made.sources)
        with torch.inference_mode(False), torch.no_grad():
            state.journal.add_buffer(module, made.name, made.compute(values).detach().contiguous())
        state.folds[made.name] = made
        state.stamps[made.name] = _stamp(values)
        for source in made.sources:
            _hook(module, source, state.journal)


def _hook(module: torch.nn.Module, source: Source, journal: Journal) -> None:
    """Refresh when the module that holds ``source``, or one above it, loads a state dict."""
    if source.kind == "constant":
        return
    for holder in {id(each): each for each in (module, _holder(module, source.target))}.values():
        if _REFRESH_KEY not in vars(holder)["_load_state_dict_post_hooks"]:
            hook = types.MethodType(_refresh_after_load, module)
            journal.set_key(holder, "_load_state_dict_post_hooks", _REFRESH_KEY, hook)


def _refresh_after_load(owner: torch.nn.Module, _loaded: torch.nn.Module, _keys: Any) -> None:
    refresh(owner)


def _gather(module: torch.nn.Module, state: OwnerState, entry: GraphEntry, leaves: Sequence[Any]) -> list[Any]:
    """The values of the graph's placeholders, in order."""
    live = _settle_folds(module, state, entry) if entry.folds and not _tracing(leaves) else {}
    values = []
    for source in entry.inputs:
        if source.kind == "leaf":
            values.append(leaves[source.index])
        elif source.kind == "folded":
            values.append(live[source.target] if source.target in live else getattr(module, source.target))
        else:
            values.append(_value(module, source))
    return values


def _settle_folds(module: torch.nn.Module, state: OwnerState, entry: GraphEntry) -> dict[str, torch.Tensor]:
    """Bring folded buffers up to date; while training, values that gradients must flow through, computed afresh."""
    live: dict[str, torch.Tensor] = {}
    for made in entry.folds:
        if made.name not in state.folds:
            _adopt(module, state, entry)
        values = _values(module, made.sources)
        if module.training and torch.is_grad_enabled() and any(value.requires_grad for value in values):
            live[made.name] = made.compute(values)
        elif state.stamps.get(made.name) != _stamp(values):
            _compute(module, state, made)
    return live


def _compute(module: torch.nn.Module, state: OwnerState, made: Fold) -> None:
    values = _values(module, made.sources)
    with torch.inference_mode(False), torch.no_grad():
        module._buffers[made.name] = made.compute(values).detach().contiguous()
    state.stamps[made.name] = _stamp(values)


def _stamp(values: Sequence[torch.Tensor]) -> Stamp:
    """Changes whenever a value was replaced, moved, or changed in place (except through ``.data``)."""
    return tuple((id(v), v.data_ptr(), v.dtype, -1 if v.is_inference() else v._version) for v in values)


def _values(module: torch.nn.Module, sources: Sequence[Source]) -> list[torch.Tensor]:
    return [_value(module, source) for source in sources]


def _value(module: torch.nn.Module, source: Source) -> torch.Tensor:
    if source.value is not None:
        return source.value
    value: Any = module
    for part in source.target.split("."):
        value = getattr(value, part)
    return value  # type: ignore[no-any-return]


def _holder(module: torch.nn.Module, target: str) -> torch.nn.Module:
    return module.get_submodule(target.rpartition(".")[0])


def _tracing(leaves: Sequence[Any]) -> bool:
    """Whether somebody is compiling or exporting us: parameters may then be stand-ins, and nothing may be stored."""
    return torch.compiler.is_compiling() or any([isinstance(leaf, FakeTensor) for leaf in leaves])


@torch.compiler.disable(  # type: ignore[no-untyped-call,untyped-decorator]
    reason="a module patched by spyre-dsl was called with a signature it has no rewritten graph for: "
    "run the patched model once with such inputs, or plan with them, before compiling it with fullgraph=True"
)
def _unseen(module: torch.nn.Module, structure: Structure, leaves: list[Any]) -> GraphEntry:
    """Export and rewrite for a signature that was not seen before; refuse where that cannot be done.

    One thread does so at a time; others wait where they call a module (see ``alone``).
    """
    state: OwnerState = vars(module)[STATE]
    with alone():
        return state.table.find(module, structure, leaves) or _build(module, state, structure, leaves)


def _build(module: torch.nn.Module, state: OwnerState, structure: Structure, leaves: list[Any]) -> GraphEntry:
    if _tracing(leaves):
        raise UnseenSignature(
            f"{state.path or 'the model'} ({type(module).__name__}) has no rewritten graph for the call "
            f"{describe(structure, leaves)}; run the patched model once with such inputs, or plan with them, before "
            f"exporting it. It has graphs for: {'; '.join(entry.example for entry in state.table.all()) or 'nothing'}"
        )
    with torch.inference_mode(False):
        entry = state.table.builder(module, state.path, original_forward(module), structure, leaves)
    _adopt(module, state, entry)
    state.table.add(entry)
    return entry
