"""Frozen dataclasses that are made quickly: a run of ``lint`` makes hundreds of thousands.

``@dataclass(frozen=True, slots=True)`` sets each field by ``object.__setattr__``, which looks the field up by its name.
:func:`record` sets the slots themselves, in a bit more than half the time, and changes nothing else.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """``dataclass(frozen=True, slots=True)`` for classes whose fields have plain defaults, if any."""
    made = dataclass(frozen=True, slots=True, init=False)(cls)
    names = [field.name for field in fields(made)]  # type: ignore[arg-type]
    defaults = tuple(field.default for field in fields(made) if field.default is not MISSING)  # type: ignore[arg-type]
    setters = {f"set_{name}": getattr(made, name).__set__ for name in names}
    calls = "; ".join(f"set_{name}(self, {name})" for name in names)
    scope: dict[str, Any] = dict(setters)
    exec(f"def __init__(self, {', '.join(names)}): {calls}", scope)
    init = scope["__init__"]
    init.__defaults__ = defaults
    init.__annotations__ = {name: made.__annotations__[name] for name in names}
    init.__qualname__ = f"{made.__qualname__}.__init__"
    init.__module__ = made.__module__
    type.__setattr__(made, "__init__", init)
    return made
