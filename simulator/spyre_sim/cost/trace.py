"""Costs as a trace that Chrome and Perfetto open: one row for kernels, one for copies to and from the host."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .kernels import BundleCost

Step = tuple[str, "BundleCost | float"]


def chrome_trace(steps: Iterable[Step], stack: str) -> dict[str, Any]:
    """The trace of named steps one after another: a bundle with its kernels, or a copy of so many microseconds.

    The result is JSON data in the trace event format, with times in microseconds from the first launch.
    """
    events: list[dict[str, Any]] = []
    now = 0.0
    for name, cost in steps:
        if isinstance(cost, BundleCost):
            events.append(_event(name, "bundle", now, cost.total_us, {"bound": cost.bound}))
            start = now + cost.launch_us
            for kernel in cost.kernels:
                arguments = {"bound": kernel.bound, "bytes": round(kernel.bytes), "macs": kernel.macs}
                events.append(_event(kernel.name, "kernel", start, kernel.total_us, arguments))
                start += kernel.total_us
            now += cost.total_us
        else:
            events.append(_event(name, "copy", now, cost, {}))
            now += cost
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"stack": stack}}


def _event(name: str, category: str, start: float, duration: float, arguments: dict[str, Any]) -> dict[str, Any]:
    thread = 2 if category == "copy" else 1
    return {
        "name": name,
        "cat": category,
        "ph": "X",
        "ts": round(start, 4),
        "dur": round(duration, 4),
        "pid": 1,
        "tid": thread,
        "args": arguments,
    }
