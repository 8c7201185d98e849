"""Work in several processes that share what is in memory already: forked, so that nothing is imported again.

To fork is safe where no other thread runs, as none does while adapter files are loaded and checked.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import TypeVar

from spyre_dsl.language.diagnostics import SpyreDslError
from spyre_dsl.language.records import record

T = TypeVar("T")


class PartFailed(SpyreDslError):
    """A process broke off; the message holds its traceback, or says how it ended."""


def in_parts(work: Callable[[int], T], parts: int) -> list[T]:
    """``work(0)`` to ``work(parts - 1)``: the first in this process, each other in one of its own.

    What ``work`` returns is pickled there. Parts for which the system gives no process are done here, which only takes
    longer. No process outlives this call, however it ends.

    Raises:
        PartFailed: another process raised something, or was ended.
    """
    children: list[_Child] = []
    try:
        while len(children) + 1 < parts and (child := _start(work, len(children) + 1)) is not None:
            children.append(child)
        first, *rest = (work(part) for part in (0, *range(len(children) + 1, parts)))
        return [first, *(pickle.loads(_collect(child)) for child in children), *rest]
    finally:
        for child in children:
            child.end()


@record(frozen=False)
class _Child:
    """A process that was started, and the end of the pipe from which its result is read."""

    number: int
    pipe: int
    running: bool = True

    def wait(self) -> int:
        """Waits until it has ended; its exit code, or the number of the signal that ended it, negative."""
        _, status = os.waitpid(self.number, 0)
        self.running = False
        return os.waitstatus_to_exitcode(status)

    def end(self) -> None:
        """Ends it if it still runs."""
        os.close(self.pipe)
        if self.running:
            from signal import SIGKILL

            os.kill(self.number, SIGKILL)  # it has nothing to put in order
            self.wait()


def _start(work: Callable[[int], T], part: int) -> _Child | None:
    """A process that does a part; None if the system has no more of them, or none of this kind (Windows)."""
    if not hasattr(os, "fork"):
        return None
    reading, writing = os.pipe()
    try:
        number = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        return None
    if number == 0:
        os.close(reading)
        _serve(work, part, writing)
    os.close(writing)
    return _Child(number, reading)


_DONE, _RAISED = 0, 3


def _serve(work: Callable[[int], T], part: int, pipe: int) -> None:
    """The life of a child. It ends without what a process does at its end, which is its parent's to do."""
    code = _RAISED
    try:
        _write(pipe, pickle.dumps(work(part), pickle.HIGHEST_PROTOCOL))
        code = _DONE
    except Exception:
        from traceback import format_exc  # seldom needed

        _write(pipe, format_exc().encode("utf-8", "backslashreplace"))
    finally:
        os._exit(code)


def _write(pipe: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(pipe, rest) :]


def _collect(child: _Child) -> bytes:
    """What a child has sent, all of it. Raises PartFailed if that is not its result."""
    with open(child.pipe, "rb", closefd=False) as stream:
        data = stream.read()
    code = child.wait()
    if not data or code not in (_DONE, _RAISED):
        ended = f"signal {-code}" if code < 0 else f"code {code}"
        raise PartFailed(f"a process that checked some of the files was ended ({ended})")
    if code == _RAISED:
        raise PartFailed(f"a process that checked some of the files failed:\n{data.decode()}")
    return data
