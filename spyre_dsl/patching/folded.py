"""The folded values of a patched module: kept as buffers, and computed again whenever they could be out of date.

Where gradients may flow to a parameter that a fold is made of, the value is computed afresh in every call, in training
and in evaluation mode alike: a kept value would cut the gradients off. Kept values serve the calls without gradients.
Such a call compares its parameters with those that were folded (``Stamp``). That comparison cannot see a fused
optimizer's step, which counts no version; so after any step of an optimizer, and after any call with gradients, the
values are folded again. Nothing shows a write through ``parameter.data``: that needs ``Applied.refresh``.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.optim.optimizer import register_optimizer_step_post_hook

from spyre_dsl.patching.autocast import autocast_now, without_autocast
from spyre_dsl.patching.entry import GraphEntry
from spyre_dsl.patching.export_owner import Source
from spyre_dsl.patching.fold import Fold
from spyre_dsl.patching.journal import Journal
from spyre_dsl.patching.owner_state import STATE, STATES, OwnerState
from spyre_dsl.patching.stamp import Stamp

_REFRESH_KEY = "spyre-dsl: refresh folded values"


def refresh(module: torch.nn.Module) -> None:
    """Compute the folded values of a patched module again, from its parameters as they are."""
    state: OwnerState = vars(module)[STATE]
    for made in state.folds.values():
        _keep(module, state, made)
    state.stale = False


def adopt(module: torch.nn.Module, state: OwnerState, entry: GraphEntry) -> None:
    """Give ``module`` the folded values that ``entry`` needs and that it does not have yet."""
    for made in entry.folds:
        if made.name in state.folds:
            continue
        values = _values(module, made.sources)
        state.journal.add_buffer(module, made.name, _computed(made, values))
        state.folds[made.name] = made
        state.stamps[made.name] = Stamp(values)
        for source in made.sources:
            _hook(module, source, state.journal)


def settle(module: torch.nn.Module, state: OwnerState, entry: GraphEntry) -> dict[str, torch.Tensor]:
    """Bring the kept values up to date; returns those that gradients must flow through, computed afresh."""
    live: dict[str, torch.Tensor] = {}
    transformed = _inside_a_transform()
    for made in entry.folds:
        if made.name not in state.folds:
            adopt(module, state, entry)
        values = _values(module, made.sources)
        if transformed or _differentiable(values):
            live[made.name] = made.compute(values)
        elif (stamp := state.stamps.get(made.name)) is None or not stamp.holds(values):
            _keep(module, state, made)
    if live:
        state.stale = True
    elif state.stale:
        refresh(module)
    return live


def settle_compiled(module: torch.nn.Module, state: OwnerState, entry: GraphEntry) -> dict[str, torch.Tensor]:
    """The same for ``torch.compile``, whose graphs keep nothing: what may be out of date is computed in the graph."""
    live: dict[str, torch.Tensor] = {}
    for made in entry.folds:
        values = _values(module, made.sources)
        if _differentiable(values):
            live[made.name] = made.program(*values)
            state.stale = True
        elif state.stale or made.name not in state.folds:
            live[made.name] = made.program(*values)
    return live


def settle_exported(module: torch.nn.Module, state: OwnerState, entry: GraphEntry) -> dict[str, torch.Tensor]:
    """The same while the module is exported, with stand-ins for its parameters.

    Under gradients the exported program computes the values from its parameters, as what is compiled then does: it
    can be trained. Under ``no_grad`` it holds them as constants.
    """
    live: dict[str, torch.Tensor] = {}
    for made in entry.folds:
        stamp, values = state.stamps.get(made.name), _values(module, made.sources)
        if state.stale or stamp is None or not stamp.may_hold() or _differentiable(values):
            live[made.name] = made.program(*values)
    return live


def value_of(module: torch.nn.Module, source: Source) -> torch.Tensor:
    """The parameter, buffer or constant that ``source`` names."""
    if source.value is not None:
        return source.value
    value: Any = module
    for part in source.target.split("."):
        value = getattr(value, part)
    return value  # type: ignore[no-any-return]


@lru_cache(maxsize=1)
def watch_optimizers() -> None:
    """Have every patched module marked as stale after every step of any optimizer."""
    register_optimizer_step_post_hook(_after_step)


def _after_step(*_: Any) -> None:
    for state in list(STATES):
        state.stale = True


def _differentiable(values: Sequence[torch.Tensor]) -> bool:
    return torch.is_grad_enabled() and any([value.requires_grad for value in values])


def _inside_a_transform() -> bool:
    """Whether torch.func or forward-mode differentiation is at work, for which ``requires_grad`` says nothing."""
    return torch._C._functorch.maybe_current_level() is not None or forward_ad._current_level >= 0


def _keep(module: torch.nn.Module, state: OwnerState, made: Fold) -> None:
    values = _values(module, made.sources)
    module._buffers[made.name] = _computed(made, values)
    state.stamps[made.name] = Stamp(values)


def _computed(made: Fold, values: Sequence[torch.Tensor]) -> torch.Tensor:
    with torch.inference_mode(False), torch.no_grad():
        made_now: torch.Tensor = without_autocast(autocast_now(), made.compute, values)
        return made_now.detach().contiguous()


def _values(module: torch.nn.Module, sources: Sequence[Source]) -> list[torch.Tensor]:
    return [value_of(module, source) for source in sources]


def _hook(module: torch.nn.Module, source: Source, journal: Journal) -> None:
    """Refresh when the module that holds ``source``, or one above it, loads a state dict."""
    if source.kind == "constant":
        return
    holder = module.get_submodule(source.target.rpartition(".")[0])
    for each in {id(each): each for each in (module, holder)}.values():
        if _REFRESH_KEY not in vars(each)["_load_state_dict_post_hooks"]:
            hook = types.MethodType(_refresh_after_load, module)
            journal.set_key(each, "_load_state_dict_post_hooks", _REFRESH_KEY, hook)


def _refresh_after_load(owner: torch.nn.Module, _loaded: torch.nn.Module, _keys: Any) -> None:
    refresh(owner)
