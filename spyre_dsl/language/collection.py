"""Adapter files, loaded and checked together, as one set: ``spyre_dsl.load``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from spyre_dsl.language.adapter import AdapterSet
from spyre_dsl.language.checks import check
from spyre_dsl.language.diagnostics import RuleError, Severity, SpyreDslError
from spyre_dsl.language.loader import LoadResult, load_paths
from spyre_dsl.language.suggest import nearest


def load(*paths: str | Path, without: Collection[str] = ()) -> AdapterSet:
    """Load and check adapter files, and folders of them (``*.yaml``, ``*.yml``, sorted), as one set.

    ``without`` names adapters that are left out, before the set is checked. Raises RuleError, with all diagnostics of
    all files, if any of them is an error; FileNotFoundError for a path that does not exist; SpyreDslError for a name
    in ``without`` that no adapter has. Warnings do not stand in the way; ``spyre-dsl lint`` shows them.
    """
    missing = [str(path) for path in paths if not Path(path).exists()]
    if missing:
        raise FileNotFoundError(f"no adapters at {', '.join(missing)}: there is no such file or folder")
    results = _leave_out(load_paths([Path(path) for path in paths]), without)
    diagnostics = check(results)
    if any(found.severity is Severity.ERROR for found in diagnostics):
        raise RuleError(diagnostics)
    return AdapterSet(tuple(result.adapter for result in results if result.adapter is not None))


def _leave_out(results: Sequence[LoadResult], without: Collection[str]) -> list[LoadResult]:
    names = [result.adapter.name for result in results if result.adapter is not None]
    for name in without:
        if name not in names:
            near = nearest(name, names)
            hint = f"did you mean `{near}`?" if near else f"there are {', '.join(names)}"
            raise SpyreDslError(f"no adapter is called `{name}`\n  help: {hint}")
    return [result for result in results if result.adapter is None or result.adapter.name not in without]
