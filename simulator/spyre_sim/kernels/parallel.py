"""Blocks of rows on several threads: compiled loops and BLAS release the interpreter's lock.

All threads are the simulator's own. Those of torch wait for their next task by spinning, for milliseconds, and whoever
wants the same cores in the meantime has fewer of them; so during a run torch works on the one thread that calls it
(`torch_aside`), and its products are spread over rows, columns or batch by `over_rows` like everything else.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial

import torch

SMALL = 1 << 15  # elements below which a second thread costs more than it brings
_THREAD = threading.local()  # `inside`: this thread works on a block


def threads() -> int:
    """How many threads the simulator uses: SPYRE_SIM_THREADS, else OMP_NUM_THREADS, else the cores it may run on."""
    for name in ("SPYRE_SIM_THREADS", "OMP_NUM_THREADS"):
        if os.environ.get(name, "").isdigit():
            return max(1, int(os.environ[name]))
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def over_rows(rows: int, work: int, block: Callable[[slice], object], step: int = 1) -> None:
    """Call `block(slice of rows)` so that all `rows` are covered; `work`: elements in all, which decides on threads.

    Slices start at multiples of `step`. Within a block this is a plain call.
    """
    at_once([partial(block, part) for part in shares(rows, work, step)])


def shares(rows: int, work: int, step: int = 1) -> list[slice]:
    """The slices of `over_rows`, for callers that prepare something for each: a thread had better not call torch often.

    Whatever lets go of the interpreter's lock has to wait for it again, as long as others have something to do.
    """
    steps = -(-rows // step)
    count = min(threads(), steps)
    if count < 2 or work < SMALL or getattr(_THREAD, "inside", False):
        return [slice(0, rows)]
    edges = [min(rows, step * (steps * part // count)) for part in range(count + 1)]
    return [slice(*pair) for pair in zip(edges[:-1], edges[1:], strict=True)]


def at_once(tasks: Sequence[Callable[[], object]]) -> None:
    """Call all of them, each on a thread of its own; the caller works too."""
    if len(tasks) == 1:
        tasks[0]()
        return
    pool = _pool(len(tasks) - 1)
    waiting = [pool.submit(_inside, task) for task in tasks[1:]]
    _inside(tasks[0])
    for future in waiting:
        future.result()


def _inside(task: Callable[[], object]) -> None:
    _THREAD.inside = True
    try:
        task()
    finally:
        _THREAD.inside = False


@contextmanager
def torch_aside() -> Iterator[None]:
    """Torch computes on the calling thread alone; its number of threads is put back at the end."""
    with _torch_threads(1):
        yield


@contextmanager
def torch_team() -> Iterator[None]:
    """Within `torch_aside`: torch may use as many threads as the simulator, for work that only torch can do."""
    with _torch_threads(threads()):
        yield


@contextmanager
def _torch_threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    if before == count:
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@cache
def _pool(count: int) -> ThreadPoolExecutor:
    """`count` threads, all running, in each of which torch computes alone."""
    pool = ThreadPoolExecutor(count, thread_name_prefix="spyre_sim")
    started = threading.Barrier(count)

    def start(_: int) -> None:
        torch.set_num_threads(1)
        started.wait()

    before = torch.get_num_threads()
    list(pool.map(start, range(count)))
    torch.set_num_threads(before)  # the number that threads of others begin with
    return pool


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not come along
