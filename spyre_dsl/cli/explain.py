"""``spyre-dsl explain CODE``: what a finding means and how to mend it."""

from __future__ import annotations

import argparse
import sys
from typing import Any, Final

from spyre_dsl.language.codes import CODES, page
from spyre_dsl.language.facts import fact_ids
from spyre_dsl.language.suggest import nearest

COULD_NOT_RUN: Final = 2

_EXAMPLES = """\
examples:
  spyre-dsl explain SD203    the page of one code
  spyre-dsl explain          all codes with their titles
  spyre-dsl explain S51      a silent failure of the stack: what triggers it, what it does, when it was there
"""


def add_parser(subparsers: Any) -> None:
    """Declares the command and its options."""
    parser = subparsers.add_parser(
        "explain",
        help="say what a diagnostic code means and how to mend it",
        description="Print the page of a diagnostic code, or list all codes; or what is known of a silent failure.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("code", metavar="CODE", nargs="?", help="SD203, S51; all codes are listed if it is left out")


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; returns the exit code."""
    if arguments.code is None:
        print("\n".join(f"{code.code}  {code.severity.value:<7}  {code.title}" for code in CODES.values()))
        return 0
    code = arguments.code.upper()
    if code in fact_ids():
        return _explain_fact(code)
    if code not in CODES:
        near = _meant(code)
        hint = f"did you mean `{near}`?" if near else "`spyre-dsl explain` lists all codes"
        print(f"error: unknown code `{arguments.code}`; {hint}", file=sys.stderr)
        return COULD_NOT_RUN
    try:
        text = page(code).rstrip()
    except OSError as problem:
        print(f"error: the page of {code} cannot be read: {problem}", file=sys.stderr)
        return COULD_NOT_RUN
    print(text)
    return 0


def _meant(word: str) -> str | None:
    """The code that a word most likely means: by its number where it has one (``203``, ``SD-203``, ``E203``)."""
    digits = "".join(character for character in word if character.isdecimal())
    by_number = f"SD{digits}"
    return by_number if by_number in CODES else nearest(word, CODES)


def _explain_fact(identifier: str) -> int:
    """Print what the simulator's catalogue of silent failures says; of other facts only the ids are known here."""
    from spyre_sim.stacks import facts

    defect = facts.defects().get(identifier)
    if defect is None:
        print(
            f"error: `{identifier}` is the id of a public fact about the stack; only silent failures (S1 to S75) are "
            "explained here",
            file=sys.stderr,
        )
        return COULD_NOT_RUN
    about = "" if defect.dates == "published" else " (the days are approximate)"
    print(
        f"{identifier}: {defect.title}\n\n"
        f"trigger:    {defect.trigger}{', in company of other ops' if defect.fused else ''}\n"
        f"symptom:    {defect.symptom}\n"
        f"interval:   {defect.introduced or 'from the first snapshot'} to {defect.fixed or 'today'}{about}\n"
        f"simulated:  {'yes' if defect.modelled else 'no'}\n"
        f"known from: {defect.reference or 'the public record'}"
    )
    return 0
