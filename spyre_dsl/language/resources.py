"""Where the files that come with the product are: in a clone at the top, in an installed wheel under ``_data``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


@cache
def resource(name: str) -> Path:
    """The path of a file or directory of the product: ``schema/adapter.schema.json``, ``adapters.d``, ``docs``.

    Args:
        name: the path as it is in a clone, with forward slashes.

    Raises:
        FileNotFoundError: neither the clone nor the wheel has it; the message says where it was looked for.
    """
    places = (_PACKAGE / "_data" / name, _PACKAGE.parent / name)
    for place in places:
        if place.exists():
            return place
    raise FileNotFoundError(f"{name} comes with spyre-dsl and is missing; looked for {places[0]} and {places[1]}")
