"""The stack profile that a name, a day or a file stands for: one resolution for every command and for Python.

Imports neither torch nor numba, so that a wrong name is told at once.
"""

from __future__ import annotations

from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from spyre_dsl.language.diagnostics import SpyreDslError
from spyre_dsl.language.suggest import nearest

if TYPE_CHECKING:
    from spyre_sim import Stack

DEFAULT_STACK: Final = "2026-06"
AnyStack: TypeAlias = "str | Path | Stack"


class StackProblem(SpyreDslError):
    """No profile has that name, or the profile in that file cannot be used."""


def load_stack(name: AnyStack = DEFAULT_STACK) -> Stack:
    """A dated capability profile of compiler and device.

    ``name`` is a profile's name (``2026-06``, ``ideal``), a day (``2026-07-15``: the public facts as they stood then),
    or the path of a YAML file. A profile that is loaded already is returned as it is. Raises StackProblem, with the
    nearest name, or with every problem of the file and its line.
    """
    import spyre_sim
    from spyre_sim.stacks import StackError, UnknownStack

    try:
        return spyre_sim.load_stack(name)
    except UnknownStack as problem:
        raise StackProblem(_unknown(fspath(name))) from problem
    except StackError as problem:
        raise StackProblem(f"the stack profile {name} cannot be used\n{problem}") from problem
    except (ValueError, OSError) as problem:
        raise StackProblem(f"the stack profile {name} cannot be used: {problem}") from problem


def _unknown(name: str) -> str:
    import spyre_sim
    from spyre_sim.stacks.loading import FIRST_DAY, LAST_DAY

    names = spyre_sim.stack_names()
    near = nearest(name, names)
    hint = f"did you mean `{near}`? " if near else ""
    return (
        f"no stack `{name}`\n  help: {hint}there are {', '.join(names)}, the days from {FIRST_DAY} to {LAST_DAY}, "
        "and files that end in .yaml"
    )
