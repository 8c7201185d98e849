"""docs/fidelity.md out of the registry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import families  # noqa: F401  (fills the registry)
from .figure import FAMILIES, Family, Measured, measure

NOTE = "<!-- Written by python -m spyre_sim.fidelity; change the figures, not this file. -->"
INTRODUCTION = """\
Every figure that was published about the device and that the simulator can be asked for, with what it gives. An id is
that of the fact (a section number where a table has no id of its own); the source is a file of the public project or an
issue of torch-spyre. *Agrees* is decided by the criterion in its column and by nothing else. The simulator's value is
computed when this page is written, by compiling and running the code in `simulator/spyre_sim/fidelity/` on the named
stack profile.

Where the published input is not known, random numbers stand for it and the criterion is a factor, not digits. No
setting of the simulator is there for one figure: settings belong to a stack profile and hold for every kernel and
model. So some figures do not agree, and the remark says why."""


def render(measured: Mapping[str, Sequence[Measured]] | None = None) -> str:
    """The page; measures everything unless it is given what was measured, by the families' titles."""
    found = measure_all() if measured is None else measured
    rows = [row for family in found.values() for row in family]
    agreeing = sum(row.agrees for row in rows)
    parts = [NOTE, "# Fidelity", INTRODUCTION, f"**{agreeing} of {len(rows)} figures agree.**"]
    for family in FAMILIES:
        parts += [f"## {family.title}", _table(found[family.title]), *_unmodelled(family)]
    return "\n\n".join(parts) + "\n"


def measure_all() -> dict[str, list[Measured]]:
    """Every figure measured, by family."""
    return {family.title: [measure(figure) for figure in family.figures] for family in FAMILIES}


def show(value: Any) -> str:
    """A value as the page has it: five digits of a number, elements one after another."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e9 else f"{value:.5g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {show(item)}" for name, item in value.items())
    return ", ".join(map(show, value)) if isinstance(value, (tuple, list)) else str(value)


def _table(rows: Iterable[Measured]) -> str:
    heads = ("id", "what", "published", "source", "stack", "simulator", "agreement means", "agrees", "remark")
    cells = [heads, ("---",) * len(heads), *(_cells(row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def _cells(row: Measured) -> tuple[str, ...]:
    figure = row.figure
    texts = (
        figure.id, figure.what, show(figure.published), figure.source, figure.stack, show(row.value),
        figure.criterion.text, "yes" if row.agrees else "**no**", figure.note,
    )  # fmt: skip
    return tuple(text.replace("|", "\\|") for text in texts)


def _unmodelled(family: Family) -> list[str]:
    if not family.unmodelled:
        return []
    lines = [
        f"- {fact}: {published.rstrip('.')}. {why[0].upper()}{why[1:]}." for fact, published, why in family.unmodelled
    ]
    return ["Published, and not simulated:\n\n" + "\n".join(lines)]
