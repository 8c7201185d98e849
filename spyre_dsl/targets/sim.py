"""The simulated stack: the model in float16, compiled and run by spyre_sim."""

from __future__ import annotations

import time
from typing import Any

import torch

import spyre_sim
from spyre_dsl.patching.errors import UnseenSignature
from spyre_dsl.targets.call import Inputs, cast_inputs
from spyre_dsl.targets.cast import cast_copy
from spyre_dsl.targets.protocol import HostFallback, Outcome, Refused


class SimTarget:
    """Run on the simulator."""

    name = "sim"
    dtype = torch.float16

    def prepare(self, model: torch.nn.Module) -> torch.nn.Module:
        """A float16 copy: models reach the device in float16 (fact R3)."""
        return cast_copy(model, torch.float16)

    def run(self, model: torch.nn.Module, inputs: Inputs, stack: Any) -> Outcome:
        """Compile and run; when the stack refuses anything, all that it refuses comes back instead of outputs."""
        started = time.perf_counter()
        args, kwargs = cast_inputs(inputs, self.dtype)
        try:
            compiled = _compile(model, args, kwargs, stack)
            outputs = compiled(*args, **kwargs)
        except (spyre_sim.CompileError, spyre_sim.RunError) as problem:
            refusals = tuple(map(_refused, spyre_sim.check(model, args, kwargs, stack=stack)))
            return Outcome(None, refusals=refusals or (_refused(problem),), seconds=time.perf_counter() - started)
        report = compiled.report
        fallbacks = tuple(HostFallback(f.op, f.module_path, f.source_line) for f in report.host_fallbacks)
        seconds = time.perf_counter() - started
        cost = compiled.cost() if isinstance(compiled, spyre_sim.CompiledModel) else None
        return Outcome(outputs, report.kernels, fallbacks, (), tuple(report.defects), seconds, cost)


def _compile(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], stack: Any) -> Any:
    """The compiled model. One that was patched in another dtype meets these inputs first: see UnseenSignature."""
    try:
        return spyre_sim.compile(model, args, kwargs, stack=stack)
    except UnseenSignature:
        with torch.no_grad():
            model(*args, **kwargs)
        return spyre_sim.compile(model, args, kwargs, stack=stack)


def _refused(refusal: Any) -> Refused:
    """The simulator's refusal (or the error that carries one) in the words of this package."""
    return Refused(
        refusal.op, refusal.module_path, refusal.source_line, refusal.text, refusal.fact, str(refusal.kind),
        str(refusal.when), refusal.shape,
    )  # fmt: skip
