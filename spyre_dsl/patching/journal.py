"""A transaction on a model: every change goes through a journal that can take all of it back.

An entry holds what was there before and how to put it back, as plain data that refers to the model's own objects.
So a deep copy of a patched model carries a journal about itself, and can be reverted on its own.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Union

import torch

from spyre_dsl.patching.errors import ApplyError


class _Missing:
    """Stands for "was not there"; one object, also after a deep copy and in a pickle."""

    def __deepcopy__(self, memo: dict[int, Any]) -> _Missing:
        return self

    def __reduce__(self) -> str:
        return "MISSING"

    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()


@dataclass
class AttributeEntry:
    """An entry of ``vars(target)``: attributes of modules and of configs."""

    target: Any
    name: str
    old: Any

    def undo(self) -> None:
        if self.old is MISSING:
            vars(self.target).pop(self.name, None)
        else:
            vars(self.target)[self.name] = self.old


@dataclass
class BufferEntry:
    """A non-persistent buffer that a module did not have before."""

    module: torch.nn.Module
    name: str

    def undo(self) -> None:
        self.module._buffers.pop(self.name, None)
        self.module._non_persistent_buffers_set.discard(self.name)


@dataclass
class TableEntry:
    """One key of a dict that a module holds (``table`` names it: hooks, parameters)."""

    module: torch.nn.Module
    table: str
    key: Any
    old: Any

    def undo(self) -> None:
        held: MutableMapping[Any, Any] = vars(self.module)[self.table]
        if self.old is MISSING:
            held.pop(self.key, None)
        else:
            held[self.key] = self.old


Entry = Union[AttributeEntry, BufferEntry, TableEntry]


@dataclass
class Journal:
    """The changes made so far, newest last. ``undo`` takes them back; it may be called at any moment, and again.

    ``fault`` is called with a text before every single change: tests raise from it to break a transaction anywhere.
    """

    entries: list[Entry] = field(default_factory=list)
    fault: Callable[[str], None] | None = None

    def set_attribute(self, target: Any, name: str, value: Any) -> None:
        """``vars(target)[name] = value``: no ``__setattr__`` runs, so that nothing else changes with it."""
        self._about_to(f"set {type(target).__name__}.{name}")
        self.entries.append(AttributeEntry(target, name, vars(target).get(name, MISSING)))
        vars(target)[name] = value

    def add_buffer(self, module: torch.nn.Module, name: str, value: torch.Tensor) -> None:
        """Register ``value`` as a non-persistent buffer. ApplyError if the module has something of that name."""
        self._about_to(f"add buffer {name}")
        if hasattr(module, name):
            raise ApplyError(f"{type(module).__name__} already has an attribute `{name}`")
        self.entries.append(BufferEntry(module, name))
        module.register_buffer(name, value, persistent=False)

    def set_key(self, module: torch.nn.Module, table: str, key: Any, value: Any) -> None:
        """Set one key of a dict that the module holds under the attribute ``table``."""
        self._about_to(f"set {type(module).__name__}.{table}[{key!r}]")
        held: MutableMapping[Any, Any] = vars(module)[table]
        self.entries.append(TableEntry(module, table, key, held.get(key, MISSING)))
        held[key] = value

    def undo(self) -> None:
        """Take everything back, newest first."""
        while self.entries:
            self.entries[-1].undo()
            self.entries.pop()

    def _about_to(self, what: str) -> None:
        if self.fault is not None:
            self.fault(what)


APPLIED = "_spyre_applied"
"""The attribute of a patched model that holds its ``Record``."""


@dataclass
class Record:
    """All journals of one applied plan, oldest first: that of the model's edits, then one for each owner."""

    journals: list[Journal] = field(default_factory=list)
    fault: Callable[[str], None] | None = None

    def new(self) -> Journal:
        """A further journal of this transaction."""
        self.journals.append(Journal(fault=self.fault))
        return self.journals[-1]

    def undo(self) -> None:
        """Take everything back, newest first; a second time there is nothing left to do."""
        while self.journals:
            self.journals[-1].undo()
            self.journals.pop()
