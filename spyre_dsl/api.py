"""The functions of the public API; ``import spyre_dsl`` offers them lazily."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from spyre_dsl.graphs.capture import Capture
from spyre_dsl.graphs.capture import capture as _capture
from spyre_dsl.language.adapter import AdapterSet
from spyre_dsl.language.collection import load
from spyre_dsl.models.inputs import ModelInputs, make_inputs
from spyre_dsl.models.loading import LoadedModel, load_model
from spyre_dsl.patching.plan import Plan
from spyre_dsl.patching.plan import plan as _plan
from spyre_dsl.targets.call import Inputs, as_call
from spyre_dsl.targets.choose import choose
from spyre_dsl.targets.comparison import Comparison
from spyre_dsl.targets.comparison import compare as _compare
from spyre_dsl.targets.profiles import DEFAULT_STACK, AnyStack, load_stack
from spyre_dsl.targets.protocol import Outcome

if TYPE_CHECKING:
    from spyre_dsl.matching.explain import Attempt

Model: TypeAlias = torch.nn.Module | LoadedModel
AnyInputs: TypeAlias = Inputs | ModelInputs
AnyAdapters: TypeAlias = AdapterSet | str | Path


def capture(model: Model, inputs: AnyInputs) -> Capture:
    """The model's ATen graph on example inputs, in canonical form, and what every module received."""
    args, kwargs = as_call(_arguments(inputs))
    return _capture(_module(model), args, kwargs)


def prepare(model: Model, target: str = "sim") -> torch.nn.Module:
    """A copy of an unpatched model as ``target`` takes it: float16 for ``sim`` and ``spyre``, as it is for ``cpu``.

    ``spyre-dsl apply`` plans on this copy. Guards can ask for dtypes, and casts that do something in float32 are gone
    in float16, so that the plan of the float32 model can be another one. Raises TargetError as ``run`` does.
    """
    return choose(target).prepare(_module(model))


def plan(model: Model, adapters: AnyAdapters, inputs: AnyInputs, *, stack: AnyStack = DEFAULT_STACK) -> Plan:
    """What the adapters would change in the model, where and why. The model is left untouched.

    ``adapters`` is what ``load`` returns (``load()``: those of ``./adapters.d``, or that come with spyre-dsl), or the
    path of a rule file or a folder of them, which is loaded.
    ``print(plan)`` shows a table; ``plan.apply(model)`` patches, ``plan.applied(model)`` patches for a ``with`` block.
    """
    module = _module(model)
    args, kwargs = as_call(_arguments(inputs))
    return _plan(module, _adapters(adapters), args, kwargs, stack=load_stack(stack))


def run(model: Model, inputs: AnyInputs, *, target: str = "sim", stack: AnyStack = DEFAULT_STACK) -> Outcome:
    """Run a model, patched or not, on ``sim``, ``cpu`` or ``spyre``; it is copied first and left untouched.

    The copy that the simulator and the card run is in float16, its inputs too (see ``prepare``). What the stack
    refuses comes back as ``outcome.refusals``, with ``outputs`` None. Raises TargetError when the target cannot be
    used on this machine.
    """
    chosen = choose(target)
    return chosen.run(chosen.prepare(_module(model)), _arguments(inputs), load_stack(stack))


def compare(outputs: Any, reference: Any, mask: torch.Tensor | None = None, *, causal: bool = False) -> Comparison:
    """Compare a run's outputs with the float32 reference's over the real tokens (``mask`` [batch, sequence]).

    Each side is an Outcome of ``run``, or outputs as the model returns them. A ``causal`` model is compared by its
    greedy tokens too. Raises ValueError for a run that has no outputs, and for outputs of different shapes.
    """
    return _compare(_outputs(outputs), _outputs(reference), mask, causal=causal)


def why(
    model: Model,
    adapters: AnyAdapters,
    rule: str,
    inputs: AnyInputs,
    *,
    path: str | None = None,
    stack: AnyStack = DEFAULT_STACK,
) -> Sequence[Attempt]:
    """For each place where ``rule`` could apply, the first of its conditions that fails there; near misses first.

    ``adapters`` as for ``plan``. ``path`` keeps to the modules at and below a path, or a glob of paths.
    """
    from spyre_dsl.matching.explain import why as explain

    return explain(capture(model, inputs), _adapters(adapters), rule, path, stack=load_stack(stack))


def _module(model: Model) -> torch.nn.Module:
    module = model.model if isinstance(model, LoadedModel) else model
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"a model is an nn.Module, or what spyre_dsl.load_model returns; not {_kind(module)}")
    return module


def _adapters(given: AnyAdapters) -> AdapterSet:
    if isinstance(given, str | Path):
        return load(given)
    if not isinstance(given, AdapterSet):
        raise TypeError(f"adapters are what spyre_dsl.load returns, or a path of rule files; not {_kind(given)}")
    return given


def _outputs(given: Any) -> Any:
    """The outputs of an Outcome; anything else as it is."""
    if not isinstance(given, Outcome):
        return given
    if given.outputs is None:
        raise ValueError(f"there is nothing to compare: {given!r}")
    return given.outputs


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"


def _arguments(inputs: AnyInputs) -> Inputs:
    return inputs.arguments if isinstance(inputs, ModelInputs) else inputs


__all__ = ["capture", "compare", "load_model", "load_stack", "make_inputs", "plan", "prepare", "run", "why"]
