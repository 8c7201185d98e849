"""What a command is doing, on standard error: a spinner on a terminal, one plain line a step elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO


class Progress:
    """Tells the user of each step as it starts, and on a terminal how long it took."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream if stream is not None else sys.stderr
        self.terminal = self.stream.isatty()

    @contextmanager
    def step(self, words: str, *, passing: bool = False) -> Iterator[None]:
        """For the time of one step. A step that fails leaves no mark of success.

        A ``passing`` step leaves no mark at all on a terminal: what is printed after it says how it went.
        """
        if not self.terminal:
            print(f"{words} ...", file=self.stream, flush=True)
            yield
            return
        started = time.perf_counter()
        console = _console(self.stream)
        with console.status(words):
            yield
        if not passing:
            console.print(f"[green]done[/] {words} [dim]{time.perf_counter() - started:.1f} s[/]", highlight=False)


def _console(stream: TextIO) -> Any:
    from rich.console import Console

    return Console(file=stream, stderr=stream is sys.stderr)
