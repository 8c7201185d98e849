"""Values that a forward read, kept so that a later change shows: containers are copied, everything else is itself."""

from __future__ import annotations

import functools
from typing import Any

import torch

_PARTIAL = ("func", "args", "keywords")


def kept(value: Any) -> Any:
    """``value`` as it is now: what is changed in a list, dict or set afterwards does not reach the copy."""
    kind = type(value)
    if kind is list or kind is tuple:
        return kind(map(kept, value))
    if kind is dict:
        return {key: kept(item) for key, item in value.items()}
    return set(value) if kind is set else value


def equal(left: Any, right: Any) -> bool:
    """Whether two values are the same for a graph: equal, and of the same types throughout (``1`` is not ``True``).

    Two partial functions are if they call the same with the same: each activation of a model may have one of its own.
    """
    if left is right:
        return True
    kind = type(left)
    if kind is not type(right) or isinstance(left, torch.Tensor):
        return False
    if kind is list or kind is tuple:
        return len(left) == len(right) and all([equal(each, other) for each, other in zip(left, right)])
    if kind is dict:
        return list(left) == list(right) and all([equal(left[key], right[key]) for key in left])
    if kind is functools.partial:
        return all([equal(getattr(left, name), getattr(right, name)) for name in _PARTIAL])
    try:
        return bool(left == right)
    except (TypeError, ValueError, RuntimeError):
        return False
