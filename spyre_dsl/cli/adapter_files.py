"""The adapters and the stack that a command works with, found and checked before anything heavy is imported."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from spyre_dsl.language.adapter import AdapterSet
from spyre_dsl.language.collection import UNTESTED, default_folder, examine, load
from spyre_dsl.language.diagnostics import RuleError, SpyreDslError
from spyre_dsl.language.loader import adapter_files
from spyre_dsl.targets.profiles import load_stack

UNUSABLE = 2

__all__ = ["UNUSABLE", "complain", "default_folder", "load_adapters", "load_stack", "load_untested"]


def load_adapters(paths: Sequence[str] = (), without: Sequence[str] = ()) -> AdapterSet:
    """The checked adapters of ``paths``, or the default ones.

    Raises as ``spyre_dsl.load`` does, and SpyreDslError for a folder without adapter files: nothing would be patched.
    """
    return load(*_places(paths), without=without)


def load_untested(paths: Sequence[str] = (), without: Sequence[str] = ()) -> AdapterSet:
    """As ``load_adapters``, with rules that no test shows at work yet; standard error names them.

    For the commands that say what a rule matches, which is asked before a test can be written. A test is what proves
    a rule, so ``lint`` and ``test`` go on refusing such files.
    """
    adapters, found = examine(*_places(paths), without=without)
    for untested in (finding for finding in found if finding.code in UNTESTED):
        place = untested.source.place(untested.span.start)
        print(f"{place}: warning[{untested.code}]: {untested.message}; nothing proves it", file=sys.stderr)
    return adapters


def _places(paths: Sequence[str]) -> Sequence[str | Path]:
    places: Sequence[str | Path] = paths or [default_folder()]
    empty = [str(place) for place in places if Path(place).is_dir() and next(adapter_files(str(place)), None) is None]
    if empty:
        raise SpyreDslError(f"no adapter files (*.yaml, *.yml) in {', '.join(empty)}")
    return places


def complain(problem: Exception) -> int:
    """Tell the user what makes the input unusable, rule files with carets under their errors; the exit code."""
    if isinstance(problem, RuleError):
        from spyre_dsl.cli.reporters import Findings, find_reporter

        findings = Findings(problem.diagnostics, len({found.source.name for found in problem.diagnostics}))
        print(find_reporter("text")(findings, colour=sys.stderr.isatty()), file=sys.stderr, end="")
    else:
        print(f"error: {problem}", file=sys.stderr)
    return UNUSABLE
