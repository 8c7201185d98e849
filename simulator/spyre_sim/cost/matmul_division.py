"""The June 2026 planner's choice of cores for a matmul (fact W4).

It weighs compute, memory, the transfer of partial sums and a preference for full passes of the systolic array, each
in microseconds; batches are dear: the whole is multiplied by b^1.4.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from .division import Axis, distribute, divisors

PSUM_US = 1.4e-4
TIE_US = 50.0
ARRAY_ROWS = 8
LANES = 64


@dataclass(frozen=True)
class PlannerRates:
    """What the planner takes the hardware for (W4): a profile's planner_mac_per_us, per core, and planner_hbm_gb_s."""

    mac_per_us: float = 1_536_000.0
    hbm_gb_s: float = 204.8


PUBLISHED = PlannerRates()


@dataclass(frozen=True)
class MatmulSplit:
    """Cores along batch, rows, columns and contraction, and what the planner reckons they cost."""

    b: int
    m: int
    n: int
    k: int
    cost_us: float

    @property
    def cores(self) -> int:
        return self.b * self.m * self.n * self.k


def split_cost(
    batch: int,
    rows: int,
    columns: int,
    depth: int,
    split: tuple[int, int, int, int],
    rates: PlannerRates = PUBLISHED,
) -> float:
    """The planner's cost of [batch, rows, depth] @ [batch, depth, columns] in microseconds, for cores (b, m, n, k)."""
    b, m, n, k = split
    passes = max(1.0, rows / m / ARRAY_ROWS)
    efficiency = min(1.0, math.sqrt(passes / ARRAY_ROWS))
    compute = batch * rows * columns * depth / (b * m * n * k) / (rates.mac_per_us * efficiency)
    elements = batch * rows * depth + batch * depth * columns + batch * rows * columns
    memory = elements * 2 / (rates.hbm_gb_s * 1000) * max(1.0, max(m, n) / 8)
    partial_sums = max(0, k - 1) * batch * rows * columns * PSUM_US
    tie = 0.0 if passes >= ARRAY_ROWS else math.log2(ARRAY_ROWS / passes) * TIE_US
    return float((compute + memory + partial_sums + tie) * b**1.4)


def divide_matmul(
    batch: int,
    rows: int,
    columns: int,
    depth: int,
    cores: int = 32,
    *,
    shared_weight: bool = False,
    rates: PlannerRates = PUBLISHED,
) -> MatmulSplit | None:
    """The cheapest split, the first of equals; None where the planner leaves the op to the generic distribution.

    It declines if a 2-D weight is shared by a batch, since rows then have two candidates, and if the generic
    distribution would use more cores. Columns and depth are split by sticks, rows and batch by elements.
    """
    if shared_weight and batch > 1:
        return None
    sticks_n, sticks_k = -(-columns // LANES), -(-depth // LANES)
    best: MatmulSplit | None = None
    for b in divisors(batch, cores):
        for m in divisors(rows, cores // b):
            for n in divisors(sticks_n, cores // (b * m)):
                for k in divisors(sticks_k, cores // (b * m * n)):
                    cost = split_cost(batch, rows, columns, depth, (b, m, n, k), rates)
                    if best is None or cost < best.cost_us:
                        best = MatmulSplit(b, m, n, k, cost)
    generic = distribute([Axis("b", batch), Axis("m", rows), Axis("n", sticks_n), Axis("k", sticks_k, True)], {}, cores)
    return best if best is not None and best.cores >= generic.cores else None


def generic_split(
    batch: int, rows: int, columns: int, depth: int, cores: int = 32, *, committed: Mapping[str, int] | None = None
) -> MatmulSplit:
    """What the generic distribution (W5) gives a matmul that the cost model declines.

    `committed`: splits of "b", "m", "n" or "k" that a span needs (W3); they are minimums.
    """
    axes = [Axis("b", batch), Axis("m", rows), Axis("n", -(-columns // LANES)), Axis("k", -(-depth // LANES), True)]
    found = distribute(axes, committed, cores).splits
    split = (found.get("b", 1), found.get("m", 1), found.get("n", 1), found.get("k", 1))
    return MatmulSplit(*split, split_cost(batch, rows, columns, depth, split))
