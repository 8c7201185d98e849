"""The kernels of a run by what they cost, equal layers taken together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spyre_dsl.patching.table import without_layers

if TYPE_CHECKING:
    from spyre_sim.cost.program import CostedKernel, ProgramCost

DEAREST = 10


@dataclass(frozen=True)
class Row:
    """A kernel of the model, or one that repeats over its layers: the first of them, how many, their microseconds."""

    kernel: CostedKernel
    path: str
    count: int
    microseconds: float


def rows(cost: ProgramCost) -> list[Row]:
    """The kernels by what they take together, dearest first; layers of equal kernels are one row."""
    groups: dict[tuple[Any, ...], list[CostedKernel]] = {}
    for kernel in cost.kernels:
        site, price = kernel.site, kernel.cost
        key = (price.name, without_layers(site.module_path), site.source_line, site.op, price.cycles, price.bound)
        groups.setdefault(key, []).append(kernel)
    found = [_row(members) for members in groups.values()]
    return sorted(found, key=lambda row: -row.microseconds)


def _row(members: Sequence[CostedKernel]) -> Row:
    path = members[0].site.module_path
    return Row(
        members[0], without_layers(path) if len(members) > 1 else path, len(members),
        sum(member.cost.total_us for member in members),
    )  # fmt: skip


def profile_json(cost: ProgramCost | None) -> dict[str, Any] | None:
    """The totals and the dearest kernels as plain data (schema/report.schema.json, ``profile``)."""
    if cost is None:
        return None
    return {
        "total_us": round(cost.total_us, 3),
        "device_us": round(cost.device_us, 3),
        "copy_us": round(cost.copy_us, 3),
        "launches": len(cost.bundles()),
        "dearest": [
            {
                "kernel": row.kernel.cost.name,
                "module_path": row.path,
                "source_line": row.kernel.site.source_line,
                "places": row.count,
                "cycles": row.kernel.cost.cycles,
                "microseconds": round(row.kernel.cost.total_us, 3),
                "bound": row.kernel.cost.bound,
            }
            for row in rows(cost)[:DEAREST]
        ],
    }
