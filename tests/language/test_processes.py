"""Work in several processes: the results of all of them, or an error; and none left behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import pytest

from spyre_dsl.language.diagnostics import SpyreDslError
from spyre_dsl.language.processes import PartFailed, in_parts

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


def no_children() -> bool:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
    return False


def only_in(part: int, act: Callable[[], object]) -> Callable[[int], object]:
    return lambda number: act() if number == part else number


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_each_part_is_done_once_and_the_first_here(parts: int) -> None:
    done = in_parts(lambda part: (part, os.getpid()), parts)
    assert [part for part, _ in done] == list(range(parts))
    assert len({process for _, process in done}) == parts and done[0][1] == os.getpid()
    assert no_children()


def test_results_may_be_larger_than_a_pipe_holds() -> None:
    sent = in_parts(lambda part: bytes([part]) * 3_000_000, 3)
    assert [(len(data), set(data)) for data in sent] == [(3_000_000, {0}), (3_000_000, {1}), (3_000_000, {2})]


def test_what_is_raised_in_another_process_is_raised_here_with_its_traceback() -> None:
    def fail() -> None:
        raise ValueError("a mistake in a check")

    with pytest.raises(PartFailed, match="a mistake in a check") as told:
        in_parts(only_in(2, fail), 4)
    assert "test_processes.py" in str(told.value) and isinstance(told.value, SpyreDslError)
    assert no_children()


def test_what_cannot_be_pickled_is_an_error() -> None:
    with pytest.raises(PartFailed, match="pickle"):
        in_parts(lambda part: lambda: part, 2)


@pytest.mark.parametrize(
    ("end", "how"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "signal 9"),
        (lambda: os._exit(0), "code 0"),
        (lambda: os._exit(7), "code 7"),
        (lambda: os.kill(os.getpid(), signal.SIGINT), "code 3"),
    ],
)
def test_a_process_that_ends_without_a_result_is_an_error(end: Callable[[], object], how: str) -> None:
    with pytest.raises(PartFailed, match=how):
        in_parts(only_in(1, end), 3)
    assert no_children()


@pytest.mark.parametrize("problem", [KeyboardInterrupt, ValueError])
def test_the_others_end_with_this_one(problem: type[BaseException]) -> None:
    def work(part: int) -> None:
        if part == 0:
            raise problem
        time.sleep(60)

    begun = time.monotonic()
    with pytest.raises(problem):
        in_parts(work, 3)
    assert no_children() and time.monotonic() - begun < 30


def test_where_no_process_can_be_started_the_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError("too many processes")

    monkeypatch.setattr(os, "fork", refuse)
    assert in_parts(lambda part: (part, os.getpid()), 3) == [(part, os.getpid()) for part in range(3)]
    monkeypatch.delattr(os, "fork")
    assert in_parts(lambda part: (part, os.getpid()), 3) == [(part, os.getpid()) for part in range(3)]
