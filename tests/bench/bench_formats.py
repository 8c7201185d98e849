"""What rounding to DLFloat16 costs, next to a copy of the same array in the same run.

    python tests/bench/bench_formats.py [--values 4000000]

Prints a table. Budget: rounding 4M float32 values, in place or into another array, within 1.5 times a copy.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from spyre_sim.formats import decode_dl16, encode_dl16, round_dl16, values_from_host
from spyre_sim.formats.dlfloat import round_dl16_numpy

BUDGET = 1.5


def best(work: Callable[[], object], repeats: int) -> float:
    """The shortest of `repeats` runs in milliseconds, after one to warm up."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--values", type=int, default=4_000_000)
    parser.add_argument("--repeats", type=int, default=15)
    arguments = parser.parse_args()
    values = np.random.default_rng(0).standard_normal(arguments.values).astype(np.float32)
    out, words, half = np.empty_like(values), encode_dl16(values), values.astype(np.float16)
    rows: list[tuple[str, Callable[[], object], float | None]] = [
        ("round into another array", lambda: round_dl16(values, out), BUDGET),
        ("round in place", lambda: round_dl16(out, out), BUDGET),
        ("encode to words", lambda: encode_dl16(values), None),
        ("decode from words", lambda: decode_dl16(words), None),
        ("float16 from the host", lambda: values_from_host(half, "2026-06"), None),
        ("round in plain NumPy", lambda: round_dl16_numpy(values), None),
    ]
    copy = best(lambda: np.copyto(out, values), arguments.repeats)
    print(f"{'':28}{'ms':>8}{'x copy':>8}  budget")
    print(f"{'copy':28}{copy:8.2f}{1:8.2f}")
    for name, work, budget in rows:
        spent = best(work, arguments.repeats)
        print(f"{name:28}{spent:8.2f}{spent / copy:8.2f}  {'' if budget is None else f'<= {budget} x'}")


if __name__ == "__main__":
    main()
