"""Tiled loops and the scratchpad: the rest of the September 2026 cost model (facts C5, C6, C8)."""

from __future__ import annotations

import math

LOOP_ITERATION_US = 0.688  # a placeholder of the model itself
SPILL_GB_S = 105.0
DEPENDENT_ELEMENTS_PER_NS = 1.5  # per core


def tiling_efficiency(rows_per_core: float, columns: int) -> float:
    """Share of the untiled rate that a coarsely tiled op reaches, `rows_per_core` being those of one tile."""
    return float(min(1.08, (rows_per_core / 7.9) ** 0.5 * (columns / 2048) ** 0.38))


def matmul_tiling_efficiency(rows_per_core: float) -> float:
    """The same for a matmul."""
    return float(min(0.95, (rows_per_core / 13) ** 0.68))


def overflow_factor(working_set: int, *, matmul: bool = False) -> float:
    """What a working set beyond the scratchpad multiplies the rate by; 1 below the cap."""
    cap, exponent = (2 * 1024 * 1024, 0.15) if matmul else (512 * 1024, 0.06)
    return float(min(1.0, (cap / working_set) ** exponent)) if working_set else 1.0


def dependent_reductions_us(elements: int, cores: int) -> float:
    """Fused row reductions of which each waits for the one before, in device elements."""
    return elements / cores / DEPENDENT_ELEMENTS_PER_NS / 1e3


def relayout_us(runs_per_core: int, split: int, span_per_core: int) -> float:
    """A copy within the scratchpad from one division of the work to another."""
    steps = min(8, max(2, split))
    return (runs_per_core * (-1.14 + 3.92 * math.log2(steps)) + span_per_core / 547) / 1e3


def spill_us(nbytes: int) -> float:
    """A buffer that does not fit into the scratchpad: out and back."""
    return 2 * nbytes / SPILL_GB_S / 1e3
