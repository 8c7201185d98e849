"""The signal by which a lowering says no. It never leaves legalization."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import Kind, When


@dataclass
class Refused(Exception):
    """Raised by a lowering; `nominal` marks what only follows from an earlier refusal and is left out."""

    fact: str
    text: str
    kind: Kind = "unsupported"
    when: When = "compile"
    nominal: bool = False
