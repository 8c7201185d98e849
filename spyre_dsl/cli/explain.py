"""``spyre-dsl explain CODE...``: what a finding means and how to mend it, and what a public fact says."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any, Final

from spyre_dsl.language.codes import CODES, page
from spyre_dsl.language.facts import fact_ids, likeliest
from spyre_dsl.language.suggest import nearest

COULD_NOT_RUN: Final = 2

_EXAMPLES = """\
examples:
  spyre-dsl explain SD203     the page of one code
  spyre-dsl explain           all codes with their titles
  spyre-dsl explain E10 O14   facts that reports and adapters cite: what they say, and where they are known from
  spyre-dsl explain S51       a silent failure of the stack: what triggers it, what it does, when it was there
  spyre-dsl explain E         all facts of a letter: N number formats, L layouts, E error texts, O ops, ...
"""


def add_parser(subparsers: Any) -> None:
    """Declares the command and its options."""
    parser = subparsers.add_parser(
        "explain",
        help="say what a diagnostic code means and how to mend it, or what a fact (E10, S51) says",
        description="Print the pages of diagnostic codes, what facts say by their ids, or a list of all codes.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("codes", metavar="CODE", nargs="*", help="SD203, E10, S51; without any, all codes are listed")


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; returns the exit code."""
    if not arguments.codes:
        print("\n".join(f"{code.code}  {code.severity.value:<7}  {code.title}" for code in CODES.values()))
        return 0
    texts = {word: _text(word) for word in _words(arguments.codes)}
    known = [text for text in texts.values() if text is not None]
    if known:
        print("\n\n".join(known))
    for word in (word for word, text in texts.items() if text is None):
        print(f"error: {_unknown(word)}", file=sys.stderr)
    return 0 if len(known) == len(texts) else COULD_NOT_RUN


def _words(given: Sequence[str]) -> list[str]:
    """Each of the words once; ``section`` and its number are one."""
    return list(dict.fromkeys(re.findall(r"section [\d.]+|\S+", " ".join(given), re.IGNORECASE))) or [""]


def _text(word: str) -> str | None:
    """The page of a code, or what a fact, a letter or a section says; ``None`` for other words. Raises OSError."""
    code = word.upper()
    if code in CODES:
        return page(code).rstrip()
    from spyre_dsl.cli.fact_text import fact_text, section_text, table_text
    from spyre_dsl.language.fact_texts import SECTIONS, tables

    identifier = {name.upper(): name for name in fact_ids()}.get(code)
    if identifier is not None:
        return fact_text(identifier)
    if code in SECTIONS:
        return section_text(code)
    number = code.removeprefix("SECTION ")
    return table_text(number) if number in tables() else None


def _unknown(word: str) -> str:
    near = _meant(word)
    hint = f"did you mean `{near}`?" if near else _where_all_are(word)
    return f"unknown code `{word}`; {hint}"


def _where_all_are(word: str) -> str:
    """Codes and facts are listed by different words; a letter and a number is the id of a fact."""
    from spyre_dsl.language.fact_texts import SECTIONS

    letter = word[:1].upper()
    if letter in SECTIONS and word[1:].isdecimal():
        return f"`spyre-dsl explain {letter}` lists the facts of this letter, docs/facts.md all of them"
    return "`spyre-dsl explain` lists all codes; facts are in docs/facts.md"


def _meant(word: str) -> str | None:
    """The code or fact that a word most likely means: a code by its number (``203``, ``SD-203``, ``E203``) first."""
    digits = "".join(character for character in word if character.isdecimal())
    by_number = f"SD{digits}"
    if by_number in CODES:
        return by_number
    return nearest(word, CODES) or nearest(word.upper(), likeliest(word))
