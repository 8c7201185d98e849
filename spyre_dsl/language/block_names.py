"""The names of the building blocks that ``use`` can name, for ``lint``; a test holds them against the blocks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

BLOCKS: Final[Mapping[str, tuple[str, ...]]] = {"linear-in-column-blocks": ("parts",)}
"""The blocks that ship with the product, with the names of their arguments, all of which must be given."""


@cache
def plug_in_blocks() -> frozenset[str]:
    """The blocks of installed plug-ins, found by their entry points without importing them."""
    from importlib.metadata import entry_points  # costs more than the rest of a lint of a few files

    return frozenset(point.name for point in entry_points(group="spyre_dsl.blocks"))
