"""Progress goes to standard error: plain lines, or a spinner on a terminal."""

from __future__ import annotations

import io

import pytest

from spyre_dsl.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_pipe_gets_one_plain_line_a_step() -> None:
    stream = io.StringIO()
    progress = Progress(stream)
    with progress.step("loading"), progress.step("planning"):
        pass
    assert stream.getvalue() == "loading ...\nplanning ...\n"


def test_a_terminal_sees_what_is_done() -> None:
    stream = Terminal()
    with Progress(stream).step("loading"):
        pass
    assert "loading" in stream.getvalue() and "done" in stream.getvalue()


def test_a_passing_step_leaves_no_line_on_a_terminal() -> None:
    stream = Terminal()
    with Progress(stream).step("[1/2] a test", passing=True):
        pass
    assert "[1/2] a test" in stream.getvalue() and "done" not in stream.getvalue()


def test_a_step_that_fails_is_not_called_done() -> None:
    stream = Terminal()
    with pytest.raises(ValueError), Progress(stream).step("loading"):
        raise ValueError
    assert "done" not in stream.getvalue()


def test_standard_error_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress().step("loading"):
        pass
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "loading ...\n")
