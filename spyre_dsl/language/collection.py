"""Adapter files, loaded and checked together, as one set: ``spyre_dsl.load``."""

from __future__ import annotations

from pathlib import Path

from spyre_dsl.language.adapter import AdapterSet
from spyre_dsl.language.checks import check
from spyre_dsl.language.diagnostics import RuleError, Severity
from spyre_dsl.language.loader import load_paths


def load(*paths: str | Path) -> AdapterSet:
    """Load and check adapter files, and folders of them (``*.yaml``, ``*.yml``, sorted), as one set.

    Raises RuleError, with all diagnostics of all files, if any of them is an error, and FileNotFoundError for a path
    that does not exist. Warnings do not stand in the way; ``spyre-dsl lint`` shows them.
    """
    missing = [str(path) for path in paths if not Path(path).exists()]
    if missing:
        raise FileNotFoundError(f"no adapters at {', '.join(missing)}: there is no such file or folder")
    results = load_paths([Path(path) for path in paths])
    diagnostics = check(results)
    if any(found.severity is Severity.ERROR for found in diagnostics):
        raise RuleError(diagnostics)
    return AdapterSet(tuple(result.adapter for result in results if result.adapter is not None))
