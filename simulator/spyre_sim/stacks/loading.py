"""From a profile file to a Stack: resolve the public facts at the profile's date, then apply what it changes.

A profile `extends` the facts, another profile by name, or a file next to it; its own keys win over those it extends.
Profiles that come with the package are trusted; others are validated first, and every problem is reported with its
line.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from . import facts
from .model import Constants, Numerics, Stack
from .yaml_files import read_mapping

if TYPE_CHECKING:
    from .validation import Problem

FOLDER = Path(__file__).parent
DEFAULT = "2026-06"
VARIABLE = "SPYRE_SIM_STACK"  # of the environment: the stack of those who name none
FIRST_DAY, LAST_DAY = date(2025, 11, 21), date(2026, 9, 24)  # of the snapshots that the facts come from


class StackError(ValueError):
    """A profile that cannot be used: `problems` holds each with its line."""

    def __init__(self, path: Path, problems: Iterable[Problem]) -> None:
        self.path = path
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{path}:{problem}" for problem in self.problems))


class UnknownStack(LookupError):
    """No profile of that name; the message has the nearest name and all of them."""


@cache
def stack_names() -> tuple[str, ...]:
    """The names of the profiles that come with the package, by date, `ideal` last."""
    return tuple(sorted((path.stem for path in FOLDER.glob("*.yaml")), key=lambda name: (name == "ideal", name)))


def load_stack(name_or_path: str | os.PathLike[str] | Stack = DEFAULT) -> Stack:
    """The profile of that name, or in that file; a Stack is returned as it is.

    A day, "2026-07-20", is the name of the public facts as they stood then. Raises UnknownStack for a name that does
    not exist or a day outside the facts, and StackError for a file with problems in it.
    """
    if isinstance(name_or_path, Stack):
        return name_or_path
    if not isinstance(name_or_path, str | os.PathLike):
        raise UnknownStack(f"a stack is a name, a day, a path or a Stack, not {name_or_path!r}")
    text = os.fspath(name_or_path)
    if text in stack_names():
        return _load_named(text)
    day = _day(text)
    if day is not None and FIRST_DAY <= day <= LAST_DAY:
        return _load_day(day)
    if isinstance(name_or_path, str) and not _looks_like_a_file(text):
        raise UnknownStack(_unknown(text))
    return _load_file(Path(text))


def chosen_stack(given: str | os.PathLike[str] | Stack | None = None) -> Stack:
    """The stack that was given, else that of SPYRE_SIM_STACK, else 2026-06. Raises as `load_stack` does."""
    named = os.environ.get(VARIABLE)
    if given is not None or not named:
        return load_stack(DEFAULT if given is None else given)
    try:
        return load_stack(named)
    except UnknownStack as problem:
        raise UnknownStack(f"{VARIABLE}: {problem}") from None


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if len(text) == len("2026-06-24") else None
    except ValueError:
        return None


@cache
def _load_day(day: date) -> Stack:
    return _build([{"name": str(day), "date": day, "title": f"The public facts of {day}", "extends": "facts"}])


def _looks_like_a_file(text: str) -> bool:
    return text.endswith((".yaml", ".yml")) or os.sep in text or "/" in text


def _unknown(name: str) -> str:
    from difflib import get_close_matches  # only for a mistake

    near = get_close_matches(name, stack_names(), n=1, cutoff=0.4)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return (
        f"no stack profile {name!r}{hint} There are {', '.join(stack_names())}; "
        f"or give a day from {FIRST_DAY} to {LAST_DAY}, or the path of a .yaml file."
    )


@cache
def _load_named(name: str) -> Stack:
    return _build(_packaged(name))


def _load_file(path: Path) -> Stack:
    return _build(_chain(path))


def _packaged(name: str) -> list[Mapping[str, Any]]:
    """The mapping of a profile of this package, which is not validated again, after those it extends."""
    profile = read_mapping(FOLDER / f"{name}.yaml")
    return [profile] if profile["extends"] == "facts" else [*_packaged(profile["extends"]), profile]


def _chain(path: Path) -> list[Mapping[str, Any]]:
    """A user's profile after those it extends, outermost ancestor first. Raises StackError for what is wrong."""
    from .validation import Problem, problems_of  # a schema validator, which profiles of the package do not need

    chain: list[Mapping[str, Any]] = []
    seen: list[Path] = []
    while True:
        if path.resolve() in seen:
            loop = " -> ".join(step.name for step in [*seen, path])
            raise StackError(path, [Problem(1, f"extends itself: {loop}")])
        seen.append(path.resolve())
        found = problems_of(path)
        if found:
            raise StackError(path, found)
        chain.insert(0, read_mapping(path))
        parent = chain[0]["extends"]
        if parent == "facts":
            return chain
        if parent in stack_names():
            return [*_packaged(parent), *chain]
        path = path.parent / parent


def _build(chain: list[Mapping[str, Any]]) -> Stack:
    merged: dict[str, Any] = {}
    for profile in chain:
        merged |= profile
    day: date = merged["date"]
    sections = {key: _overrides(chain, key) for key in ("numerics", "constants", "dtypes", "ops")}
    removed, added = _defect_changes(chain)
    constants = Constants(**_fields_of(Constants, facts.dated("constants", day) | sections["constants"]))
    return Stack(
        name=merged["name"],
        date=day,
        title=merged["title"],
        constants=constants,
        numerics=Numerics(**_fields_of(Numerics, facts.dated("numerics", day) | sections["numerics"])),
        dtypes=MappingProxyType(
            {name: held for name, held in (facts.dated("dtypes", day) | sections["dtypes"]).items() if held}
        ),
        ops=MappingProxyType(facts.ops_at(day, sections["ops"])),
        defects=MappingProxyType(facts.defects_at(day, removed, added)),
        aliases=facts.aliases(),
        enforces_limits=merged.get("enforces_limits", True),
        stick=constants.bytes_in_stick // 2,
    )


def _overrides(chain: list[Mapping[str, Any]], key: str) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for profile in chain:
        merged |= profile.get(key, {})
    return merged


def _defect_changes(chain: list[Mapping[str, Any]]) -> tuple[frozenset[str], frozenset[str]]:
    removed: set[str] = set()
    added: set[str] = set()
    for changes in (profile.get("defects", {}) for profile in chain):
        gone = set(facts.defects()) if changes.get("remove") == "all" else set(changes.get("remove", ()))
        new = set(changes.get("add", ()))
        removed, added = (removed | gone) - new, (added - gone) | new
    return frozenset(removed), frozenset(added)


def _fields_of(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    return {field.name: values[field.name] for field in fields(kind)}
