"""Device layouts: the default one, views of it, and words in device order.

Imports neither torch nor numba; NumPy is loaded only for `read_words`, `write_words` and `host_elements`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .default import (
    BYTES_IN_STICK,
    DeviceLayout,
    LayoutError,
    contiguous_stride,
    default_device_layout,
    default_layout,
    elements_in_stick,
)
from .stick import StickExpression, stick_expression
from .view import StickView

if TYPE_CHECKING:
    from .store import PADDING, host_elements, read_words, write_words

__all__ = [
    "BYTES_IN_STICK",
    "PADDING",
    "DeviceLayout",
    "LayoutError",
    "StickExpression",
    "StickView",
    "contiguous_stride",
    "default_device_layout",
    "default_layout",
    "elements_in_stick",
    "host_elements",
    "read_words",
    "stick_expression",
    "write_words",
]


def __getattr__(name: str) -> Any:
    if name in ("PADDING", "host_elements", "read_words", "write_words"):
        from . import store

        return getattr(store, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
