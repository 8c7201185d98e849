"""Where the files that come with the product are: in a clone at the top, in an installed wheel under ``_data``."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def resource(name: str) -> Path:
    """The path of a file or directory of the product: ``schema/adapter.schema.json``, ``adapters.d``, ``docs``.

    Args:
        name: the path as it is in a clone, with forward slashes.

    Raises:
        FileNotFoundError: neither the clone nor the wheel has it; the message says where it was looked for.
    """
    from pathlib import Path  # lint gets by without

    return Path(_find(name))


def resource_text(name: str) -> str:
    """The text of a file of the product; raises as :func:`resource` does."""
    with open(_find(name), encoding="utf-8") as file:
        return file.read()


@cache
def _find(name: str) -> str:
    places = [os.path.join(folder, *name.split("/")) for folder in (f"{_PACKAGE}/_data", os.path.dirname(_PACKAGE))]
    for place in places:
        if os.path.exists(place):
            return place
    raise FileNotFoundError(f"{name} comes with spyre-dsl and is missing; looked for {places[0]} and {places[1]}")
