"""``spyre-dsl lint PATH...``: check adapter files, without importing torch."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TextIO

from spyre_dsl.cli.reporters import FORMATS, Findings, find_reporter
from spyre_dsl.language.checks import checks, compare
from spyre_dsl.language.checks.examined import Examined
from spyre_dsl.language.checks.parts import examine_all, processes_for
from spyre_dsl.language.checks.registry import Registered
from spyre_dsl.language.codes import CODES
from spyre_dsl.language.diagnostics import Severity, SpyreDslError
from spyre_dsl.language.suggest import nearest

if TYPE_CHECKING:
    from spyre_dsl.language.loader import LoadResult

CLEAN: Final = 0
FINDINGS: Final = 1
COULD_NOT_RUN: Final = 2

_EXAMPLES = """\
examples:
  spyre-dsl lint adapters.d                        all adapter files of a folder
  spyre-dsl lint a.yaml b.yaml --strict            warnings count as errors
  cat a.yaml | spyre-dsl lint -                    standard input
  spyre-dsl lint adapters.d --select SD3,SD402     some codes only; SD3 means all that start so
  spyre-dsl lint adapters.d --format sarif > out   for code scanning services

exit code: 0 clean (warnings may be shown), 1 findings, 2 could not run
"""


def add_parser(subparsers: Any) -> None:
    """Declares the command and its options."""
    parser = subparsers.add_parser(
        "lint",
        help="check adapter files",
        description="Check adapter files: names, arguments, captures, guards, overlaps, termination, tests.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", help="a file, a folder of *.yaml and *.yml files, or - for standard input"
    )
    parser.add_argument("--format", choices=FORMATS, default="text", help="how to print the findings (text)")
    parser.add_argument(
        "--select", metavar="CODES", action="append", help="report these codes only; SD3 means all that start so"
    )
    parser.add_argument("--ignore", metavar="CODES", action="append", help="do not report these codes")
    parser.add_argument("--strict", action="store_true", help="turn warnings into errors")
    parser.add_argument(
        "--jobs", metavar="N", type=_jobs, help="how many processes check files (one for each core if there are many)"
    )
    parser.add_argument(
        "--deep",
        action="store_true",
        help="compare module classes, what they take and have, config keys and model types with the installed packages",
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; returns the exit code."""
    try:
        select, ignore = parse_codes(arguments.select), parse_codes(arguments.ignore)
        registered = checks(deep=arguments.deep)
        files, unreadable = examined(arguments, registered)
        found = compare(files, registered, select=select, ignore=ignore)
    except SpyreDslError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return COULD_NOT_RUN
    if arguments.strict:
        from dataclasses import replace  # as much work to import as some files are to check

        found = tuple(replace(entry, severity=Severity.ERROR) for entry in found)
    findings = Findings(found, len(files))
    write(find_reporter(arguments.format)(findings, colour=colours_wanted(sys.stdout)), sys.stdout)
    if arguments.format != "text":
        print(findings.summary(), file=sys.stderr)
    if unreadable:
        print(*(f"error: {problem}" for problem in unreadable), sep="\n", file=sys.stderr)
        return COULD_NOT_RUN
    return FINDINGS if findings.count(Severity.ERROR) else CLEAN


def parse_codes(given: Sequence[str] | None) -> frozenset[str] | None:
    """The codes, and beginnings of codes, in options such as ``SD3,SD402``; None if there are none.

    Raises:
        SpyreDslError: a word is no code, nor the beginning of one; or there are no words.
    """
    if given is None:
        return None
    words = [word.strip() for option in given for word in option.split(",") if word.strip()]
    if not words:
        raise SpyreDslError("no codes are named; `spyre-dsl explain` lists all codes")
    for word in words:
        if not any(code.startswith(word) for code in CODES):
            near = nearest(word, CODES)
            hint = f"did you mean `{near}`?" if near else "`spyre-dsl explain` lists all codes"
            raise SpyreDslError(f"unknown code `{word}`; {hint}")
    return frozenset(words)


def examined(arguments: argparse.Namespace, registered: Sequence[Registered]) -> tuple[list[Examined], list[OSError]]:
    """Loads and checks one by one what the paths stand for, each file once; and why some of the files cannot be read.

    Raises:
        SpyreDslError: paths that do not exist, or folders without adapter files; all of them are named.
    """
    files = _find(arguments.paths)
    found = examine_all(files, _load, registered, _processes(arguments, len(files)))
    unreadable = [problem for problem in found if isinstance(problem, OSError)]
    return [file for file in found if not isinstance(file, OSError)], unreadable


def _processes(arguments: argparse.Namespace, files: int) -> int:
    """How many processes look at the files; one in deep mode, where each would read the same tables."""
    if arguments.deep:
        return 1
    return processes_for(files) if arguments.jobs is None else min(arguments.jobs, files)


def _jobs(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is no number of processes, such as 4")
    return int(text)


def _find(paths: Sequence[str]) -> list[str | None]:
    """The files that the paths stand for; None is standard input. Raises SpyreDslError as ``read`` does."""
    from spyre_dsl.language.loader import find_files

    problems = [problem for path in paths if path != "-" and (problem := _problem(path)) is not None]
    if problems:
        raise SpyreDslError("\nerror: ".join(problems))
    files: list[str | None] = [*find_files(path for path in paths if path != "-")]
    return [None, *files] if "-" in paths else files


def _problem(path: str) -> str | None:
    """Why there is nothing to lint at a path, if so."""
    from spyre_dsl.language.loader import adapter_files, why_unreadable

    if os.path.isfile(path):
        return None
    if (reason := why_unreadable(path)) is not None:
        return reason
    if not os.path.exists(path):
        return f"no such file or folder: {path}{_nearby(path)}"
    if os.path.isdir(path) and next(adapter_files(path), None) is None:
        return f"no adapter files (*.yaml, *.yml) in {path}"
    return None


def _load(file: str | None) -> LoadResult:
    from spyre_dsl.language.loader import load_file

    return _read_standard_input() if file is None else load_file(file)


def _nearby(path: str) -> str:
    """The name beside ``path`` that it most likely means."""
    from pathlib import Path

    parent = Path(path).parent
    names = sorted(entry.name for entry in parent.iterdir()) if parent.is_dir() else []
    near = nearest(Path(path).name, names)
    return f"; did you mean {parent / near}?" if near else ""


def _read_standard_input() -> LoadResult:
    from spyre_dsl.language.encoding import MAX_BYTES
    from spyre_dsl.language.loader import load_bytes

    return load_bytes(sys.stdin.buffer.read(MAX_BYTES + 1), "<stdin>")


def colours_wanted(stream: TextIO) -> bool:
    """Whether to colour: on a terminal that can, unless ``NO_COLOR`` is set to anything."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def write(text: str, stream: TextIO) -> None:
    """Writes ``text``; what the encoding of the stream lacks is escaped rather than refused."""
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
