"""The one registry of lowerings: aten base name -> function, filled where each is defined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Lowering = Callable[..., Any]

LOWERINGS: dict[str, Lowering] = {}


def lowers(*names: str) -> Callable[[Lowering], Lowering]:
    """Register a function as the lowering of aten ops, by base name ("mul", not "aten.mul.Tensor").

    It is called with the builder and the op's arguments under their schema names, and returns a Value or a list.
    """

    def register(function: Lowering) -> Lowering:
        for name in names:
            if name in LOWERINGS:
                raise ValueError(f"two lowerings of {name}")
            LOWERINGS[name] = function
        return function

    return register
