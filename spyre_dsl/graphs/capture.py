"""Capture: one ATen graph of a whole model, in which every node knows its module and its source line."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from spyre_dsl.graphs.canonical import canonicalize
from spyre_dsl.graphs.functional import without_own_writes
from spyre_dsl.graphs.node import CanonicalGraph
from spyre_dsl.graphs.transformers_support import dynamic_shapes, exportable
from spyre_dsl.language.diagnostics import SpyreDslError

Received = tuple[tuple[Any, ...], dict[str, Any]]
"""What one call of a module received: (args, kwargs), tensors as fake tensors."""


class CaptureError(SpyreDslError):
    """The model could not be exported; ``__cause__`` is torch's own error."""


@dataclass(frozen=True)
class Capture:
    """A model as one graph.

    ``calls`` maps each module's path to what every call of it received, in call order. Its tensors are fake: they
    have the sizes (symbolic where dynamic) and dtypes of the real ones, and no data. Modules that received what has
    changed since (a cache that the model fills) are left out: nobody can tell any more what they received.
    """

    model: torch.nn.Module = field(repr=False)
    program: ExportedProgram = field(repr=False)
    graph: CanonicalGraph = field(repr=False)
    calls: Mapping[str, Sequence[Received]] = field(repr=False)


def capture(
    model: torch.nn.Module,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    functional: bool = True,
) -> Capture:
    """Exports ``model`` with all dimensions of its tensor inputs open, and canonicalizes the graph.

    Weights are not copied and may be on the meta device. The model is put back as it was: in evaluation mode or not,
    with the hooks it had. With ``functional`` a graph that writes in place is made functional (by tracing it a second
    time only if it has to be).

    Raises CaptureError if torch cannot export the model with these inputs, and for TorchScript; what the product's own
    code raises inside the model (a rule's forward) comes through as it is.
    """
    require_python(model)
    inputs = dict(kwargs or {})
    calls: dict[str, list[Received]] = {}
    with ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        stack.enter_context(exportable(model))
        stack.enter_context(_recording(model, calls))
        program = _export(model, args, inputs)
        if functional and not without_own_writes(program):
            program = program.run_decompositions({})
    return Capture(model, program, canonicalize(program), calls)


def require_python(model: torch.nn.Module) -> None:
    """Raise CaptureError for a model that is TorchScript, or has TorchScript inside."""
    for path, module in model.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            place = f"`{path}`" if path else "the model"
            raise CaptureError(
                f"{type(model).__name__}: {place} is TorchScript ({type(module).__name__}), which has no Python code "
                "left to trace\n  help: use the module that it was scripted or traced from"
            )


def _export(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ExportedProgram:
    try:
        with flat_signature(model, args, kwargs) as flat:
            shapes = {name: dynamic_shapes(value) for name, value in flat.items()}
            return torch.export.export(model, (), flat, strict=False, dynamic_shapes=shapes)
    except SpyreDslError:
        raise  # a rule's own forward has said what is wrong with it: the inputs are not to blame
    except Exception as error:
        raise CaptureError(
            f"{type(model).__name__} cannot be exported with these inputs: {_first_line(error)}"
        ) from error


@contextmanager
def flat_signature(
    model: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Gives ``model`` a forward whose parameters are exactly what is passed, each by its own name.

    ``torch.export`` cannot describe the shapes of what ends up in ``*args`` or ``**kwargs``. Yields the inputs by name.
    """
    signature = inspect.signature(model.forward)
    bound = signature.bind(*args, **kwargs).arguments
    kinds = {name: parameter.kind for name, parameter in signature.parameters.items()}
    names: list[str] = []
    flat: dict[str, Any] = {}
    for name, value in bound.items():
        if kinds[name] is inspect.Parameter.VAR_KEYWORD:
            flat.update(value)
        elif kinds[name] is inspect.Parameter.VAR_POSITIONAL:
            extra = {f"{name}_{place}": item for place, item in enumerate(value)}
            names += extra
            flat.update(extra)
        else:
            flat[name] = value
            if kinds[name] is inspect.Parameter.POSITIONAL_ONLY or args and len(names) < len(args):
                names.append(name)
    original, own = model.forward, model.__dict__.get("forward")

    def forward(**given: Any) -> Any:
        return original(*[given.pop(name) for name in names], **given)

    forward.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None) for name in flat]
    )
    model.__dict__["forward"] = forward
    try:
        yield flat
    finally:
        if own is None:
            del model.__dict__["forward"]
        else:
            model.__dict__["forward"] = own


@contextmanager
def _recording(model: torch.nn.Module, calls: dict[str, list[Received]]) -> Iterator[None]:
    """Notes what every module receives while the export runs the model's Python, unless that changes on the way."""
    parts: list[tuple[str, Received, list[Any]]] = []
    with ExitStack() as stack:
        for path, module in model.named_modules():

            def note(_: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], path: str = path) -> None:
                call = (tuple(args), dict(kwargs))
                calls.setdefault(path, []).append(call)
                parts.append((path, call, pytree.tree_leaves(call)))

            stack.callback(module.register_forward_pre_hook(note, with_kwargs=True).remove)
        yield
    for path, call, received in parts:
        now = pytree.tree_leaves(call)
        if len(now) != len(received) or any(map(operator.is_not, now, received)):
            calls.pop(path, None)


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
