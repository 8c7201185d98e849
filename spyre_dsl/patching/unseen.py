"""What to say of a call that a module has no rewritten graph for, where none can be made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import torch

from spyre_dsl.patching.autocast import Autocast, autocast_now
from spyre_dsl.patching.entry import GraphEntry, GraphTable
from spyre_dsl.patching.holding import NOTHING, Held, Place, Reads, settings_at, still_hold
from spyre_dsl.patching.read_values import equal
from spyre_dsl.patching.settings import attributes
from spyre_dsl.patching.signature import Structure, describe, leaf_kind

_LONGEST = 60
"""How many characters of a value are shown."""


def told(table: GraphTable, module: torch.nn.Module, path: str, structure: Structure, leaves: Sequence[Any]) -> str:
    """Why ``table`` has no graph for this call of ``module``: a change since one was made, or another signature."""
    who = f"{path or 'the model'} ({type(module).__name__})"
    call = describe(structure, list(leaves))
    changes = _changes_since(table, module, structure, leaves)
    if changes:
        why = f"has a rewritten graph for the call {call}, but not as things are now: {'; '.join(changes)}"
    else:
        known = "; ".join(entry.example + _under(entry.autocast) for entry in table.all()) or "nothing"
        why = f"has no rewritten graph for the call {call}{_under(autocast_now())}. It has graphs for: {known}"
    return (
        f"{who} {why}\n  help: run the patched model once with such inputs, or plan with them, before exporting it (a "
        "model that calls its modules otherwise when it is traced: compile it once)"
    )


def changes(reads: Reads, module: torch.nn.Module) -> Iterator[str]:
    """What is not as it was when ``reads`` was recorded, one text for each attribute or config key."""
    if reads.gradients is not None and reads.gradients != torch.is_grad_enabled():
        yield (
            "gradients were disabled, and are enabled"
            if torch.is_grad_enabled()
            else ("gradients were enabled, and are disabled")
        )
    for held in reads.held:
        yield from _changes_at(held, settings_at(module, held.place), _nested(reads, held.place))
    for place, other in reads.shared:
        if settings_at(module, place) is not settings_at(module, other):
            yield f"`{_name(place)}` and `{_name(other)}` were one object, and are two"


def _changes_since(
    table: GraphTable, module: torch.nn.Module, structure: Structure, leaves: Sequence[Any]
) -> list[str]:
    """What keeps a graph of the very signature from being used; that with the fewest changes counts."""
    kinds = tuple(leaf_kind(leaf) for leaf in leaves)
    same = table.entries.get((structure, kinds, autocast_now()), ())
    found = [list(changes(entry.reads, module)) for entry in same if _only_reads_fail(entry, module, leaves)]
    return min(filter(None, found), key=len, default=[])


def _only_reads_fail(entry: GraphEntry, module: torch.nn.Module, leaves: Sequence[Any]) -> bool:
    return entry.predicate.holds(leaves) and not still_hold(entry.reads, module)


def _nested(reads: Reads, place: Place) -> set[str]:
    """The names under which the settings at ``place`` hold settings that were read."""
    places = [*(held.place for held in reads.held), *chain.from_iterable(reads.shared)]
    return {each.inner[-1][0] for each in places if each.inner and Place(each.path, each.inner[:-1]) == place}


def _changes_at(held: Held, holder: Any, nested: set[str]) -> Iterator[str]:
    if holder is None:
        yield f"`{_name(held.place)}` was a {held.place.inner[-1][1].__name__}, and is something else"
        return
    found = attributes(holder)
    for name, value in held.values:
        now = found.get(name, NOTHING)
        if not equal(now, value):
            yield f"`{_name(held.place, name)}` was {_shown(value)}, and is {_shown(now)}"
    absent = {name for name, _ in held.absent}
    known = {name for name, _ in held.values} | nested
    for name in found if held.size >= 0 else absent & found.keys():
        if name not in known:
            yield f"`{_name(held.place, name)}` was not there, and is {_shown(found[name])}"


def _name(place: Place, attribute: str = "") -> str:
    return ".".join(filter(None, (*place.path, *(name for name, _ in place.inner), attribute)))


def _shown(value: Any) -> str:
    if value is NOTHING:
        return "not there"
    if isinstance(value, torch.Tensor):
        return f"another tensor of shape {list(value.shape)}"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _under(autocast: Autocast) -> str:
    """The autocast that a call is made under, for people."""
    shown = ", ".join(f"{device}: {str(dtype).removeprefix('torch.')}" for device, dtype in autocast)
    return f" under autocast ({shown})" if autocast else ""
