"""When commands that trace models collect garbage."""

from __future__ import annotations

import gc

YOUNG_OBJECTS = 200_000
"""How many new objects make Python look for cycles among them; its own default is 700."""


def collect_seldom() -> None:
    """Look for unreachable cycles less often, for the rest of the process.

    Importing torch and tracing a model make millions of objects that stay; by default Python walks through them again
    and again and finds nothing, which is an eighth of the time of ``apply``. What a run leaves uncollected is small:
    tensors of models are freed by counting, like all else that is in no cycle.
    """
    gc.set_threshold(YOUNG_OBJECTS, 50, 100)
