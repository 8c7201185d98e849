"""The command line finds its commands without importing what they need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from spyre_dsl import __version__
from spyre_dsl.cli.main import COMMANDS, main


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"    {command}" in shown for command in COMMANDS)


def test_without_a_command_the_usage_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage: spyre-dsl" in capsys.readouterr().err


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"spyre-dsl {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["lnt"], "lint"),
        (["lint", "--formt", "json", "x"], "--format"),
        (["lint", "--format", "jsno", "x"], "json"),
        (["xplain"], "explain"),
    ],
)
def test_a_slip_is_guessed(arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert f"did you mean `{meant}`?" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["lint", "explain"])
def test_a_command_has_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert f"spyre-dsl {command}" in capsys.readouterr().out.partition("examples:")[2]


def imported_by(*arguments: str) -> set[str]:
    """The top-level modules that a command imports, told by a fresh interpreter."""
    program = (
        f"import sys; from spyre_dsl.cli.main import main; main({list(arguments)!r}); print('MODULES', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.rpartition("MODULES ")[2].split()}


HEAVY = {
    "torch",
    "numpy",
    "transformers",
    "numba",
    "rich",
    "jsonschema",
    "lark",
    "spyre_sim",
    "rapidfuzz",
    "socket",
    "ssl",
}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("explain", "SD203"),
        ("lint", "adapters.d"),
        ("lint", "--format", "sarif", "adapters.d"),
        ("lint", "no-such-file"),
    ],
)
def test_nothing_heavy_is_imported(arguments: tuple[str, ...]) -> None:
    assert not imported_by(*arguments) & HEAVY


def test_deep_mode_reads_the_installed_packages_and_runs_none_of_their_code() -> None:
    assert not imported_by("lint", "--deep", "adapters.d") & {"torch", "transformers", "numpy"}


def test_output_that_nobody_reads_is_no_error() -> None:
    command = f"{sys.executable} -m spyre_dsl.cli.main explain | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("command", ["explain", "stacks", "lint adapters.d"])
def test_output_that_cannot_be_written_is_said(command: str) -> None:
    line = f"{sys.executable} -m spyre_dsl.cli.main {command} > /dev/full"
    done = subprocess.run(line, shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr


@pytest.mark.parametrize(("line", "code"), [("lint adapters.d >&-", 0), ("lint - <&-", 1), ("lint nothing 2>&-", 2)])
def test_a_closed_stream_is_no_error(line: str, code: int) -> None:
    done = subprocess.run(f"{sys.executable} -m spyre_dsl.cli.main {line}", shell=True, capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
