"""The functions of the public API; ``import spyre_dsl`` offers them lazily."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

import spyre_sim
from spyre_dsl.graphs.capture import Capture
from spyre_dsl.graphs.capture import capture as _capture
from spyre_dsl.language.adapter import AdapterSet
from spyre_dsl.models.inputs import ModelInputs, make_inputs
from spyre_dsl.models.loading import LoadedModel, load_model
from spyre_dsl.patching.plan import Plan
from spyre_dsl.patching.plan import plan as _plan
from spyre_dsl.targets.call import Inputs, as_call
from spyre_dsl.targets.choose import choose
from spyre_dsl.targets.comparison import Comparison
from spyre_dsl.targets.comparison import compare as _compare
from spyre_dsl.targets.protocol import Outcome

if TYPE_CHECKING:
    from spyre_dsl.matching.explain import Attempt

DEFAULT_STACK = "2026-06"

Model: TypeAlias = torch.nn.Module | LoadedModel
AnyInputs: TypeAlias = Inputs | ModelInputs


def load_stack(name: str | Path | spyre_sim.Stack = DEFAULT_STACK) -> spyre_sim.Stack:
    """A dated capability profile of compiler and device, by name (``2026-06``, ``ideal``) or from a YAML file."""
    return name if isinstance(name, spyre_sim.Stack) else spyre_sim.load_stack(str(name))


def capture(model: Model, inputs: AnyInputs) -> Capture:
    """The model's ATen graph on example inputs, in canonical form, and what every module received."""
    args, kwargs = as_call(_arguments(inputs))
    return _capture(_module(model), args, kwargs)


def plan(
    model: Model, adapters: AdapterSet, inputs: AnyInputs, *, stack: str | Path | spyre_sim.Stack = DEFAULT_STACK
) -> Plan:
    """What the adapters would change in the model, where and why. The model is left untouched.

    ``print(plan)`` shows a table; ``plan.apply(model)`` patches, ``plan.applied(model)`` patches for a ``with`` block.
    """
    args, kwargs = as_call(_arguments(inputs))
    return _plan(_module(model), adapters, args, kwargs, stack=load_stack(stack))


def run(
    model: Model, inputs: AnyInputs, *, target: str = "sim", stack: str | Path | spyre_sim.Stack = DEFAULT_STACK
) -> Outcome:
    """Run a model, patched or not, on ``sim``, ``cpu`` or ``spyre``; it is copied first and left untouched.

    What the stack refuses comes back as ``outcome.refusals``, with ``outputs`` None. Raises TargetError when the
    target cannot be used on this machine.
    """
    chosen = choose(target)
    return chosen.run(chosen.prepare(_module(model)), _arguments(inputs), load_stack(stack))


def compare(outputs: Any, reference: Any, mask: torch.Tensor | None = None, *, causal: bool = False) -> Comparison:
    """Compare a run's outputs with the float32 reference's over the real tokens (``mask`` [batch, sequence])."""
    return _compare(outputs, reference, mask, causal=causal)


def why(
    model: Model,
    adapters: AdapterSet,
    rule: str,
    inputs: AnyInputs,
    *,
    path: str | None = None,
    stack: str | Path | spyre_sim.Stack = DEFAULT_STACK,
) -> Sequence[Attempt]:
    """For each place where ``rule`` could apply, the first of its conditions that fails there; near misses first."""
    from spyre_dsl.matching.explain import why as explain

    return explain(capture(model, inputs), adapters, rule, path, stack=load_stack(stack))


def _module(model: Model) -> torch.nn.Module:
    return model.model if isinstance(model, LoadedModel) else model


def _arguments(inputs: AnyInputs) -> Inputs:
    return inputs.arguments if isinstance(inputs, ModelInputs) else inputs


__all__ = ["capture", "compare", "load_model", "load_stack", "make_inputs", "plan", "run", "why"]
