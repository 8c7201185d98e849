"""Run expressions on live tensors: what ``forward``, ``parameters`` and ``output`` rewrites do.

A module so rewritten is traced like any other: its new forward is a plain callable, and what torch.export sees of it
are the ops that the rule names.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from spyre_dsl.graphs.sizes import Sizes, SymbolicSize, dtype_name
from spyre_dsl.language.adapter import ForwardRewrite, ParametersRewrite
from spyre_dsl.language.source import Source
from spyre_dsl.matching.environment import Environment, Stack
from spyre_dsl.patching.overloads import PlannedCall
from spyre_dsl.patching.unknown_names import guess
from spyre_dsl.patching.writing import ExpressionWriter, refused


def files_that_write(owner: torch.nn.Module) -> tuple[str, ...]:
    """The files whose functions stand for a rule in the stack traces of ``owner``: this one and those of its blocks."""
    held = (getattr(vars(module).get("forward"), "__func__", None) for module in owner.modules())
    blocks = (each.function for each in held if isinstance(each, BlockForward))
    return (__file__, *(block.__code__.co_filename for block in blocks if hasattr(block, "__code__")))


def wrote(stack_trace: str | None, files: tuple[str, ...]) -> bool:
    """Whether an op with this stack trace was written by a rule's forward (torch keeps frames called ``forward``)."""
    frames = (stack_trace or "").split('File "')
    return frames[-1].startswith(tuple(f'{file}"' for file in files))


class EagerWriter(ExpressionWriter):
    """Carries out ops at once. ``like`` tells the device and dtype of constants."""

    def __init__(
        self, environment: Environment, label: str, like: torch.Tensor | None, source: Source | None = None
    ) -> None:
        is_float = like is not None and like.is_floating_point()
        dtype = dtype_name(like.dtype) if is_float and like is not None else "float32"
        super().__init__(environment, label, like.device if like is not None else torch.device("cpu"), dtype, source)
        self.symbolic = Sizes()

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor)

    def sizes(self, x: Any) -> tuple[Any, ...]:
        return self.symbolic.shape(x)

    def call(self, planned: PlannedCall) -> Any:
        try:
            return planned.overload(*_raw(planned.args), **_raw(planned.kwargs))
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as problem:
            raise refused(problem) from problem

    def output(self, value: Any, index: int) -> Any:
        return value[index] if isinstance(value, (list, tuple)) and -len(value) <= index < len(value) else None

    def named(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return tuple(map(self.named, value))
        return self.symbolic.of(value)

    def plain(self, value: Any) -> Any:
        return self.named(value)


@dataclass(frozen=True)
class ProgramForward:
    """A ``forward`` program in place of a module's own; its names are the own forward's arguments."""

    rewrite: ForwardRewrite
    label: str
    config: Any
    stack: Stack | None
    source: Source | None = None

    def __call__(self, module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        return self.forward(module, args, kwargs)

    def forward(self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """One call of the module; ops are traced from here."""
        names = _arguments(type(module).forward, module, args, kwargs)
        environment = Environment(self.config, self.stack, module)
        writer = EagerWriter(environment, self.label, _first_float(names.values()), self.source)
        for name, value in names.items():
            writer.bind(name, value)
        for binding in self.rewrite.program.bindings:
            writer.bind(binding.name, writer.emit(binding.value))
        results = tuple(_raw(writer.emit(result)) for result in self.rewrite.program.results)
        return results[0] if len(results) == 1 else results


@dataclass(frozen=True)
class ParametersForward:
    """A module's own forward (``inner``) with other parameters; ``output`` trims what it returns."""

    rewrite: ParametersRewrite
    label: str
    config: Any
    stack: Stack | None
    inner: Callable[..., Any]
    source: Source | None = None

    def __call__(self, module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        return self.forward(module, args, kwargs)

    def forward(self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """One call of the module; ops are traced from here."""
        held = module._parameters
        environment = Environment(self.config, self.stack, module)
        writer = EagerWriter(environment, self.label, _first_float(held.values()), self.source)
        for line in self.rewrite.let:
            writer.bind(line.name, writer.emit(line.value))
        values = {line.name: writer.emit(line.value) for line in self.rewrite.values}
        for line in self.rewrite.values:
            if line.name not in held:
                known = [name for name, value in held.items() if value is not None]
                why = f"{type(module).__name__} has no parameter `{line.name}`{guess(line.name, known, known, 'there')}"
                raise writer.refuse(why, line.span)
        output = self._run(module, values, args, kwargs)
        if self.rewrite.output is None:
            return output
        writer.bind("output", output)
        return _raw(writer.emit(self.rewrite.output))

    def _run(
        self, module: torch.nn.Module, values: Mapping[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        held: dict[str, Any] = module._parameters
        own = {name: held[name] for name in values}
        held.update(values)
        try:
            return self.inner(module, *args, **kwargs)
        finally:
            held.update(own)


@dataclass(frozen=True)
class BlockForward:
    """What a building block made of a module's forward."""

    label: str
    function: Callable[..., Any]
    arguments: tuple[tuple[str, Any], ...]

    def __call__(self, module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        return self.function(module, *args, **kwargs)


RewrittenForward = (ProgramForward, ParametersForward, BlockForward)
"""The forwards that rules give to modules."""


def family_of(forward: Any) -> Any:
    """Equal for forwards that one rule gave to two modules with equal arguments; None for what no rule made."""
    if not isinstance(forward, RewrittenForward):
        return None
    return (forward.label, repr(getattr(forward, "arguments", ())))


def _arguments(
    forward: Callable[..., Any], module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    signature = inspect.signature(forward)
    bound = signature.bind(module, *args, **kwargs)
    bound.apply_defaults()
    names: dict[str, Any] = {}
    for name, value in list(bound.arguments.items())[1:]:
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            names.update(value)
        else:
            names[name] = value
    return names


def _first_float(values: Any) -> torch.Tensor | None:
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    return next((tensor for tensor in tensors if tensor.is_floating_point()), tensors[0] if tensors else None)


def _raw(value: Any) -> Any:
    """Symbolic sizes as torch's own numbers."""
    if isinstance(value, SymbolicSize):
        return value.value
    if isinstance(value, list):
        return [_raw(item) for item in value]
    if isinstance(value, tuple):
        return tuple(map(_raw, value))
    if isinstance(value, dict):
        return {key: _raw(item) for key, item in value.items()}
    return value
