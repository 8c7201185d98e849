"""Settings that a module carries along: an object such as a model's config, whose attributes a forward reads by name.

Recording replaces how the classes of these objects look attributes up, so it takes classes that are known to hold
settings and nothing else: configs of transformers, which are dataclasses, other dataclasses, and namespaces.
"""

from __future__ import annotations

import argparse
import dataclasses
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

WHOLE = frozenset({"__dict__", "__getstate__", "__reduce_ex__"})
"""What is looked up by whoever copies, compares or lists all attributes at once."""


def is_settings(value: Any) -> bool:
    """Whether ``value`` is an object of settings, with attributes that may be changed by name."""
    if isinstance(value, (type, dict, torch.nn.Module, torch.Tensor)):
        return False
    kind = type(value)
    known = dataclasses.is_dataclass(kind) or issubclass(kind, (argparse.Namespace, types.SimpleNamespace))
    return known and kind.__dictoffset__ != 0


def has_slots(value: Any) -> bool:
    """Whether ``value`` is a dataclass whose attributes are in slots: it has no ``vars``, and cannot hold others."""
    kind = type(value)
    return dataclasses.is_dataclass(kind) and kind.__dictoffset__ == 0


def slots(value: Any) -> dict[str, Any]:
    """The fields of a dataclass with slots, as far as they are set."""
    names = [each.name for each in dataclasses.fields(value)]
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def attributes(settings: Any) -> dict[str, Any]:
    """``vars(settings)``, past the lookup of its class: a config's own is slow, and may be the one that records."""
    held: dict[str, Any] = object.__getattribute__(settings, "__dict__")
    return held


def stored_name(settings: Any, name: str) -> str:
    """The key of ``vars(settings)`` behind ``name``: configs of transformers have several names for one key."""
    renamed = getattr(type(settings), "attribute_map", None)
    return str(renamed.get(name, name)) if isinstance(renamed, dict) else name


def shows_reads(kind: type) -> bool:
    """Whether the lookup of ``kind`` can be replaced: a class written in C is as it is."""
    return kind.__flags__ & (_HEAP_TYPE | _IMMUTABLE) == _HEAP_TYPE


_IMMUTABLE, _HEAP_TYPE = 1 << 8, 1 << 9
"""CPython's flags of classes whose attributes cannot be set, and of those that are made by a class statement."""


@contextmanager
def noticing(kinds: Iterable[type], note: Callable[[Any, str], None]) -> Iterator[None]:
    """While this holds, ``note(settings, name)`` is called before any attribute of one of ``kinds`` is looked up."""
    plain: dict[Any, Any] = {kind: kind.__getattribute__ for kind in kinds if shows_reads(kind)}
    own = {kind: vars(kind).get("__getattribute__") for kind in plain}
    try:
        for kind, lookup in plain.items():
            kind.__getattribute__ = _noting(lookup, note)
        yield
    finally:
        for kind, previous in own.items():
            if previous is not None:
                kind.__getattribute__ = previous
            elif "__getattribute__" in vars(kind):
                del kind.__getattribute__


def _noting(lookup: Callable[[Any, str], Any], note: Callable[[Any, str], None]) -> Callable[[Any, str], Any]:
    def noting(self: Any, name: str) -> Any:
        note(self, name)
        return lookup(self, name)

    return noting
