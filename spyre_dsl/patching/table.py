"""A plan as a table for people."""

from __future__ import annotations

from collections.abc import Sequence

from spyre_dsl.patching.site import Site

HEADINGS = ("adapter", "rule", "module path", "source line", "before", "after")
WIDEST = 60
"""Longer code is cut in the table; ``Plan.to_json`` has all of it."""


def table(sites: Sequence[Site]) -> str:
    """One line a site, columns as wide as they need to be."""
    rows = [HEADINGS, *(_row(site) for site in sites)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def _row(site: Site) -> tuple[str, ...]:
    module_path = site.module_path or "(the model)"
    return (site.adapter, site.rule, module_path, site.source_line, _cut(site.before), _cut(site.after))


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= WIDEST else text[: WIDEST - 3] + "..."
