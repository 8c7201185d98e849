"""What can go wrong between a rule and a patched module."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

from spyre_dsl.language.diagnostics import SpyreDslError
from spyre_dsl.language.source import Source
from spyre_dsl.language.syntax import NO_SPAN, Span


class PatchError(SpyreDslError):
    """The root of all errors of planning, applying and running patches."""


class RewriteError(PatchError):
    """A rewrite that cannot be carried out: a changed shape or dtype, arguments no overload takes, a tied weight."""


class RewriteLoop(RewriteError):
    """Rules that keep undoing or feeding each other; ``rules`` names the rules of the loop, in the order they fired."""

    def __init__(self, rules: Sequence[str], what: str) -> None:
        self.rules = tuple(rules)
        super().__init__(f"{what}: {' -> '.join(self.rules)}")


class TiedWeightError(RewriteError):
    """A rewrite would give a shared parameter two different values."""


class ExportError(PatchError):
    """A module could not be exported alone with the inputs it received."""


class UnseenSignature(PatchError):
    """A patched module was called, while compiling or exporting, in a way that it has no rewritten graph for."""


class ApplyError(PatchError):
    """A plan does not fit the model it is applied to, or the model is patched already."""


class NotPicklable(PatchError, pickle.PicklingError):
    """A patched model was to be pickled."""


def place_in(source: Source | None, span: Span) -> str:
    """``file:line:column: `` of a place in a rule file, to stand before a message; empty where it is not known."""
    return "" if source is None or span == NO_SPAN else f"{source.place(span.start)}: "


def patched(path: str) -> tuple[str, str]:
    """How messages call a patched module: where something is inside it, and the module itself."""
    return (f"the patched module `{path}`", f"`{path}`") if path else ("the patched model", "the model")
