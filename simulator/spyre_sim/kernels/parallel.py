"""Blocks of rows on several threads: compiled loops and BLAS release the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

SMALL = 1 << 15  # elements below which a second thread costs more than it brings


def threads() -> int:
    """How many threads the simulator uses: SPYRE_SIM_THREADS, else OMP_NUM_THREADS, else the cores it may run on."""
    for name in ("SPYRE_SIM_THREADS", "OMP_NUM_THREADS"):
        if os.environ.get(name, "").isdigit():
            return max(1, int(os.environ[name]))
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def over_rows(rows: int, work: int, block: Callable[[slice], object]) -> None:
    """Call `block(slice of rows)` so that all `rows` are covered; `work`: elements in all, which decides on threads."""
    count = min(threads(), rows)
    if count < 2 or work < SMALL:
        block(slice(0, rows))
        return
    edges = [rows * part // count for part in range(count + 1)]
    parts = [slice(*pair) for pair in zip(edges[:-1], edges[1:], strict=True)]
    waiting = [_pool().submit(block, part) for part in parts[1:]]
    block(parts[0])  # the caller works too
    for future in waiting:
        future.result()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads(), thread_name_prefix="spyre_sim")
