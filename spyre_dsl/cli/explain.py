"""``spyre-dsl explain CODE``: what a finding means and how to mend it."""

from __future__ import annotations

import argparse
import sys
from typing import Any, Final

from spyre_dsl.language.codes import CODES, page
from spyre_dsl.language.suggest import nearest

COULD_NOT_RUN: Final = 2

_EXAMPLES = """\
examples:
  spyre-dsl explain SD203    the page of one code
  spyre-dsl explain          all codes with their titles
"""


def add_parser(subparsers: Any) -> None:
    """Declares the command and its options."""
    parser = subparsers.add_parser(
        "explain",
        help="say what a diagnostic code means and how to mend it",
        description="Print the page of a diagnostic code, or list all codes.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("code", metavar="CODE", nargs="?", help="such as SD203; all codes are listed if it is left out")


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; returns the exit code."""
    if arguments.code is None:
        print("\n".join(f"{code.code}  {code.severity.value:<7}  {code.title}" for code in CODES.values()))
        return 0
    code = arguments.code.upper()
    if code not in CODES:
        near = nearest(code, CODES)
        hint = f"did you mean `{near}`?" if near else "`spyre-dsl explain` lists all codes"
        print(f"error: unknown code `{arguments.code}`; {hint}", file=sys.stderr)
        return COULD_NOT_RUN
    try:
        print(page(code).rstrip())
    except OSError as problem:
        print(f"error: the page of {code} cannot be read: {problem}", file=sys.stderr)
        return COULD_NOT_RUN
    return 0
