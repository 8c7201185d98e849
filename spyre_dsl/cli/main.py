"""``spyre-dsl``: finds the command and hands over to its module.

Only the module of the command that was asked for is imported, so that ``lint`` answers at once although other commands
need torch.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from spyre_dsl import __version__

COMMANDS: Final = {
    "lint": "check adapter files",
    "explain": "say what a diagnostic code means and how to mend it, or what a fact (E10, S51) says",
    "apply": "patch a model, run it, and compare it with the float32 reference",
    "why": "say, place by place, why a rule matches or does not",
    "test": "run the tests in adapter files and check their claims",
    "stacks": "list the stacks, show what one supports, compare two, check a profile of your own",
}
"""Every command with its one line of help; the module of each is ``spyre_dsl.cli.NAME``."""

QUICK: Final = frozenset({"lint", "explain"})
"""Commands whose runs are so short that collecting garbage would only cost time."""

USAGE_ERROR: Final = 2
INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code: 0 all is well, 1 there are findings, 2 it could not be run."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    _open_closed_streams()
    try:
        parsed = build_parser(given).parse_args(given)
        module = import_module(f"spyre_dsl.cli.{parsed.command}")
        code: int = module.run(parsed)
        sys.stdout.flush()
        return code
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else USAGE_ERROR
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the output has seen enough
        _drop_output()
        return 0
    except OSError as problem:  # a full disk under the output; commands report what they cannot read themselves
        print(f"error: {problem}", file=sys.stderr)
        _drop_output()
        return USAGE_ERROR


def _open_closed_streams() -> None:
    """A standard stream that the caller has closed is empty, and swallows what is written to it."""
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")


def _drop_output() -> None:
    """What is still to be written goes nowhere, so that Python's own flush at the end does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Parser(argparse.ArgumentParser):
    """An argument parser that guesses what a misspelt command or option was meant to be."""

    def error(self, message: str) -> object:  # type: ignore[override]
        self.print_usage(sys.stderr)
        print(f"{self.prog}: error: {message}{self._guess(message)}", file=sys.stderr)
        raise SystemExit(USAGE_ERROR)

    def _guess(self, message: str) -> str:
        from spyre_dsl.language.suggest import nearest

        wrong = message.partition("invalid choice: '")[2].partition("'")[0]
        known = list(COMMANDS)
        for action in self._actions:
            known += [str(choice) for choice in action.choices or ()]
        if not wrong:
            wrong = message.partition("unrecognized arguments: ")[2].partition(" ")[0].partition("=")[0]
            known = _options(self)
        near = nearest(wrong, known) if wrong else None
        return f"; did you mean `{near}`?" if near else ""


def _options(parser: argparse.ArgumentParser) -> list[str]:
    """The options of a parser and of its commands."""
    found: list[str] = []
    for action in parser._actions:
        found += action.option_strings
        if isinstance(action.choices, dict):
            found += [option for command in action.choices.values() for option in _options(command)]
    return found


def build_parser(given: Sequence[str]) -> argparse.ArgumentParser:
    """The parser for one command line: of the command that it names all options, of the others the name only."""
    parser = _Parser(
        prog="spyre-dsl",
        description="Write, check, prove and retire model adapters for a young accelerator stack.",
        epilog="`spyre-dsl COMMAND --help` says more about a command.",
    )
    parser.add_argument("--version", action="version", version=f"spyre-dsl {__version__}")
    subparsers = parser.add_subparsers(  # named here, or argparse would look up how wide the terminal is to find it
        prog=parser.prog, dest="command", metavar="COMMAND", required=True, parser_class=_Parser
    )
    wanted = next((word for word in given if not word.startswith("-")), None)
    if wanted in QUICK:
        gc.disable()
    for name, summary in COMMANDS.items():
        if name == wanted:
            import_module(f"spyre_dsl.cli.{name}").add_parser(subparsers)
        else:
            subparsers.add_parser(name, help=summary)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
