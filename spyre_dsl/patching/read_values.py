"""Values that a forward read, kept so that a later change shows.

Containers are copied, what they hold included; those of other classes (an ``OrderedDict``, a ``deque``, somebody's own
kind of list) and settings inside a container become a ``Snapshot``. Everything else is itself.
"""

from __future__ import annotations

import collections
import functools
import math
from typing import Any, NamedTuple

import torch

from spyre_dsl.patching.settings import attributes, has_slots, is_settings, slots

_PARTIAL = ("func", "args", "keywords")
_DEEPEST = 8
"""How far settings inside settings are followed: they may hold each other."""


class Snapshot(NamedTuple):
    """What an object of class ``kind`` held: ``items`` are a list's, a dict's, or attributes by name."""

    kind: type
    items: Any

    def __repr__(self) -> str:
        return f"{self.kind.__name__}({self.items!r})"


def kept(value: Any, depth: int = 0) -> Any:
    """``value`` as it is now: what is changed in a container afterwards does not reach the copy."""
    kind = type(value)
    if depth > _DEEPEST:
        return value
    if kind is list or kind is tuple:
        return kind([kept(item, depth + 1) for item in value])
    if kind is dict:
        return {key: kept(item, depth + 1) for key, item in value.items()}
    if kind is set:
        return set(value)
    if kind is functools.partial:
        return functools.partial(value.func, *kept(value.args, depth + 1), **kept(value.keywords, depth + 1))
    if isinstance(value, (dict, list, collections.deque, bytearray)) or has_slots(value):
        return Snapshot(kind, kept(_held_in(value), depth + 1))
    if depth and is_settings(value):
        return Snapshot(kind, kept(dict(attributes(value)), depth + 1))
    return value


def equal(left: Any, right: Any) -> bool:
    """Whether two values are the same for a graph: equal, and of the same types throughout (``1`` is not ``True``).

    Two partial functions are if they call the same with the same: each activation of a model may have one of its own.
    ``right`` may come from ``kept``.
    """
    if left is right:
        return True
    if type(right) is Snapshot:
        return type(left) is right.kind and equal(_held_in(left), right.items)
    kind = type(left)
    if kind is not type(right) or isinstance(left, torch.Tensor):
        return False
    if kind is list or kind is tuple:
        return len(left) == len(right) and all([equal(each, other) for each, other in zip(left, right)])
    if kind is dict:
        return list(left) == list(right) and all([equal(left[key], right[key]) for key in left])
    if kind is functools.partial:
        return all([equal(getattr(left, name), getattr(right, name)) for name in _PARTIAL])
    if kind is float:
        return left == right and math.copysign(1.0, left) == math.copysign(1.0, right)
    try:
        return bool(left == right)
    except (TypeError, ValueError, RuntimeError):
        return False


def _held_in(value: Any) -> Any:
    """What a ``Snapshot`` of ``value`` would hold, not kept."""
    if isinstance(value, dict):
        return {key: value[key] for key in value}
    if isinstance(value, (list, collections.deque, bytearray)):
        return [item for item in value]
    return slots(value) if has_slots(value) else value.__dict__
