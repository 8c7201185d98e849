"""Stack profiles: which state of the stack is simulated. Imports neither torch nor numba.

`facts/` holds what is publicly known, once, with its dates; a profile names a day and, if it likes, what it changes.
"""

from __future__ import annotations

from .difference import StackDifference, diff
from .loading import StackError, UnknownStack, load_stack, stack_names
from .model import Constants, Defect, Numerics, OpStatus, Restriction, Stack
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
    "diff",
    "load_stack",
    "problems_of",
    "stack_names",
]
