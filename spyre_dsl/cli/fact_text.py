"""Public facts as ``spyre-dsl explain E10`` prints them: what they say, what they rest on, and who cites them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from functools import cache
from typing import Final

from spyre_dsl.language.fact_texts import SECTIONS, Fact, fact, section, tables

_WIDTH: Final = 100
_LABEL: Final = 12


def fact_text(identifier: str) -> str:
    """The fact with the id, and of a silent failure also what the simulator does about it.

    Raises:
        KeyError: there is no such fact.
    """
    found = fact(identifier)
    lines = [f"{identifier}: {_title(identifier)}", "", *_wrapped(found.text), "", *_support(found)]
    return "\n".join([*lines, *(_simulated(identifier) if identifier.startswith("S") else ())])


def section_text(letter: str) -> str:
    """All facts whose ids begin with the letter, each with what it says.

    Raises:
        KeyError: no ids begin with it.
    """
    facts = section(letter)
    width = max(map(len, facts)) + 2
    lines = [f"{letter}: {SECTIONS[letter]}", ""]
    for found in facts.values():
        lines += _wrapped(f"{found.id:<{width}}{found.text}", " " * width)
    return "\n".join(lines)


def table_text(number: str) -> str:
    """What a section of the record holds without ids, row by row.

    Raises:
        KeyError: no section of that number has a table.
    """
    table = tables()[number]
    lines = [f"section {number}: {table.title}", "", *_wrapped(table.text), ""]
    lines += [*_labelled("as of", table.date), *_labelled("source", "; ".join(table.sources)), ""]
    lines += _wrapped(f"{table.columns[0]}: {' | '.join(table.columns[1:])}", "    ")
    for first, *cells in table.rows:
        lines += _wrapped(f"{first}: {' | '.join(cells)}", "    ")
    return "\n".join(lines)


def _title(identifier: str) -> str:
    if identifier.startswith("S"):
        from spyre_sim.stacks import facts

        title: str = facts.defects()[identifier].title
        return title
    return SECTIONS[identifier[0]]


def _wrapped(text: str, indent: str = "") -> list[str]:
    """Lines that break at spaces alone, so that quoted error texts and paths can be searched for."""
    return textwrap.wrap(text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _labelled(label: str, text: str) -> list[str]:
    return _wrapped(f"{label + ':':<{_LABEL}}{text}", " " * _LABEL)


def _support(found: Fact) -> Iterator[str]:
    yield from _labelled("support", f"{found.support.value}, {found.support.meaning}")
    if found.date:
        yield from _labelled("as of", found.date)
    yield from _labelled("source", "; ".join(found.sources))
    citing = [*_named("adapter", citing_adapters(found.id)), *_named("op", citing_ops(found.id))]
    if citing:
        yield from _labelled("cited by", "; ".join(citing))


def _named(kind: str, names: list[str]) -> list[str]:
    """``["adapters a, b"]``; nothing for no names."""
    return [f"{kind}{'s' if len(names) > 1 else ''} {', '.join(names)}"] if names else []


def citing_adapters(identifier: str) -> list[str]:
    """The adapters that come with the product and cite the fact as evidence."""
    return [name for name, evidence in _evidence().items() if identifier in evidence]


@cache
def _evidence() -> dict[str, list[str]]:
    """The ids that each adapter cites; the files are read as plain YAML, which is quicker than as adapters."""
    import yaml

    from spyre_dsl.language.resources import resource

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    files = sorted(resource("adapters.d").glob("*.yaml"))
    adapters = [yaml.load(file.read_text(encoding="utf-8"), Loader=loader) for file in files]
    return {adapter["adapter"]: adapter["gap"].get("evidence", []) for adapter in adapters}


def citing_ops(identifier: str) -> list[str]:
    """The ops whose status or limits in the default stack rest on the fact, sorted."""
    from spyre_sim.stacks import load_stack

    return sorted(
        name
        for name, status in load_stack().ops.items()
        if identifier in (*status.facts, *(limit.fact for limit in status.restrictions))
    )


def _simulated(identifier: str) -> Iterator[str]:
    """What the simulator's catalogue of silent failures says: its trigger, its symptom, its days and what it does."""
    from spyre_sim.defects import EMERGENT, MODELLED
    from spyre_sim.stacks import facts

    defect = facts.defects()[identifier]
    about = "" if defect.dates == "published" else " (the days are approximate)"
    yield from ("", "in the simulator")
    yield from _labelled("trigger", f"{defect.trigger}{', in company of other ops' if defect.fused else ''}")
    yield from _labelled("symptom", defect.symptom)
    yield f"interval:   {defect.introduced or 'from the first snapshot'} to {defect.fixed or 'today'}{about}"
    yield f"simulated:  {'yes' if defect.modelled else 'no'}"
    if defect.modelled:
        yield from _labelled("effect", MODELLED.get(identifier) or EMERGENT[identifier])
    yield from _labelled("known from", defect.reference or "the public record")
