"""The adapters and the stack that a command works with, found and checked before anything heavy is imported."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spyre_dsl.language.adapter import AdapterSet
from spyre_dsl.language.collection import load
from spyre_dsl.language.diagnostics import RuleError, SpyreDslError
from spyre_dsl.language.resources import resource
from spyre_dsl.language.suggest import nearest

if TYPE_CHECKING:
    from spyre_sim import Stack

UNUSABLE = 2
LOCAL = Path("adapters.d")


def default_folder() -> Path:
    """``./adapters.d`` if there is one, else the adapters that come with the product."""
    return LOCAL if LOCAL.is_dir() else resource("adapters.d")


def load_adapters(paths: Sequence[str] = (), without: Sequence[str] = ()) -> AdapterSet:
    """The checked adapters of ``paths``, or the default ones. Raises as ``spyre_dsl.load`` does."""
    places: Sequence[str | Path] = paths or [default_folder()]
    return load(*places, without=without)


def complain(problem: Exception) -> int:
    """Tell the user what makes the input unusable, rule files with carets under their errors; the exit code."""
    if isinstance(problem, RuleError):
        from spyre_dsl.cli.reporters import Findings, find_reporter

        findings = Findings(problem.diagnostics, len({found.source.name for found in problem.diagnostics}))
        print(find_reporter("text")(findings, colour=sys.stderr.isatty()), file=sys.stderr, end="")
    else:
        print(f"error: {problem}", file=sys.stderr)
    return UNUSABLE


def load_stack(name: str) -> Stack:
    """The stack profile ``name``. Raises SpyreDslError, with the nearest name, if there is none."""
    import spyre_sim

    names = list(spyre_sim.stack_names())
    if name not in names and not Path(name).is_file():
        near = nearest(name, names)
        hint = f"did you mean `{near}`? " if near else ""
        raise SpyreDslError(f"no stack `{name}`\n  help: {hint}there are {', '.join(names)}")
    try:
        return spyre_sim.load_stack(name)
    except (ValueError, OSError) as problem:
        raise SpyreDslError(f"the stack profile {name} cannot be used: {problem}") from problem
