"""A plan as a table for people: one row for what repeats over the layers of a model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from spyre_dsl.graphs.node import Node
from spyre_dsl.graphs.sizes import SymbolicSize

WIDEST: Final = 110
"""Longer code is cut in the table; ``Plan.to_json`` has all of it."""

HEADINGS: Final = ("adapter/rule", "module path", "source line", "places")
TEXT_INPUTS: Final = ("input_ids", "inputs_embeds", "attention_mask")
"""Inputs of models that read text: their first dimension is the batch, their second the sequence."""

_SYMBOL = re.compile(r"(?<!\$)\bs\d+\b")


def table(sites: Sequence[Any], sizes: Mapping[str, str] | None = None) -> list[str]:
    """One row for what repeats over the layers, with its count and the first place's code before and after.

    ``sites`` have the attributes of ``Site``; ``sizes`` says what the open sizes in their code are (``open_sizes``).
    One that has a name of one word stands under that name; the others are explained under the table.
    """
    known = sizes or {}
    groups: dict[tuple[str, ...], list[Any]] = {}
    for site in sites:
        key = (f"{site.adapter}/{site.rule}", without_layers(site.module_path) or "the model", site.source_line)
        groups.setdefault(key, []).append(site)
    rows = [(*key, f"x {len(found)}") for key, found in groups.items()]
    widths = [max(map(len, column)) for column in zip(HEADINGS, *rows, strict=True)]
    lines = [_row(HEADINGS, widths)]
    for row, (first, *_) in zip(rows, groups.values(), strict=True):
        lines += [_row(row, widths), f"      - {_code(first.before, known)}", f"      + {_code(first.after, known)}"]
    return [*lines, *_explained("\n".join(lines), known)]


def without_layers(module_path: str) -> str:
    """``encoder.layer.3.output`` as ``encoder.layer.*.output``."""
    return ".".join("*" if part.isdigit() else part for part in module_path.split("."))


def open_sizes(inputs: Sequence[Node]) -> dict[str, str]:
    """What every size is that a model leaves open: ``{"s18": "batch", "s27": "size 2 of pixels"}``."""
    found: dict[str, str] = {}
    for known in (True, False):
        for node in inputs:
            for dim, size in enumerate(node.shape):
                text = known and dim < 2 and node.name in TEXT_INPUTS
                if isinstance(size, SymbolicSize) and text == known and str(size) not in found:
                    found[str(size)] = ("batch", "sequence")[dim] if text else f"size {dim} of {node.name}"
    return found


def _explained(shown: str, sizes: Mapping[str, str]) -> list[str]:
    left = [symbol for symbol in dict.fromkeys(_SYMBOL.findall(shown)) if symbol in sizes]
    return [f"  where {', '.join(f'{symbol} is {sizes[symbol]}' for symbol in left)}"] if left else []


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  " + "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _code(code: str, sizes: Mapping[str, str]) -> str:
    named = _SYMBOL.sub(lambda found: _name(found[0], sizes), " ".join(code.split()))
    return named if len(named) <= WIDEST else f"{named[: WIDEST - 3]}..."


def _name(symbol: str, sizes: Mapping[str, str]) -> str:
    name = sizes.get(symbol, symbol)
    return name if name.isidentifier() else symbol
