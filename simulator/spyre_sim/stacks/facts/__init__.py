"""The public facts about the stack, each once with its dates, and what they come to on a given day."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ...errors import OP_TABLE, UNIMPLEMENTED
from ..model import Defect, OpStatus, Restriction
from ..yaml_files import read_mapping

FOLDER = Path(__file__).parent


@cache
def _file(name: str) -> Mapping[str, Any]:
    return MappingProxyType(read_mapping(FOLDER / f"{name}.yaml"))


def dated(name: str, day: date) -> dict[str, Any]:
    """The values of the facts file `name` ("numerics", "constants", "dtypes") on `day`.

    A fact that starts later than `day` takes its first value: the earliest snapshot is the earliest knowledge.
    """
    return {key: _value_on(value, day) for key, value in _file(name).items()}


def _value_on(value: Any, day: date) -> Any:
    if not (isinstance(value, list) and value and isinstance(value[0], dict)):
        return value
    current = value[0]
    for entry in value:
        if entry["since"] <= day:
            current = entry
    return current["value"]


def ops_at(day: date, overrides: Mapping[str, Mapping[str, Any]]) -> dict[str, OpStatus]:
    """The status of every op that a fact speaks of on `day`, and of those that `overrides` names."""
    known: Mapping[str, Any] = _file("ops")["ops"]
    statuses = {name: _status(name, spec, _entry_on(spec["history"], day)) for name, spec in known.items()}
    for name, entry in overrides.items():
        statuses[name] = _status(name, {**known.get(name, {}), **entry}, entry)
    return statuses


def op_names() -> tuple[str, ...]:
    """The ops that the facts speak of."""
    return tuple(_file("ops")["ops"])


def _entry_on(history: list[dict[str, Any]], day: date) -> dict[str, Any]:
    current: dict[str, Any] = {"kind": "unimplemented", "facts": [OP_TABLE, "O20"]}
    for entry in history:
        if entry["since"] <= day:
            current = entry
    return current


def _status(name: str, spec: Mapping[str, Any], entry: Mapping[str, Any]) -> OpStatus:
    text = entry.get("text", "")
    if entry["kind"] == "unimplemented" and not text:
        text = UNIMPLEMENTED.format(op=name)
    return OpStatus(
        op=name,
        kind=entry["kind"],
        group=spec.get("group", ""),
        kernel=spec.get("kernel", name),
        dtypes=_dtypes(entry.get("dtypes", ())),
        restrictions=tuple(_restriction(found) for found in entry.get("restrictions", ())),
        when=entry.get("when", "run" if entry["kind"] == "unimplemented" else "compile"),
        text=text,
        facts=tuple(entry.get("facts", ())),
        note=entry.get("note", ""),
    )


def _dtypes(names: str | list[str] | tuple[()]) -> tuple[str, ...]:
    return tuple(_file("ops")["dtype_sets"][names] if isinstance(names, str) else names)


def _restriction(found: Mapping[str, Any]) -> Restriction:
    value = found.get("value")
    return Restriction(**{**found, "value": tuple(value) if isinstance(value, list) else value})


@cache
def aliases() -> Mapping[str, str]:
    """ATen names that are another op to the stack."""
    return MappingProxyType(_file("ops")["aliases"])


@cache
def defects() -> Mapping[str, Defect]:
    """The whole catalogue by S-id, whatever the date."""
    return MappingProxyType({id: Defect(id=id, **found) for id, found in _file("defects").items()})


def defects_at(day: date, removed: frozenset[str], added: frozenset[str]) -> dict[str, Defect]:
    """The defects that exist on `day`, less `removed`, with `added`, in the catalogue's order."""
    return {
        id: defect
        for id, defect in defects().items()
        if id in added or (defect.exists_on(day) and id not in removed)
    }
