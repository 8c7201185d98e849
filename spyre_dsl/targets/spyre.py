"""The accelerator itself, through torch_spyre, where it is installed."""

from __future__ import annotations

import importlib
import time
from typing import Any

import torch

from spyre_dsl.targets.call import Inputs, cast_inputs
from spyre_dsl.targets.cast import cast_copy
from spyre_dsl.targets.protocol import Outcome, Refused, TargetError


class SpyreTarget:
    """Run on a Spyre card: the model in float16 on the ``spyre`` device, compiled by the stack's own backend."""

    name = "spyre"
    dtype = torch.float16
    device = "spyre"

    def __init__(self) -> None:
        try:
            importlib.import_module("torch_spyre")
        except ImportError as problem:
            raise TargetError(
                "the target `spyre` needs torch_spyre and a Spyre card, and torch_spyre does not import here "
                f"({problem})\n  help: use --target sim, which needs neither"
            ) from problem

    def prepare(self, model: torch.nn.Module) -> torch.nn.Module:
        """A float16 copy on the CPU; it is planned and patched there and moves to the device when it runs."""
        return cast_copy(model, torch.float16)

    def run(self, model: torch.nn.Module, inputs: Inputs, stack: Any) -> Outcome:
        """Move to the device, compile, run, and bring the outputs back; the first error of the stack is the refusal."""
        started = time.perf_counter()
        args, kwargs = _move(cast_inputs(inputs, self.dtype), self.device)
        try:
            compiled = torch.compile(model.to(self.device), dynamic=False)
            with torch.no_grad():
                outputs = _move(compiled(*args, **kwargs), "cpu")
        except RuntimeError as problem:  # the stack's Unsupported and Inductor's wrappers are all RuntimeErrors
            refusal = Refused("", "", "", str(problem), kind="unsupported")
            return Outcome(None, refusals=(refusal,), seconds=time.perf_counter() - started)
        return Outcome(outputs, seconds=time.perf_counter() - started)


def _move(value: Any, device: str) -> Any:
    """``value`` with every tensor in it on ``device``; the containers of transformers stay what they are."""
    return torch.utils._pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.to(device), value)
