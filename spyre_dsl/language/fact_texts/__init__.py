"""What each public fact about the stack says: for ``explain`` and the documentation.

``lint`` needs the ids alone, which ``spyre_dsl.language.facts`` has without reading a file. The texts stand in one YAML
file for each letter, so that one fact is shown without reading the others; a test holds ids and texts equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import yaml

FOLDER: Final = Path(__file__).parent

SECTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "N": "number formats and conversions",
        "A": "arithmetic, reductions and measured errors",
        "L": "layouts",
        "E": "error texts",
        "W": "work division and the scratchpad",
        "P": "measured times",
        "C": "the cost model of September 2026",
        "K": "ktir-cpu's latency model",
        "O": "ops, their limits and their errors",
        "S": "silent failures",
        "T": "tricks of the hand-written adapters",
        "V": "how the public projects judge a model",
        "Q": "the compile pipeline",
        "M": "model families",
        "R": "refusals and limits",
        "U": "open questions",
        "D": "rules for a simulator",
    }
)
"""The letter that the ids of a section begin with, and what the section is about."""


class Support(Enum):
    """What a fact rests on."""

    MEASURED = "measured"
    DOCUMENTED = "documented"
    REPORTED = "reported"
    INFERRED = "inferred"
    OPEN = "open question"

    @property
    def meaning(self) -> str:
        """The kind of support in a few words."""
        return _MEANINGS[self]


_MEANINGS: Final = {
    Support.MEASURED: "seen on a device, with figures, by whoever reported it",
    Support.DOCUMENTED: "in the source or the documentation of a public project",
    Support.REPORTED: "seen on a device or worked around, told without figures",
    Support.INFERRED: "follows from other facts; no source states it",
    Support.OPEN: "not public, or not settled",
}


@dataclass(frozen=True, slots=True)
class Fact:
    """One public statement about the stack.

    ``date`` is the day or month of the report, of the change, or of the snapshot that it was read from; empty where
    none is known. ``sources`` are public: an issue or pull request (``torch-spyre #2478``), a file of a snapshot
    (``torch-spyre@e1abccf7 PATH``), a paper, a patent, or the facts that an inference starts from.
    """

    id: str
    text: str
    support: Support
    sources: tuple[str, ...]
    date: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Facts without ids, which are cited by the number of their section in the record (``section 5``).

    ``text`` says how to read it; every row has as many cells as there are ``columns``. The rest is as in ``Fact``.
    """

    number: str
    title: str
    text: str
    sources: tuple[str, ...]
    date: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@cache
def section(letter: str) -> Mapping[str, Fact]:
    """The facts whose ids begin with a letter, by id, in order.

    Raises:
        KeyError: no section has that letter.
    """
    if letter not in SECTIONS:
        raise KeyError(letter)
    return MappingProxyType({identifier: _fact(identifier, entry) for identifier, entry in _entries(letter).items()})


def fact(identifier: str) -> Fact:
    """The fact with that id, as it is written (``E10``, ``L42b``).

    Raises:
        KeyError: there is none.
    """
    return section(identifier[:1])[identifier]


def all_facts() -> tuple[Fact, ...]:
    """Every fact, section by section."""
    return tuple(found for letter in SECTIONS for found in section(letter).values())


@cache
def tables() -> Mapping[str, Table]:
    """The tables by their section numbers, such as ``5``."""
    return MappingProxyType({number: _table(number, entry) for number, entry in _entries("tables").items()})


def _entries(name: str) -> dict[str, dict[str, Any]]:
    text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    entries: dict[str, dict[str, Any]] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return entries


def _fact(identifier: str, entry: dict[str, Any]) -> Fact:
    return Fact(identifier, entry["text"], Support(entry["support"]), tuple(entry["sources"]), entry.get("date", ""))


def _table(number: str, entry: dict[str, Any]) -> Table:
    rows = tuple(tuple(row) for row in entry["rows"])
    sources, columns = tuple(entry["sources"]), tuple(entry["columns"])
    return Table(number, entry["title"], entry["text"], sources, entry["date"], columns, rows)
