"""Stack profiles: which state of the stack is simulated. Imports neither torch nor numba.

`facts/` holds what is publicly known, once, with its dates; a profile names a day and, if it likes, what it changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .loading import StackError, UnknownStack, chosen_stack, load_stack, stack_names
from .model import Constants, Defect, Numerics, OpStatus, Restriction, Stack

if TYPE_CHECKING:
    from .difference import StackDifference, diff
    from .validation import Problem, problems_of

__all__ = [
    "Constants",
    "Defect",
    "Numerics",
    "OpStatus",
    "Problem",
    "Restriction",
    "Stack",
    "StackDifference",
    "StackError",
    "UnknownStack",
    "chosen_stack",
    "diff",
    "load_stack",
    "problems_of",
    "stack_names",
]

_LATER = {"StackDifference": "difference", "diff": "difference", "Problem": "validation", "problems_of": "validation"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_LATER[name]}", __name__), name)
