"""Write docs/facts.md from the texts of the facts.

    python docs/generate_facts.py

``tests/docs/test_facts_page.py`` fails when the page is not what this would write.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from spyre_dsl.language.fact_texts import SECTIONS, Fact, Support, Table, all_facts, section, tables
from spyre_dsl.language.facts import fact_ids

PAGE = Path(__file__).with_name("facts.md")
NOTE = "<!-- Written by docs/generate_facts.py; change its sources, not this file. -->"
GITHUB = "https://github.com"
INTRODUCTION = """\
What is publicly known about the stack that is simulated here, each statement under an id. Adapters cite the ids as
evidence (`gap.evidence`), stack profiles beside each op, reports behind each refusal, and the code where a number comes
from. `spyre-dsl explain E10` prints one and says who cites it, `spyre-dsl explain E` all of a letter.

Everything is in this project's own words but for error texts, names and figures. Issues are open or closed as of the
day that is given. What the simulator makes of the silent failures (S) is told in [silent failures](defects.md), how
well it agrees with the measured figures in [fidelity](fidelity.md).

Code and profiles also cite sections of the record by number: 1 is N, 2 A, 3 L and E, 4 W, P, C and K, 5 O, 6 S, 7 T,
8 V, 9 Q, 10 M, 11 R, 13 U, 14 D. What a section holds without ids is a table here: `spyre-dsl explain section 5`."""

SNAPSHOTS = (
    ("torch-spyre@859df83", "torch-spyre/torch-spyre", "2025-11-21"),
    ("torch-spyre@e1abccf7", "AdnanHoque/torch-spyre", "2026-06-24"),
    ("torch-spyre of 2026-09", "torch-spyre/torch-spyre, code and documents of August and September", "2026-09"),
    ("hf-adapters@8bf2b76", "torch-spyre/hf-adapters", "2026-08-20"),
    ("ktir-cpu@9e03d63", "torch-spyre/ktir-cpu", "2026-08-21"),
    ("spyre-inference@4744aed", "torch-spyre/spyre-inference (the vLLM plug-in)", "2026-08-22"),
)
"""The states of public repositories that files are cited from, as ``sources`` write them."""


TABLES = {"L": "2.3", "E": "3.2", "W": "4.1", "O": "5", "M": "9.2", "U": "12"}
"""The table that stands before each of these sections, by its number."""


def page() -> str:
    """The text of docs/facts.md."""
    counts = Counter(found.support for found in all_facts())
    supports = "\n".join(f"- *{kind.value}* ({counts[kind]}): {kind.meaning}" for kind in Support)
    snapshots = "\n".join(f"- `{name}`: {where}, {day}" for name, where, day in SNAPSHOTS)
    parts = [NOTE, "# Facts", INTRODUCTION, f"What a fact rests on:\n\n{supports}"]
    parts += [f"Files come from these states of public repositories, issues and pull requests as #:\n\n{snapshots}"]
    parts += ["\n".join(_entry_of_contents(letter) for letter in SECTIONS)]
    for letter, title in SECTIONS.items():
        if letter in TABLES:
            parts += _table(tables()[TABLES[letter]])
        parts += [f"## {letter}: {title}", *(_entry(found) for found in section(letter).values())]
    return "\n\n".join(parts) + "\n"


def _table(table: Table) -> list[str]:
    rows = [
        table.columns,
        ["---"] * len(table.columns),
        *([prose(cell).replace("|", "\\|") for cell in row] for row in table.rows),
    ]
    lines = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    told = f"*({', '.join([table.date, *map(_source, table.sources)])})*"
    return [
        f'## <a id="section-{table.number}"></a>Section {table.number}: {table.title}',
        f"{prose(table.text)} {told}",
        lines,
    ]


def _entry_of_contents(letter: str) -> str:
    first = next(iter(section(letter)))
    before = tables().get(TABLES.get(letter, ""))
    link = f"- [section {before.number}](#section-{before.number}): {before.title}\n" if before else ""
    return f"{link}- [{letter}](#{first}): {SECTIONS[letter]} ({len(section(letter))})"


def _entry(found: Fact) -> str:
    told = ", ".join([found.support.value, *([found.date] if found.date else [])])
    sources = "; ".join(_source(name) for name in found.sources)
    return f'<a id="{found.id}"></a>**{found.id}** {prose(found.text)} *({told}; {sources})*'


def prose(text: str) -> str:
    """The text as Markdown: nothing but code spans is markup, and the ids of other facts are links."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else _linked(re.sub(r"([*_<\\])", r"\\\1", part)) for part in parts)


def _linked(text: str) -> str:
    def link(found: re.Match[str]) -> str:
        return f"[{found[0]}](#{found[0]})" if found[0] in fact_ids() else found[0]

    return re.sub(r"\b[A-Z]\d+b?\b", link, text)


def _source(name: str) -> str:
    issue = re.fullmatch(r"(torch-spyre|hf-adapters) #(\d+)", name)
    if issue:
        return f"[{name}]({GITHUB}/torch-spyre/{issue[1]}/issues/{issue[2]})"
    return prose(name)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
