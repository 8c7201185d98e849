"""What a forward read, as a record, and whether it is still so in the module that asks."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from spyre_dsl.patching.read_values import equal
from spyre_dsl.patching.settings import attributes

NOTHING = object()
"""What a class holds under a name that it does not have."""


class Place(NamedTuple):
    """Where attributes are: the module at ``path`` (in parts), or the settings that ``inner`` leads to from there.

    ``inner`` has the names on the way, each with the class of the settings that it gave.
    """

    path: tuple[str, ...]
    inner: tuple[tuple[str, type], ...] = ()


class Held(NamedTuple):
    """What was read at one place: values by name, and names that were not there, with what the class gave instead.

    ``size`` is the number of attributes where all of them were looked at at once, else -1.
    """

    place: Place
    values: tuple[tuple[str, Any], ...]
    absent: tuple[tuple[str, Any], ...]
    size: int = -1


class Tensors(NamedTuple):
    """The parameters and buffers of the module at ``path`` that were looked up: of which kind each was.

    A kind is (dtype, shape); None for one that is registered as None, ``NOTHING`` for a name that was not there.
    (Not the device: graphs that were planned on ``meta`` serve a model on any.)
    """

    path: tuple[str, ...]
    kinds: tuple[tuple[str, Any], ...]


class Reads(NamedTuple):
    """All that a forward read. Each pair of ``shared`` are two places that gave the same settings (maybe one place).

    ``gradients`` says whether they were enabled, if the forward asked for it, else None.
    """

    held: tuple[Held, ...] = ()
    shared: tuple[tuple[Place, Place], ...] = ()
    gradients: bool | None = None
    tensors: tuple[Tensors, ...] = ()


def still_hold(reads: Reads, module: torch.nn.Module) -> bool:
    """Whether everything in ``reads`` is equal in ``module``. What ``torch.compile`` makes of it guards its graphs."""
    if reads.gradients is not None and reads.gradients != torch.is_grad_enabled():
        return False
    if not _tensors_hold(reads, module):
        return False
    if torch.compiler.is_dynamo_compiling():
        return _still_hold_traced(reads, module)
    for place, values, absent, size in reads.held:
        holder = settings_at(module, place)
        if holder is None:
            return False
        held = attributes(holder)
        if size >= 0 and size != len(held):
            return False
        for name, value in values:
            if name not in held or not (held[name] is value or equal(held[name], value)):
                return False
        for name, _ in absent:
            if name in held:
                return False
    return not reads.shared or _are_shared(reads, module)


def kind_of(tensor: torch.Tensor | None) -> Any:
    """What a graph may depend on in a tensor of its owner, beside the values."""
    return None if tensor is None else (tensor.dtype, tuple(tensor.shape))


def _tensors_hold(reads: Reads, module: torch.nn.Module) -> bool:
    for path, kinds in reads.tensors:
        holder = module
        for part in path:
            holder = holder._modules[part]  # type: ignore[assignment]
        parameters, buffers = holder._parameters, holder._buffers
        value: torch.Tensor | None
        for name, kind in kinds:
            if name in parameters:
                value = parameters[name]
            elif name in buffers:
                value = buffers[name]
            elif kind is NOTHING:
                continue
            else:
                return False
            if value is None or kind is None or kind is NOTHING:
                if value is not None or kind is not None:
                    return False
            elif value.dtype != kind[0] or value.shape != kind[1]:
                return False
    return True


def _are_shared(reads: Reads, module: torch.nn.Module) -> bool:
    for place, other in reads.shared:
        settings = settings_at(module, place)
        if settings is None or settings is not settings_at(module, other):
            return False
    return True


def settings_at(module: torch.nn.Module, place: Place) -> Any:
    """The module or settings at ``place`` below ``module``; None if there are no such settings."""
    for part in place.path:
        module = module._modules[part]  # type: ignore[assignment]
    holder: Any = module
    for name, kind in place.inner:
        holder = attributes(holder).get(name)
        if type(holder) is not kind:
            return None
    return holder


def _still_hold_traced(reads: Reads, module: torch.nn.Module) -> bool:
    """The same in terms that torch.compile follows: it guards the lack of a name that ``getattr`` did not find.

    (The number of attributes it does not guard: it is looked at when the module is compiled.)
    """
    for place, values, absent, size in reads.held:
        holder = _at_traced(module, place)
        if holder is None or (size >= 0 and size != len(holder.__dict__)):
            return False
        for name, value in values:
            found = getattr(holder, name, NOTHING)
            if found is not value and not equal(found, value):
                return False
        for name, default in absent:
            if hasattr(type(default), "__get__"):  # a method: each lookup binds it anew
                continue
            if getattr(holder, name, NOTHING) is not default:
                return False
    for place, other in reads.shared:
        settings = _at_traced(module, place)
        if settings is None or settings is not _at_traced(module, other):
            return False
    return True


def _at_traced(module: torch.nn.Module, place: Place) -> Any:
    for part in place.path:
        module = module._modules[part]  # type: ignore[assignment]
    holder: Any = module
    for name, kind in place.inner:
        holder = getattr(holder, name, None)
        if type(holder) is not kind:
            return None
    return holder
