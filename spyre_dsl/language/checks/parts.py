"""Many files, loaded and checked one by one in several processes; what compares them comes after, in one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from spyre_dsl.language.checks import examine
from spyre_dsl.language.checks.examined import Examined
from spyre_dsl.language.checks.registry import Registered
from spyre_dsl.language.loader import LoadResult

File = TypeVar("File")

FILES_FOR_EACH: Final = 100
"""For fewer files a process is not worth starting."""


def processes_for(files: int) -> int:
    """How many processes so many files are worth: one for each core, if there is enough for each to do."""
    worth = files // FILES_FOR_EACH
    return min(worth, _usable_cores()) if worth > 1 else 1


def _usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def examine_all(
    files: Sequence[File], load: Callable[[File], LoadResult], registered: Sequence[Registered], processes: int
) -> list[Examined | OSError]:
    """Each file as it was found, or why it cannot be read; in the order given, whatever the number of processes.

    The first file is read in this process, also where that is standard input.

    Raises:
        PartFailed: a process broke off.
    """

    def part(first: int) -> list[Examined | OSError]:
        return [_examine(files[place], place, load, registered) for place in range(first, len(files), processes)]

    if processes < 2:
        return part(0)
    from spyre_dsl.language.processes import in_parts  # with all that it needs, for many files only

    found: list[Examined | OSError] = [OSError()] * len(files)
    for first, examined in enumerate(in_parts(part, processes)):
        found[first::processes] = examined
    return found


def _examine(
    file: File, place: int, load: Callable[[File], LoadResult], registered: Sequence[Registered]
) -> Examined | OSError:
    try:
        result = load(file)
    except OSError as problem:
        return problem
    return examine(result, place, registered)
