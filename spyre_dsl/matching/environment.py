"""What an expression of a rule can see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch

from spyre_dsl.graphs.memory import Readers
from spyre_dsl.graphs.sizes import Sizes


class Stack(Protocol):
    """What rules may ask of a stack profile."""

    @property
    def name(self) -> str: ...

    @property
    def stick(self) -> int:
        """Elements of the device's two-byte format in one stick of 128 bytes."""

    def supports(self, op: str, dtype: str = "float16") -> bool: ...


@dataclass(frozen=True)
class Environment:
    """The roots ``config``, ``stack`` and ``self`` (``module``), captures (``bindings``) and plain ``names``.

    ``names`` holds ``let`` values, test inputs and a forward's arguments. ``sizes`` are those of the graph that the
    bindings come from, so that arithmetic on a dynamic size gives the graph's own size where it has one. ``readers``
    are the ops of the match whose guards are evaluated.
    """

    config: Any = None
    stack: Stack | None = None
    module: torch.nn.Module | None = None
    bindings: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, Any] = field(default_factory=dict)
    sizes: Sizes | None = None
    readers: Readers | None = None

    def with_names(self, **names: Any) -> Environment:
        """The same environment with further names."""
        return replace(self, names={**self.names, **names})


MISSING = object()
"""What ``config_value`` gives for a key that the config does not have."""


def config_value(config: Any, key: str) -> Any:
    """The value of a (dotted) config key, read from ``text_config`` too where that is where the model keeps it.

    Works on configuration objects and on plain dicts; MISSING if neither has the key.
    """
    found = _below(config, key.split("."))
    if found is MISSING:
        text = _below(config, ["text_config"])
        if text is not MISSING and text is not None:
            return _below(text, key.split("."))
    return found


def _below(value: Any, path: list[str]) -> Any:
    for part in path:
        if part.startswith("_"):
            return MISSING
        if isinstance(value, Mapping):
            value = value.get(part, MISSING)
        else:
            try:
                value = getattr(value, part, MISSING)
            except Exception:  # a property that cannot be computed for this model is a key that it does not have
                return MISSING
        if value is MISSING:
            return MISSING
    return MISSING if callable(value) else value
