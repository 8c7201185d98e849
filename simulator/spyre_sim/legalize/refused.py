"""The signal by which a lowering says no. It never leaves legalization."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import UNIMPLEMENTED, Kind, When


@dataclass
class Refused(Exception):
    """Raised by a lowering; `nominal` marks what only follows from an earlier refusal and is left out."""

    fact: str
    text: str
    kind: Kind = "unsupported"
    when: When = "compile"
    nominal: bool = False


def unimplemented(base: str, words: str = "") -> Refused:
    """An op that compiles to nothing and fails when it runs (O20, E24), in the stack's words where there are any."""
    return Refused("E24", words or UNIMPLEMENTED.format(op=base), when="run")
