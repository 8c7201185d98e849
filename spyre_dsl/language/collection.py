"""Adapter files, loaded and checked together, as one set: ``spyre_dsl.load``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from spyre_dsl.language.adapter import AdapterSet
from spyre_dsl.language.checks import check
from spyre_dsl.language.diagnostics import Diagnostic, RuleError, Severity, SpyreDslError
from spyre_dsl.language.loader import LoadResult, load_paths
from spyre_dsl.language.resources import resource
from spyre_dsl.language.suggest import nearest

UNTESTED: Final = frozenset({"SD504", "SD506"})
"""What is said of rules that no test of their file shows at work: they can be read and matched all the same."""


LOCAL: Final = Path("adapters.d")


def default_folder() -> Path:
    """``./adapters.d`` if there is one, else the adapters that come with the product."""
    return LOCAL if LOCAL.is_dir() else resource("adapters.d")


def load(*paths: str | Path, without: Collection[str] = (), untested: bool = False) -> AdapterSet:
    """Load and check adapter files, and folders of them (``*.yaml``, ``*.yml``, sorted), as one set.

    Without ``paths``: ``./adapters.d`` if there is one, else the adapters that come with spyre-dsl, as on the command
    line.

    ``without`` names adapters that are left out, before the set is checked. ``untested`` also takes rules that no
    test of their file shows at work, to see what they match while they are being written.

    Raises RuleError, with all diagnostics of all files, if any of them is an error; FileNotFoundError for a path that
    does not exist; SpyreDslError for a name in ``without`` that no adapter has. Warnings do not stand in the way;
    ``spyre-dsl lint`` shows them.
    """
    adapters, diagnostics = examine(*paths, without=without)
    if not untested and diagnostics:
        raise RuleError(diagnostics)
    return adapters


def examine(*paths: str | Path, without: Collection[str] = ()) -> tuple[AdapterSet, tuple[Diagnostic, ...]]:
    """The set that ``load(untested=True)`` gives, and all findings if some of its rules are untested; else none.

    Raises as ``load`` does.
    """
    places = [Path(path) for path in paths] or [default_folder()]
    missing = [place for place in places if not place.exists()]
    if missing:
        hint = "; load() without a path takes those that come with spyre-dsl" if LOCAL in missing else ""
        told = ", ".join(map(str, missing))
        raise FileNotFoundError(f"no adapters at {told}: there is no such file or folder{hint}")
    results = _leave_out(load_paths(places), without)
    diagnostics = check(results)
    errors = [found for found in diagnostics if found.severity is Severity.ERROR]
    if any(found.code not in UNTESTED for found in errors):
        raise RuleError(diagnostics)
    adapters = AdapterSet(tuple(result.adapter for result in results if result.adapter is not None))
    return adapters, diagnostics if errors else ()


def _leave_out(results: Sequence[LoadResult], without: Collection[str]) -> list[LoadResult]:
    names = [result.adapter.name for result in results if result.adapter is not None]
    for name in without:
        if name not in names:
            near = nearest(name, names)
            hint = f"did you mean `{near}`?" if near else f"there are {', '.join(names)}"
            raise SpyreDslError(f"no adapter is called `{name}`\n  help: {hint}")
    return [result for result in results if result.adapter is None or result.adapter.name not in without]
