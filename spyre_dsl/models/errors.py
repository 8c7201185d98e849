"""What can be wrong with a model before anything of ours runs. The command line ends with exit code 2 on these."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from spyre_dsl.language.diagnostics import SpyreDslError


@dataclass(frozen=True, slots=True)
class Attempt:
    """One place where a model was looked for: ``place`` in words, ``outcome`` what was found there."""

    place: str
    outcome: str


class ModelError(SpyreDslError):
    """The model cannot be used; the message says why, ``hint`` what would help."""

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = message
        self.hint = hint
        super().__init__(f"{message}\n  help: {hint}" if hint else message)


LONGEST_NAME, LONGEST_PATH = 255, 4095
"""How many bytes a file's name, and a whole path, may have on Linux."""


def refuse_long_name(name: str) -> None:
    """Raise ModelError if ``name`` is longer than any path could be; the message has its beginning only."""
    path = os.fsencode(name)
    if len(path) > LONGEST_PATH or any(len(part) > LONGEST_NAME for part in path.split(b"/")):
        raise ModelError(f"`{name[:_SHOWN]}...` ({len(name)} characters) is too long for the name of a model or a file")


_SHOWN = 40
"""How many characters of such a name are shown."""


class ModelNotFound(ModelError):
    """The name led nowhere; ``attempts`` lists every place in the order in which it was tried."""

    def __init__(self, name: str, attempts: Sequence[Attempt], hint: str = "") -> None:
        self.name = name
        self.attempts = tuple(attempts)
        lines = [f"no model `{name}` was found; looked, in this order, at"]
        lines += [f"  {number}. {tried.place}: {tried.outcome}" for number, tried in enumerate(attempts, start=1)]
        super().__init__("\n".join(lines), hint)
