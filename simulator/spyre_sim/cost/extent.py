"""How many bytes of device memory a value or a view of one takes up: whole sticks (facts L3, L43, C2)."""

from __future__ import annotations

import math

from ..graph import Value
from ..layout.default import BYTES_IN_STICK


def device_bytes(value: Value) -> int:
    """The bytes of the sticks that hold `value`: those a kernel reads for it, or writes.

    Dims of stride 0, which a broadcast repeats, count once. A sparse value has a stick for each element.
    """
    layout = value.layout
    if layout is None:
        return 0
    extents = [1 if stride == 0 else size for size, stride in zip(layout.size, layout.stride, strict=True)]
    if layout.sparse:
        return BYTES_IN_STICK * math.prod(extents)
    along = layout.expression.variable
    if along is None:
        return BYTES_IN_STICK * math.prod(extents)
    sticks = -(-extents[along] // layout.lanes)
    return BYTES_IN_STICK * sticks * math.prod(size for dim, size in enumerate(extents) if dim != along)
