"""The forward that patched modules run: find the graph for a call, or make it; run it; write caches back."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from spyre_dsl.patching.alone import alone
from spyre_dsl.patching.autocast import without_autocast
from spyre_dsl.patching.entry import GraphEntry, GraphTable
from spyre_dsl.patching.errors import PatchError, UnseenSignature
from spyre_dsl.patching.folded import (
    adopt,
    refresh,
    settle,
    settle_compiled,
    settle_exported,
    value_of,
    watch_optimizers,
)
from spyre_dsl.patching.inside import check_hooks, check_inside, inside, make_up_of
from spyre_dsl.patching.journal import Journal
from spyre_dsl.patching.owner_state import STATE, STATES, OwnerState
from spyre_dsl.patching.retrace import graph_here, module_stack_now, run_in_place
from spyre_dsl.patching.signature import Structure, flatten, mutable_arguments, unflatten
from spyre_dsl.patching.unseen import told
from spyre_dsl.patching.write_back import write_back

__all__ = ["STATE", "OwnerState", "install", "original_forward", "patched_forward", "refresh"]


def patched_forward(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
    """The forward of every patched module; it takes what the module's own forward takes."""
    state: OwnerState = self._spyre_owner  # type: ignore[assignment]
    leaves: list[Any] = []
    structure = flatten((args, kwargs), leaves)
    _look_inside(self, state, leaves)
    entry = state.table.find(self, structure, leaves)
    if entry is None:
        entry = _unseen(self, structure, leaves)
    outputs = iter(without_autocast(entry.autocast, _run, self, state, entry, leaves))
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
    state = OwnerState(weakref.ref(module), table, path, vars(module).get("forward"), journal, make_up_of(module))
    state.inside = check_hooks(inside(module, state.make_up), path)
    watch_optimizers()
    journal.set_attribute(module, STATE, state)
    for entry in table.all():
        adopt(module, state, entry)
    journal.set_attribute(module, "forward", types.MethodType(patched_forward, module))


def _look_inside(module: torch.nn.Module, state: OwnerState, leaves: Sequence[Any]) -> None:
    """Refuse the call where what is inside the module is not what its graphs were made from."""
    if torch.compiler.is_dynamo_compiling():
        _look_inside_family(state.table)
        if not state.sound:
            _refuse_inside(module)
    elif not _tracing(leaves):
        known = state.inside or inside(module, state.make_up)
        state.inside = check_inside(known, state.path)
    elif state.inside is not None:
        check_inside(state.inside, state.path, tracing=True)


@torch._dynamo.assume_constant_result  # type: ignore[untyped-decorator]
def _look_inside_family(table: GraphTable) -> bool:
    """Look inside all modules that share ``table``, once, when one of them is compiled.

    What is compiled is guarded by ``sound``, and not by the module it was compiled for: it serves all of them.
    """
    for state in list(STATES):
        if state.table is table and (module := state.owner()) is not None:
            try:
                state.inside = check_inside(state.inside or inside(module, state.make_up), state.path)
                state.sound = True
            except PatchError:
                state.sound = False  # so that this one is compiled by itself, which refuses
    return True


@torch._dynamo.assume_constant_result  # type: ignore[untyped-decorator]
def _refuse_inside(module: torch.nn.Module) -> None:
    state: OwnerState = vars(module)[STATE]
    check_inside(state.inside or inside(module, state.make_up), state.path)


def _run(module: torch.nn.Module, state: OwnerState, entry: GraphEntry, leaves: Sequence[Any]) -> Any:
    values = _gather(module, state, entry, leaves)
    if torch.compiler.is_dynamo_compiling():
        return graph_here(entry.graph_module)(*values)
    stack = module_stack_now()
    return entry.graph_module(*values) if stack is None else run_in_place(entry.graph_module, values, stack)


def _settle(
    module: torch.nn.Module, state: OwnerState, entry: GraphEntry, leaves: Sequence[Any]
) -> dict[str, torch.Tensor]:
    """The folded values that this call must not take from the module's buffers."""
    if torch.compiler.is_dynamo_compiling():
        return settle_compiled(module, state, entry)
    return settle_exported(module, state, entry) if _tracing(leaves) else settle(module, state, entry)


def _gather(module: torch.nn.Module, state: OwnerState, entry: GraphEntry, leaves: Sequence[Any]) -> list[Any]:
    """The values of the graph's placeholders, in order."""
    live = _settle(module, state, entry, leaves) if entry.folds else {}
    values = []
    for source in entry.inputs:
        if source.kind == "leaf":
            values.append(leaves[source.index])
        elif source.kind == "folded":
            values.append(live[source.target] if source.target in live else getattr(module, source.target))
        else:
            values.append(value_of(module, source))
    return values


def _tracing(leaves: Sequence[Any]) -> bool:
    """Whether somebody is compiling or exporting us: parameters may then be stand-ins, and nothing may be stored."""
    return torch.compiler.is_compiling() or any([isinstance(leaf, FakeTensor) for leaf in leaves])


@torch.compiler.disable(  # type: ignore[no-untyped-call,untyped-decorator]
    reason="a module patched by spyre-dsl was called with a signature it has no rewritten graph for: "
    "run the patched model once with such inputs, or plan with them, before compiling it with fullgraph=True "
    "(a model that calls its modules otherwise when it is traced: compile it once without fullgraph)"
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
        raise UnseenSignature(told(state.table, module, state.path, structure, leaves))
    gradients = torch.is_grad_enabled()
    with torch.inference_mode(False), torch.set_grad_enabled(gradients):  # leaving inference mode would enable them
        numbers = state.table.numbers(structure)
        entry = state.table.builder(module, state.path, original_forward(module), structure, leaves, numbers)
    adopt(module, state, entry)
    state.table.add(entry)
    return entry
