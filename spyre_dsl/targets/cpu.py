"""The CPU in float32: the reference, and the place to see that a patch does not change what a model computes."""

from __future__ import annotations

import copy
import time
from typing import Any

import torch

from spyre_dsl.targets.call import Inputs, as_call
from spyre_dsl.targets.protocol import Outcome


class CpuTarget:
    """Run the model eagerly in float32."""

    name = "cpu"
    dtype = torch.float32

    def prepare(self, model: torch.nn.Module) -> torch.nn.Module:
        """A copy that shares its parameters with ``model``: patches are put into modules, never into weights."""
        shared = [*model.parameters(), *model.buffers()]
        return copy.deepcopy(model, {id(tensor): tensor for tensor in shared})

    def run(self, model: torch.nn.Module, inputs: Inputs, stack: Any) -> Outcome:
        """One forward under ``no_grad``; nothing is ever refused, and ``stack`` is not looked at."""
        args, kwargs = as_call(inputs)
        started = time.perf_counter()
        with torch.no_grad():
            outputs = model(*args, **kwargs)
        return Outcome(outputs, seconds=time.perf_counter() - started)
