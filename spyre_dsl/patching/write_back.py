"""Make a caller's object look like the one that a graph returned: what "the forward changed its cache" means."""

from __future__ import annotations

from typing import Any

import torch


def write_back(held: Any, after: Any) -> Any:
    """Change ``held`` in place until it equals ``after``; whoever holds it, or a part of it, sees the change.

    Objects and lists keep their identity where both sides have one of the same type; everything else is replaced.
    Returns what should stand where ``held`` stood.
    """
    if held is after or type(held) is not type(after):
        return after
    if type(held) is list:
        held[:] = [write_back(*pair) for pair in zip(held, after)] + after[len(held) :]
        return held
    if type(held) is dict:
        _write_mapping(held, after)
        return held
    if hasattr(held, "__dict__") and _is_plain_object(held):
        _write_mapping(vars(held), vars(after))
        return held
    return after


def _write_mapping(held: dict[Any, Any], after: dict[Any, Any]) -> None:
    for key in [key for key in held if key not in after]:
        del held[key]
    for key, value in after.items():
        held[key] = write_back(held[key], value) if key in held else value


def _is_plain_object(value: Any) -> bool:
    return not isinstance(value, (torch.Tensor, type)) and not callable(value)
