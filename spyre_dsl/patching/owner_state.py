"""What one patched module knows about its patch."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from spyre_dsl.patching.entry import GraphTable
from spyre_dsl.patching.errors import NotPicklable
from spyre_dsl.patching.fold import Fold
from spyre_dsl.patching.inside import Inside, MakeUp
from spyre_dsl.patching.journal import Journal
from spyre_dsl.patching.stamp import Stamp

STATE = "_spyre_owner"
"""The attribute of a patched module that holds its ``OwnerState``."""


@dataclass(eq=False)
class OwnerState:
    """The graphs of one patched module, its folded values, and what is inside it.

    ``stale`` says that parameters may have changed without a trace since the values were folded: something was trained.
    ``sound`` is False once something inside the module was found to be another than its graphs were made from.
    A deep copy of the module gets a state of its own.
    """

    owner: weakref.ref[torch.nn.Module]
    table: GraphTable
    path: str
    base: Callable[..., Any] | None
    journal: Journal
    make_up: MakeUp
    inside: Inside | None = None
    stamps: dict[str, Stamp] = field(default_factory=dict)
    folds: dict[str, Fold] = field(default_factory=dict)
    stale: bool = False
    sound: bool = True

    def __post_init__(self) -> None:
        STATES.add(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> OwnerState:
        owner = self.owner()
        made = OwnerState(
            weakref.ref(memo[id(owner)]), self.table, self.path, None, Journal(), self.make_up,
            folds=dict(self.folds), stale=self.stale,
        )  # fmt: skip
        memo[id(self)] = made
        made.base = copy.deepcopy(self.base, memo)
        made.journal = copy.deepcopy(self.journal, memo)
        copies = {name: stamp.copied(memo) for name, stamp in self.stamps.items()}
        made.stamps = {name: stamp for name, stamp in copies.items() if stamp is not None}
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise NotPicklable(
            f"{self.path or 'the model'} is patched by spyre-dsl, and its rewritten graphs belong to this process: they"
            " cannot be pickled (torch.save of a whole model, or handing one to another process)\n  help: save "
            "`model.state_dict()`, which is that of the unpatched model, load it there, and plan and apply again; or "
            "revert the model first"
        )


STATES: weakref.WeakSet[OwnerState] = weakref.WeakSet()
"""Those of all patched modules of this process."""
