"""What ``lint`` finds once files are loaded: one module a check or close family, registered where it is defined.

Checks take what could be read and pass over what could not, so that no finding is a consequence of another.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from spyre_dsl.language.checks.examined import Examined, sound_rules
from spyre_dsl.language.checks.registry import CHECKS, Registered
from spyre_dsl.language.checks.view import AdapterView
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.source import Source
from spyre_dsl.language.suppressions import suppress

if TYPE_CHECKING:
    from spyre_dsl.language.loader import LoadResult

MODULES = (
    "calls", "choices", "names", "attributes", "captures", "lets", "facts", "division", "guards", "tensors", "patterns",
    "replacements", "duplicates", "coverage", "requires", "blocks", "scopes", "rule_set",
)  # fmt: skip
"""The modules that hold the checks, in the order in which they run."""

DEEP_MODULES = ("installed", "module_names")
"""The modules whose checks look at the installed transformers and torch; only ``deep`` imports them."""

DEEP_CODES = frozenset({"SD104", "SD213", "SD214", "SD216", "SD218"})
"""What the checks of ``DEEP_MODULES`` report, without their being imported."""

CODES_OF_SEVERAL = frozenset({"SD402", "SD403", "SD404", "SD405", "SD501"})
"""What may be said of a file for what stands in another."""


def check(
    results: Sequence[LoadResult],
    *,
    select: Collection[str] | None = None,
    ignore: Collection[str] | None = None,
    deep: bool = False,
) -> tuple[Diagnostic, ...]:
    """All findings of all files: those of loading and those of the checks.

    Args:
        results: the files, as the loader gives them.
        select: codes, or beginnings of codes (``SD3``), to report; all if None.
        ignore: codes, or beginnings of codes, not to report.
        deep: also compare with the installed transformers and torch, which imports neither unless it has to.

    Returns:
        Each finding once, by file in the order given, then by place; without those that the files silence.
    """
    registered = checks(deep=deep)
    files = [examine(result, place, registered) for place, result in enumerate(results)]
    return compare(files, registered, select=select, ignore=ignore)


def checks(*, deep: bool = False) -> Sequence[Registered]:
    """All checks, imported; those that look at the installed packages if ``deep``."""
    for module in (*MODULES, *(DEEP_MODULES if deep else ())):
        import_module(f"{__name__}.{module}")
    return [entry for entry in CHECKS if deep or not entry.deep]


def examine(result: LoadResult, place: int, registered: Sequence[Registered]) -> Examined:
    """A file by itself, which is number ``place`` of all.

    All checks see one file before the next: what they share is at hand then, and need not be kept.
    """
    if result.adapter is None:
        return Examined(result.source, result.diagnostics)
    view = AdapterView(result.adapter, tuple([found.span for found in result.diagnostics]))
    found = list(result.diagnostics)
    for entry in registered:
        if entry.each is not None:
            found.extend(entry.each(view))
    rules = sound_rules(view, place, found)
    view.forget()
    return Examined(result.source, found, result.adapter, rules)


def compare(
    files: Sequence[Examined],
    registered: Sequence[Registered],
    *,
    select: Collection[str] | None = None,
    ignore: Collection[str] | None = None,
) -> tuple[Diagnostic, ...]:
    """What ``check`` returns, of files that were examined one by one."""
    found = [diagnostic for file in files for diagnostic in file.diagnostics]
    for entry in registered:
        if entry.together is not None:
            found.extend(entry.together(files))
    sources = [file.source for file in files]
    kept = suppress(sources, found, _not_looked_for(registered, len(files)))
    return tuple(_sorted(sources, _wanted(kept, select, ignore)))


def _not_looked_for(registered: Sequence[Registered], files: int) -> frozenset[str]:
    """The codes of which this run finds none, or not all: a file can be linted alone, and without deep mode."""
    shallow = not any(entry.deep for entry in registered)
    return (DEEP_CODES if shallow else frozenset()) | (CODES_OF_SEVERAL if files == 1 else frozenset())


def _wanted(
    found: Sequence[Diagnostic], select: Collection[str] | None, ignore: Collection[str] | None
) -> list[Diagnostic]:
    chosen = tuple(select) if select is not None else ("",)
    refused = tuple(ignore or ())
    return [entry for entry in found if entry.code.startswith(chosen) and not entry.code.startswith(refused)]


def _sorted(sources: Sequence[Source], found: Sequence[Diagnostic]) -> list[Diagnostic]:
    order: dict[int, int] = {}
    for place, source in enumerate(sources):
        order.setdefault(id(source), place)
    once = {(id(entry.source), entry.span, entry.code, entry.message): entry for entry in found}
    last = len(sources)
    return sorted(
        once.values(),
        key=lambda entry: (order.get(id(entry.source), last), entry.span.start, entry.span.end, entry.code),
    )
