"""Which stacks a rule file may name: as in the simulator, a profile's name, a day, or the file of one's own profile.

Imported only for a name that is not simply that of a profile.
"""

from __future__ import annotations

import os
import re
from datetime import date
from pathlib import Path

from spyre_dsl.language.stack_tables import DAYS, STACKS
from spyre_dsl.language.suggest import nearest

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_PROFILE_NAME = re.compile(r"""^name:[ \t]*(["']?)(?P<name>[^"'#\r\n]*[^"'#\s])\1""", re.MULTILINE)


def unknown_stack(name: str) -> tuple[str, str | None] | None:
    """What to say of a name that is no stack, with the nearest that is one; None for what can be loaded.

    A file is looked for as seen from the current folder, as it will be when it is loaded; whether the profile in it is
    right is not judged here.
    """
    if name in STACKS or _day(name):
        return None
    if is_file(name):
        return None if Path(name).is_file() else ("there is no such file, seen from the current folder", None)
    if _DAY.fullmatch(name):
        return f"the days are those from {DAYS[0]} to {DAYS[1]}", None
    near = nearest(name, STACKS)
    known = f"known are {', '.join(STACKS)}, a day such as {DAYS[0]}, and files that end in .yaml"
    return f"did you mean `{near}`?" if near else known, near


def _day(name: str) -> bool:
    try:
        day = date.fromisoformat(name) if len(name) == len(DAYS[0]) else None
    except ValueError:
        return False
    return day is not None and DAYS[0] <= day.isoformat() <= DAYS[1]


def is_file(name: str) -> bool:
    """Whether a stack's name is to be taken for the path of a profile."""
    return name.endswith((".yaml", ".yml")) or os.sep in name or "/" in name


def named_by(required: str, stack: str) -> bool:
    """Whether ``required`` is what a stack is called: its name, or the path of the profile that says so."""
    if required == stack or not is_file(required):
        return required == stack
    try:
        found = _PROFILE_NAME.search(Path(required).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return False
    return found is not None and found["name"] == stack
