"""A patched model: what was done to it, and how to undo it."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType

import torch

from spyre_dsl.patching.errors import ApplyError
from spyre_dsl.patching.install import STATE, OwnerState, refresh
from spyre_dsl.patching.journal import APPLIED, Record


class Applied:
    """The handle that ``Plan.apply`` returns; as a context manager it reverts at the end of the block."""

    def __init__(self, model: torch.nn.Module) -> None:
        """The handle of any patched model: one that a plan was applied to, or a deep copy of such a one.

        Raises ApplyError if ``model`` is not patched.
        """
        if not is_patched(model):
            raise ApplyError(f"this {type(model).__name__} is not patched")
        self.model = model
        self._record: Record = vars(model)[APPLIED]

    def revert(self) -> None:
        """Bring back the very same forwards, attributes, buffers and hooks. A second call does nothing."""
        self._record.undo()

    def refresh(self) -> None:
        """Compute all folded values again: needed after writing through ``parameter.data``, which leaves no trace."""
        for module in self.owners().values():
            refresh(module)

    def owners(self) -> Mapping[str, torch.nn.Module]:
        """The modules whose forward is replaced, by path."""
        return {path: module for path, module in self.model.named_modules() if STATE in vars(module)}

    def code(self, path: str) -> str:
        """The Python that the owner at ``path`` runs, one function for each signature seen so far."""
        state: OwnerState = vars(self.model.get_submodule(path))[STATE]
        return "\n".join(f"# {entry.example}{entry.code}" for entry in state.table.all())

    def __enter__(self) -> Applied:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.revert()


def is_patched(model: torch.nn.Module) -> bool:
    """Whether a plan is applied to this model right now."""
    return APPLIED in vars(model)


def patched_inside(model: torch.nn.Module) -> str | None:
    """The path of a module in ``model`` that is patched already, if there is one."""
    for path, module in model.named_modules():
        if STATE in vars(module) or APPLIED in vars(module):
            return str(path)
    return None
