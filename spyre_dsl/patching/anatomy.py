"""What two modules must have in common to share graphs, and which parameters are shared inside a model."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import torch

from spyre_dsl.language.adapter import AdapterSet
from spyre_dsl.matching.scope import path_matches
from spyre_dsl.patching.eager import family_of


def anatomy(module: torch.nn.Module) -> Hashable:
    """Equal for modules that have the same classes, parameters and buffers (by name, shape, dtype, device and ties).

    Forwards that rules gave to modules do not count here. Plain attributes are not part of it: which of them matter is
    known once a forward was traced (``reads``).
    """
    first: dict[int, str] = {}
    parts: list[Hashable] = []
    for path, inner in module.named_modules(remove_duplicate=False):
        tensors = tuple(
            (name, _kind(tensor), first.setdefault(id(tensor), f"{path}.{name}")) for name, tensor in _own(inner)
        )
        parts.append((path, type(inner), tensors, _foreign_forward(inner)))
    return tuple(parts)


def paths_in_scope(adapters: AdapterSet, path: str, module: torch.nn.Module) -> Hashable:
    """For each rule with a ``path``, the modules below ``path`` (relative) that it names, and those above."""
    inner = [(name, ".".join(filter(None, (path, name)))) for name, _ in module.named_modules()]
    above = [".".join(path.split(".")[:count]) for count in range(len(path.split(".")))]
    found: list[Hashable] = []
    for _, rule in adapters.rules():
        if rule.match.path is not None:
            named = tuple(name for name, full in inner if path_matches(rule.match.path, full))
            found.append((named, tuple(len(each) for each in above if path_matches(rule.match.path, each))))
    return tuple(found)


def tied_parameters(model: torch.nn.Module) -> dict[str, tuple[str, ...]]:
    """Every name of a parameter that has several, with all its names."""
    names: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return {name: tuple(group) for group in names.values() if len(group) > 1 for name in group}


def _own(module: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    yield from module._parameters.items()
    for name, buffer in module._buffers.items():
        if not name.startswith("_spyre"):
            yield name, buffer


def _kind(tensor: torch.Tensor | None) -> Hashable:
    return None if tensor is None else (tuple(tensor.shape), tensor.dtype, tensor.device.type)


def _foreign_forward(module: torch.nn.Module) -> int:
    """What somebody else put on this very module in place of its class's forward, which other modules may not have."""
    held = vars(module).get("forward")
    is_own = held is None or family_of(getattr(held, "__func__", None)) is not None
    return 0 if is_own else id(held)
