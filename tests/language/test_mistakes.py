"""Whole files as authors get them wrong: each mistake is told once, in its place, with what was wanted.

``golden/mistakes.txt`` holds the files. A case is a whole file; the keys that it leaves out are filled in behind it.
``<TAB>``, ``<CR>`` and ``<BOM>`` stand for these characters.
"""

from __future__ import annotations

from spyre_dsl.language.checks import check
from spyre_dsl.language.loader import load_text
from tests.language.golden_files import check as check_golden
from tests.language.golden_files import render
from tests.language.pages import completed

_MARKS = {"<TAB>": "\t", "<CR>": "\r", "<BOM>": "\ufeff"}


def judge(text: str) -> str:
    for mark, character in _MARKS.items():
        text = text.replace(mark, character)
    return render(check([load_text(completed("adapter.yaml", text), "adapter.yaml")])) or "nothing"


def test_what_is_said_of_each() -> None:
    check_golden("mistakes.txt", judge)
