"""Which tensors lie in the same memory: what a program writes may be nothing else that it is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensor

SAME_SIZE = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
SHARED = "a tensor is given for two arguments of a model that writes in place: give a copy for one"
MAX_WORK = 10_000  # of numpy's search for a common byte of two strided arrays; after that they count as overlapping


@dataclass(frozen=True, eq=False)
class _Extent:
    """A tensor's bytes from `start` to before `end`; `given`: an argument, and not of the module."""

    start: int
    end: int
    name: str
    tensor: torch.Tensor
    given: bool
    written: bool


def require_apart(given: Mapping[str, Any], held: Mapping[str, Any], written: Iterable[str]) -> None:
    """Raise ValueError where an argument and another argument, or a tensor of the module, have memory in common and
    one of both is `written`.

    `given`, `held`: by name the arguments (what is no tensor is left out) and the module's tensors.
    """
    names = set(written)
    everything = [(name, item, True) for name, item in given.items()]
    everything += [(name, item, False) for name, item in held.items()]
    extents = [_extent(name, item, mine, name in names) for name, item, mine in everything if _has_memory(item)]
    open_: list[_Extent] = []
    for extent in sorted(extents, key=lambda item: item.start):
        open_ = [other for other in open_ if other.end > extent.start]
        for other in open_:
            if (extent.given or other.given) and (extent.written or other.written) and _in_common(extent, other):
                raise ValueError(f"{SHARED} ({other.name} and {extent.name} share memory)")
        open_.append(extent)


def copied_where_shared(tensors: Iterable[Any], others: Iterable[int]) -> list[Any]:
    """The tensors, those in one of the storages `others` (by address) as copies."""
    storages = frozenset(others)
    return [item.clone() if storage_of(item) in storages else item for item in tensors] if storages else list(tensors)


def write_back(writes: Iterable[tuple[torch.Tensor, Any]], results: Iterable[Any], kept: Iterable[int]) -> list[Any]:
    """Write each (place, tensor), and give the results, none of them in a place or in one of the storages `kept`.

    What lies in a place was read before it is written, as the graph is functional.
    """
    pairs = list(writes)
    places = {storage_of(place) for place, _ in pairs} - {0}
    made = copied_where_shared([tensor for _, tensor in pairs], places)
    given = copied_where_shared(results, places.union(kept))
    with torch.no_grad():
        for (place, _), tensor in zip(pairs, made, strict=True):
            place.copy_(tensor)
    return given


def storage_of(item: Any) -> int:
    """The address of a tensor's storage; 0 for what has none."""
    return int(item.untyped_storage().data_ptr()) if _has_memory(item) else 0


def _has_memory(item: Any) -> bool:
    if not isinstance(item, torch.Tensor) or isinstance(item, FakeTensor):
        return False
    return item.layout is torch.strided and not item.is_meta and item.numel() > 0


def _extent(name: str, tensor: torch.Tensor, given: bool, written: bool) -> _Extent:
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    start = tensor.data_ptr()
    return _Extent(start, start + (last + 1) * tensor.element_size(), name, tensor, given, written)


def _in_common(one: _Extent, other: _Extent) -> bool:
    """Whether two tensors of overlapping extents have a byte in common: columns side by side have none."""
    return bool(np.may_share_memory(_array(one.tensor), _array(other.tensor), max_work=MAX_WORK))  # type: ignore[arg-type]


def _array(tensor: torch.Tensor) -> Any:
    return tensor.detach().view(SAME_SIZE.get(tensor.element_size(), tensor.dtype)).numpy()
