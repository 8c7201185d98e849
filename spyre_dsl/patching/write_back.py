"""Make a caller's object look like the one that a graph returned: what "the forward changed its cache" means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from spyre_dsl.patching.signature import Structure, unflatten


def write_back(held: Any, after: Structure, leaves: Iterator[Any]) -> Any:
    """Change ``held`` in place until it is what ``after`` says; whoever holds it, or a part of it, sees the change.

    Objects, lists and dicts keep their identity where both sides have one of the same type; everything else is
    replaced. ``leaves`` are the tensors of ``after``, in order. Returns what should stand where ``held`` stood.
    """
    kind = after[0]
    if kind == "object" and type(held) is after[1]:
        _write_attributes(held, after, leaves)
        return held
    if kind == "list" and type(held) is list:
        common = min(len(held), len(after[1]))
        kept = [write_back(held[place], after[1][place], leaves) for place in range(common)]
        held[:] = kept + [unflatten(child, leaves) for child in after[1][common:]]
        return held
    if kind == "dict" and type(held) is dict:
        _write_items(held, after, leaves)
        return held
    return unflatten(after, leaves)


def _write_attributes(held: Any, after: Structure, leaves: Iterator[Any]) -> None:
    present = vars(held)
    for name in [name for name in present if name not in after[2]]:
        delattr(held, name)
    for name, child in zip(after[2], after[3]):
        before = present.get(name)
        if not _is_constant(before, child):
            setattr(held, name, write_back(before, child, leaves))


def _write_items(held: dict[Any, Any], after: Structure, leaves: Iterator[Any]) -> None:
    for key in [key for key in held if key not in after[1]]:
        del held[key]
    for key, child in zip(after[1], after[2]):
        held[key] = write_back(held.get(key), child, leaves)


def _is_constant(value: Any, structure: Structure) -> bool:
    """Whether ``value`` is already what ``structure`` says, which is something without leaves."""
    return structure[0] == "constant" and type(value) is structure[1] and bool(value == structure[2])
