"""Whether parameters are still those that a value was folded from."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef


class Stamp:
    """Which tensors were folded, and in what state. Their memory is held weakly: an address that is used again for
    another tensor does not look like the first."""

    __slots__ = ("marks", "storages", "tensors")

    def __init__(self, values: Sequence[torch.Tensor]) -> None:
        self.tensors = [weakref.ref(value) for value in values]
        self.storages = [
            StorageWeakRef(value.untyped_storage())  # type: ignore[no-untyped-call]
            for value in values
        ]
        self.marks = [_mark(value) for value in values]

    def holds(self, values: Sequence[torch.Tensor]) -> bool:
        """Whether ``values`` are the tensors that were folded, and nothing (but ``.data``) wrote to them since."""
        for value, tensor, mark in zip(values, self.tensors, self.marks):
            if tensor() is not value or _mark(value) != mark:
                return False
        return True

    def may_hold(self) -> bool:
        """The same, where the module holds stand-ins for its tensors: as far as the tensors themselves tell."""
        found = [tensor() for tensor in self.tensors]
        return all(value is not None and _mark(value) == mark for value, mark in zip(found, self.marks))

    def copied(self, memo: Mapping[int, Any]) -> Stamp | None:
        """The stamp of a deep copy (``memo`` is that of ``copy.deepcopy``), if the value was up to date by then.

        None where a tensor was not copied as it is: it was left out, or cast to another dtype.
        """
        found = [tensor() for tensor in self.tensors]
        copies = [twin for value in found if isinstance(twin := memo.get(id(value)), torch.Tensor)]
        if not self.may_hold() or len(copies) < len(found):
            return None
        same = all(value is not None and value.dtype == twin.dtype for value, twin in zip(found, copies))
        return Stamp(copies) if same else None


def _mark(value: torch.Tensor) -> tuple[Any, ...]:
    version = -1 if value.is_inference() else value._version
    return (value.untyped_storage()._cdata, value.data_ptr(), value.dtype, version)
