"""What changed between two states of the stack: what opened, what closed, what else is different."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from .model import Defect, OpStatus, Stack


@dataclass(frozen=True)
class Change:
    """One setting or op with its value before and after."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True)
class StackDifference:
    """From stack `before` to stack `after`.

    `opened`: ops that compute on the device only after; `closed`: only before. `changed`: other ops whose kind,
    dtypes or restrictions differ. `fixed` and `appeared`: defects that are gone, and new. `settings`: numerics,
    constants and dtypes.
    """

    before: str
    after: str
    opened: tuple[Change, ...]
    closed: tuple[Change, ...]
    changed: tuple[Change, ...]
    fixed: tuple[Defect, ...]
    appeared: tuple[Defect, ...]
    settings: tuple[Change, ...]


def diff(before: Stack, after: Stack) -> StackDifference:
    """Compare two stacks op by op, defect by defect and setting by setting; each list is in a fixed order."""
    pairs = [Change(name, before.status(name), after.status(name)) for name in sorted({*before.ops, *after.ops})]
    pairs = [pair for pair in pairs if _essence(pair.before) != _essence(pair.after)]
    return StackDifference(
        before=before.name,
        after=after.name,
        opened=tuple(pair for pair in pairs if not pair.before.on_device and pair.after.on_device),
        closed=tuple(pair for pair in pairs if pair.before.on_device and not pair.after.on_device),
        changed=tuple(pair for pair in pairs if pair.before.on_device == pair.after.on_device),
        fixed=tuple(found for id, found in before.defects.items() if id not in after.defects),
        appeared=tuple(found for id, found in after.defects.items() if id not in before.defects),
        settings=(
            *_settings("numerics", before.numerics, after.numerics),
            *_settings("constants", before.constants, after.constants),
            *(
                Change(f"dtypes.{name}", before.dtypes.get(name), after.dtypes.get(name))
                for name in sorted({*before.dtypes, *after.dtypes})
                if before.dtypes.get(name) != after.dtypes.get(name)
            ),
        ),
    )


def _essence(status: OpStatus) -> tuple[Any, ...]:
    return status.kind, status.dtypes, status.restrictions, status.when, status.text


def _settings(section: str, before: Any, after: Any) -> list[Change]:
    pairs = [(field.name, getattr(before, field.name), getattr(after, field.name)) for field in fields(before)]
    return [Change(f"{section}.{name}", old, new) for name, old, new in pairs if old != new]
