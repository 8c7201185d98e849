"""The tensors of a module that a program was compiled with, looked up where the module has them now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from .capture import Captured, Source


@dataclass(frozen=True, eq=False)
class _Place:
    """Where a tensor is held, and which it was; `holder`: a dict of the module, None for a constant of the code."""

    holder: Mapping[str, Any] | None
    key: str
    tensor: torch.Tensor
    address: int
    version: int

    def now(self) -> Any:
        """What is there now; None if nothing is."""
        return self.tensor if self.holder is None else self.holder.get(self.key)

    def is_same(self) -> bool:
        """Nobody has put another tensor there, or written on this one in a way that torch counts."""
        item = self.now()
        return item is self.tensor and item.data_ptr() == self.address and _version(item) == self.version


class Weights:
    """Parameters, buffers and constants of a captured graph; what it writes itself is apart, as it is read anew."""

    def __init__(self, captured: Captured, owner: Any) -> None:
        written = {target for _, target in captured.writes if isinstance(target, str)}
        used = {node.name for node in captured.nodes if node.op == "placeholder" and node.users}
        modules = dict(owner.named_modules(remove_duplicate=False)) if isinstance(owner, torch.nn.Module) else {}
        self._read: dict[str, _Place] = {}
        self._written: dict[str, _Place] = {}
        for name, source in captured.sources.items():
            if source.kind == "input" or not isinstance(source.tensor, torch.Tensor):
                continue
            if source.name in written:
                self._written[source.name] = _place(modules, source)
            elif name in used:
                self._read[source.name] = _place(modules, source)

    def changed(self) -> bool:
        """Has anything that the program only reads been replaced or written on since?"""
        return not all(place.is_same() for place in self._read.values())

    def written(self) -> dict[str, torch.Tensor]:
        """What the program writes, by path, as it is now."""
        return {name: _now(name, place) for name, place in self._written.items()}

    def all(self) -> dict[str, torch.Tensor]:
        """Every tensor by path as it is now. Raises ValueError for one that is gone or of another shape or dtype."""
        return {name: _now(name, place) for name, place in {**self._read, **self._written}.items()}

    def owned(self) -> list[torch.Tensor]:
        """Those that the module has, as they were compiled with: constants of the code left out."""
        places = (*self._read.values(), *self._written.values())
        return [place.tensor for place in places if place.holder is not None]

    def captured_now(self, captured: Captured) -> Captured:
        """The graph with the tensors as they are now."""
        now = self.all()
        sources = {
            name: replace(source, tensor=now[source.name]) if source.kind != "input" and source.name in now else source
            for name, source in captured.sources.items()
        }
        return replace(captured, sources=sources)


def _place(modules: Mapping[str, torch.nn.Module], source: Source) -> _Place:
    tensor = source.tensor
    return _Place(_holder(modules, source), source.name.rpartition(".")[2], tensor, tensor.data_ptr(), _version(tensor))


def _holder(modules: Mapping[str, torch.nn.Module], source: Source) -> Mapping[str, Any] | None:
    """The dict of a module that has this very tensor under its name, if there is one."""
    module_path, _, name = source.name.rpartition(".")
    module = modules.get(module_path)
    if module is not None:
        for holder in (module._parameters, module._buffers, vars(module)):
            if holder.get(name) is source.tensor:
                return holder
    return None


def _version(tensor: torch.Tensor) -> int:
    """How often torch has counted a write; tensors of inference mode count none."""
    return -1 if tensor.is_inference() else tensor._version


def _now(name: str, place: _Place) -> torch.Tensor:
    item = place.now()
    if not isinstance(item, torch.Tensor):
        raise ValueError(f"compiled with {name}, which the module no longer has: compile it again")
    was, now = (place.tensor.shape, place.tensor.dtype), (item.shape, item.dtype)
    if was != now or item.is_meta:
        shown = [f"{list(shape)} of {str(dtype).removeprefix('torch.')}" for shape, dtype in (was, now)]
        where = " on the meta device" if item.is_meta else ""
        raise ValueError(f"compiled for {name} as {shown[0]}, and it is {shown[1]}{where}: compile it again")
    return item
