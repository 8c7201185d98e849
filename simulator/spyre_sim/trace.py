"""A run with everything that it computed on the way: what a debugger of numbers wants to see.

Fused loops are taken apart for this, and every value is copied, so a traced run takes more time and memory than a
call. The numbers are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import torch

from .graph import DeviceOp, Site
from .kernels.numbers import values_of


@dataclass(frozen=True)
class Step:
    """One op of the device graph as it ran.

    `name`: the fx node and the kernel ("softmax.exp"), numbered where a node runs a kernel more than once
    ("linear.add#2"); `kernel`: as in `DeviceOp`, so "h2d", "d2h", "view" and "host" are steps too; `site`: node, aten
    op, module path and source line; `bundle`: the launch it belongs to, -1 for what is no kernel's; `value`: float32
    on the number grid of the device, int32, or the host's own dtype for what is on the host.
    """

    name: str
    kernel: str
    site: Site
    bundle: int
    value: torch.Tensor


@dataclass(frozen=True)
class Trace:
    """`result`: what the call returns; `steps`: all that was computed, in order."""

    result: Any
    steps: tuple[Step, ...] = field(repr=False)

    @property
    def values(self) -> Mapping[str, torch.Tensor]:
        """Values by name in the order of steps: every step's, and an fx node's, which is that of its last."""
        found: dict[str, torch.Tensor] = {}
        for step in self.steps:
            found[step.name] = step.value
            found.pop(step.site.node, None)  # a later step of the node: its name moves behind that
            found[step.site.node] = step.value
        return MappingProxyType(found)

    def of_module(self, path: str) -> tuple[Step, ...]:
        """The steps of one module of the model and of the modules inside it; "" is the whole model."""
        return tuple(step for step in self.steps if not path or f"{step.site.module_path}.".startswith(f"{path}."))

    def of_bundle(self, index: int) -> tuple[Step, ...]:
        """The steps of one launch."""
        return tuple(step for step in self.steps if step.bundle == index)


class Recorder:
    """An observer that keeps a copy of every value."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._counts: dict[str, int] = {}

    def __call__(self, op: DeviceOp, value: Any) -> None:
        tensor = values_of(value)
        if isinstance(tensor, torch.Tensor):
            kept = tensor.detach().clone()
            self.steps.append(Step(self._name(op), op.kernel, op.site, op.bundle, kept))

    def _name(self, op: DeviceOp) -> str:
        base = f"{op.site.node}.{op.kernel}"
        count = self._counts[base] = self._counts.get(base, 0) + 1
        return base if count == 1 else f"{base}#{count}"


def record(run: Callable[[Recorder], Any]) -> Trace:
    """The trace of `run`, which is given the observer and returns the result."""
    recorder = Recorder()
    result = run(recorder)
    return Trace(result, tuple(recorder.steps))
