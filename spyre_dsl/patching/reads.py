"""Which plain attributes a forward reads: what a graph depends on beside parameters and inputs.

Two modules of one class may share a graph only if every attribute that the traced forward looked at is equal in both
(``layer_idx`` matters to an attention that uses a cache, and not to one that does not; ``training`` to a dropout).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

_OWN_BOOKKEEPING = frozenset(vars(torch.nn.Module())) - {"training"}
_NEVER = frozenset({"forward"})
_ATTENTION = "_attn_implementation"
"""The one key of a config that people change on a live model, and that changes what its modules compute."""

Reads = tuple[tuple[tuple[str, ...], tuple[tuple[str, Any], ...]], ...]
"""For each submodule (its path, in parts) the attributes that were read, with their values at that time."""


class ReadLog:
    """The attributes read so far from the modules below ``root``, that are neither tensors nor modules."""

    def __init__(self, root: torch.nn.Module) -> None:
        self._paths = {id(module): path for path, module in root.named_modules()}
        self._found: dict[str, dict[str, Any]] = {}

    def note(self, module: torch.nn.Module, name: str, value: Any) -> None:
        """Remember that ``module.name`` was read and gave ``value``."""
        path = self._paths.get(id(module))
        if path is None or name in _OWN_BOOKKEEPING or name in _NEVER or name.startswith("_spyre"):
            return
        found = self._found.setdefault(path, {})
        found.setdefault(name, value)
        if hasattr(value, _ATTENTION):
            found.setdefault(f"{name}.{_ATTENTION}", getattr(value, _ATTENTION))

    def reads(self) -> Reads:
        return tuple(
            (tuple(path.split(".")) if path else (), tuple(values.items())) for path, values in self._found.items()
        )


@contextmanager
def recording(log: ReadLog) -> Iterator[None]:
    """While this holds, every read of an instance attribute of a module below the log's root is noted."""
    plain: Callable[[Any, str], Any] = object.__getattribute__

    def noting(self: torch.nn.Module, name: str) -> Any:
        value = plain(self, name)
        if name[:2] != "__" and name in plain(self, "__dict__"):
            log.note(self, name, value)
        return value

    previous = vars(torch.nn.Module).get("__getattribute__")
    torch.nn.Module.__getattribute__ = noting  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        if previous is None:
            del torch.nn.Module.__getattribute__
        else:
            torch.nn.Module.__getattribute__ = previous  # type: ignore[method-assign]


def still_hold(reads: Reads, module: torch.nn.Module) -> bool:
    """Whether every attribute in ``reads`` has an equal value in ``module``."""
    for path, values in reads:
        holder = module
        for part in path:
            holder = holder._modules[part]  # type: ignore[assignment]
        held = holder.__dict__
        for name, value in values:
            if not _equal(_held(held, name), value):
                return False
    return True


def _held(attributes: dict[str, Any], name: str) -> Any:
    if name in attributes:
        return attributes[name]
    holder, _, inner = name.partition(".")
    return getattr(attributes.get(holder), inner, None) if inner else None


def _equal(left: Any, right: Any) -> bool:
    if left is right:
        return True
    if type(left) is not type(right) or isinstance(left, torch.Tensor):
        return False
    try:
        return bool(left == right)
    except (TypeError, ValueError, RuntimeError):
        return False
