"""What a run would cost, for ``apply --profile`` and ``--trace``: the dearest kernels, the totals, the roofline."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spyre_dsl.assessment.profile import DEAREST, Row, rows

if TYPE_CHECKING:
    from spyre_sim.cost.program import ProgramCost

NO_COST = "nothing was run on the simulated stack, or it has no hardware (`ideal`)"
_WORDS = ("op", "kernel", "module path", "source line")
_HEADS = (*_WORDS, "places", "cycles", "us", "all us", "share", "MAC/byte", "bound")


def render_profile(cost: ProgramCost | None, stack: Any, fallbacks: Sequence[Any] = ()) -> str:
    """The table and the totals, or a line that says why there is none."""
    if cost is None:
        return f"profile: none; {NO_COST}"
    found = rows(cost)
    shown = [_cells(row, cost) for row in found[:DEAREST]]
    parts = [f"profile of one run on {cost.stack}, by the cost model of September 2026:"]
    parts += _table([_HEADS, *shown])
    if len(found) > DEAREST:
        rest = sum(row.microseconds for row in found[DEAREST:])
        parts.append(f"  and {len(found) - DEAREST} more kinds of kernel, {rest:.1f} us")
    return "\n".join([*parts, *_totals(cost, stack), *_unpriced(fallbacks)])


def _cells(row: Row, cost: ProgramCost) -> tuple[str, ...]:
    price = row.kernel.cost
    return (
        row.kernel.site.op.removeprefix("aten."), price.name, row.path or "the model", row.kernel.site.source_line,
        f"x {row.count}", f"{price.cycles:,}",
        f"{price.total_us:.2f}", f"{row.microseconds:.1f}", f"{row.microseconds / cost.total_us:.1%}",
        f"{price.macs_per_byte:.1f}", price.bound,
    )  # fmt: skip


def _table(lines: Sequence[Sequence[str]]) -> list[str]:
    """Words to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    words = (*range(len(_WORDS)), len(_HEADS) - 1)
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if index in words else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def _totals(cost: ProgramCost, stack: Any) -> list[str]:
    times = _time_by_bound(cost)
    launches, copies = len(cost.bundles()), len(cost.copies)
    up = sum(copy.bytes for copy in cost.copies if copy.to_device)
    down = sum(copy.bytes for copy in cost.copies) - up
    return [
        f"total: {cost.total_us:.1f} us = {len(cost.kernels)} kernels {times['compute'] + times['memory']:.1f} us "
        f"({times['compute']:.1f} bound by compute, {times['memory']:.1f} by memory) + {launches} launches "
        f"{times['launch']:.1f} us + {copies} copies {cost.copy_us:.1f} us "
        f"({up / 1e6:.2f} MB to the device, {down / 1e6:.2f} MB back)",
        _roofline(cost, stack),
        "launch and copy latencies are placeholders: none is published",
    ]


def _time_by_bound(cost: ProgramCost) -> dict[str, float]:
    times = {"compute": 0.0, "memory": 0.0, "launch": cost.launch_us * len(cost.bundles())}
    for kernel in cost.kernels:
        times[kernel.cost.bound] += kernel.cost.total_us
    return times


def _roofline(cost: ProgramCost, stack: Any) -> str:
    """The whole program as one point under the stack's roofs."""
    from spyre_sim.cost import roofline

    roof = roofline(stack)
    macs, moved = (sum(getattr(kernel.cost, name) for kernel in cost.kernels) for name in ("macs", "bytes"))
    intensity = macs / moved if moved else 0.0
    busy = cost.device_us - cost.launch_us * len(cost.bundles())
    bound = "compute" if intensity > roof.ridge else "memory"
    return (
        f"roofline: {macs / 1e9:.2f} GMAC over {moved / 1e6:.1f} MB are {intensity:.1f} MAC/byte, and the roofs meet "
        f"at {roof.ridge:.0f}: bound by {bound}; {macs / busy / 1e6 if busy else 0:.2f} TMAC/s of the "
        f"{roof.attainable(intensity) / 1e6:.2f} that this allows"
    )


def _unpriced(fallbacks: Sequence[Any]) -> list[str]:
    ops = dict.fromkeys(fallback.op for fallback in fallbacks)
    return [f"not priced, since the host's own time: {', '.join(ops)}"] if ops else []


def write_trace(cost: ProgramCost, path: Path) -> None:
    """Write the costed run in the trace event format, which Chrome (chrome://tracing) and Perfetto open.

    Raises OSError when the file cannot be written.
    """
    path.write_text(json.dumps(cost.trace()) + "\n", encoding="utf-8")
