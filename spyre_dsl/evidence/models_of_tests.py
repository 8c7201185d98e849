"""The model of an in-file test: its ``before`` expression, or the module that it names, as an ``nn.Module``."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch

from spyre_dsl.evidence.expressions import Scope, evaluate
from spyre_dsl.evidence.values import Kind, draw
from spyre_dsl.language.adapter import TestCase, TestInput
from spyre_dsl.language.diagnostics import SpyreDslError
from spyre_dsl.language.syntax import Expression

PACKAGES: Final = ("transformers", "torch")
"""The packages whose classes ``module:`` may name."""


class TestModelError(SpyreDslError):
    """A test whose model cannot be built; the message says what is missing."""

    __test__ = False


@dataclass(frozen=True, slots=True)
class TestModel:
    """A model and the keyword inputs it is called with."""

    __test__ = False

    module: torch.nn.Module
    inputs: Mapping[str, torch.Tensor]

    def run(self, module: torch.nn.Module | None = None) -> Any:
        """What ``module`` (the model itself by default) computes from the inputs."""
        with torch.no_grad():
            return (module or self.module)(**self.inputs)


class ExpressionModule(torch.nn.Module):
    """An expression over its inputs, called with them by name; those marked ``parameter`` are parameters.

    When it is exported, an input's first dimension (batch) and the last but one of three or more (sequence) stay
    open and the others (heads, features) are fixed, as weights and configs fix them in a model.
    """

    def __init__(
        self, expression: Expression, parameters: Mapping[str, torch.Tensor], roots: Mapping[str, Any]
    ) -> None:
        super().__init__()
        self._expression = expression
        self._roots = dict(roots)
        for name, value in parameters.items():
            self.register_parameter(name, torch.nn.Parameter(value, requires_grad=False))

    def forward(self, **inputs: torch.Tensor) -> Any:
        for value in inputs.values():
            _fix_features(value)
        names = {**self._parameters, **inputs}
        return evaluate(self._expression, Scope(names=names, roots=self._roots, dtype=floating_dtype(inputs.values())))


def floating_dtype(values: Iterable[torch.Tensor]) -> torch.dtype:
    """The dtype of the first floating-point tensor; float32 if there is none."""
    return next((value.dtype for value in values if value.dtype.is_floating_point), torch.float32)


def _fix_features(value: torch.Tensor) -> None:
    """Reading an extent as a plain number fixes it in an export, and does nothing otherwise."""
    rank = value.dim()
    for dim, extent in enumerate(value.shape):
        if dim != 0 and not (rank >= 3 and dim == rank - 2):
            int(extent)


def build(case: TestCase, roots: Mapping[str, Any], seed: int = 0) -> TestModel:
    """The model of a test with seeded weights and inputs, in evaluation mode.

    ``roots`` is what ``stack`` means in an expression. Raises ``TestModelError`` where ``module:`` names no class
    of ``PACKAGES``, or one that its arguments do not construct.
    """
    generator = torch.Generator().manual_seed(seed)
    values = {given.name: _value(given, generator) for given in case.inputs}
    inputs = {given.name: values[given.name] for given in case.inputs if not given.parameter}
    if case.before is not None:
        return TestModel(expression_module(case, case.before, values, roots), inputs)
    module = _construct(case)
    _fill(module, generator)
    return TestModel(module.to(floating_dtype(inputs.values())).eval(), inputs)


def expression_module(
    case: TestCase, expression: Expression, values: Mapping[str, torch.Tensor], roots: Mapping[str, Any]
) -> torch.nn.Module:
    """``expression`` over the inputs of ``case`` as a module whose parameters hold ``values``."""
    parameters = {given.name: values[given.name] for given in case.inputs if given.parameter}
    names = [given.name for given in case.inputs if not given.parameter]
    return _with_signature(names)(expression, parameters, roots).eval()


def _with_signature(names: list[str]) -> type[ExpressionModule]:
    """The class whose forward names these arguments: exporters describe inputs by the names of a signature."""

    def forward(self: ExpressionModule, **inputs: torch.Tensor) -> Any:
        return ExpressionModule.forward(self, **inputs)

    keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, keyword) for name in ("self", *names)]
    forward.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return type("ExpressionModule", (ExpressionModule,), {"forward": forward})


def _value(given: TestInput, generator: torch.Generator) -> torch.Tensor:
    dtype = getattr(torch, given.dtype)
    return draw(Kind("normal"), given.shape, dtype, generator).to(dtype)


def _construct(case: TestCase) -> torch.nn.Module:
    found = _find_class(case.module or "")
    arguments = {name: _argument(found, name, value) for name, value in case.arguments.items()}
    try:
        module = found(**arguments)
    except Exception as problem:
        raise TestModelError(f"{case.module} cannot be made from these arguments: {problem}") from problem
    if not isinstance(module, torch.nn.Module):
        raise TestModelError(f"{case.module} is no torch module")
    if not hasattr(module, "config"):  # a part of a model keeps none, and `match.config` asks the model's
        configs = [made for name, made in arguments.items() if made is not case.arguments[name]]
        if len(configs) == 1:
            module.config = configs[0]
    return module


def _find_class(path: str) -> Any:
    package, _, name = path.rpartition(".")
    if package.split(".")[0] not in PACKAGES:
        raise TestModelError(f"`{path}`: a test's module comes from {' or '.join(PACKAGES)}")
    try:
        return getattr(importlib.import_module(package), name)
    except (ImportError, AttributeError) as problem:
        raise TestModelError(f"there is no class `{path}` here: {problem}") from problem


def _argument(found: Any, name: str, value: Any) -> Any:
    """A constructor's argument: a mapping given for an argument that wants a config is made into that config."""
    if not isinstance(value, Mapping):
        return value
    made = _config_class(found, name)(**value)
    if hasattr(made, "_attn_implementation") and "attn_implementation" not in value:
        made._attn_implementation = "sdpa"
    return made


def _config_class(found: Any, name: str) -> Any:
    """The class of a constructor's config: as annotated, else the one config that the class's own file imports."""
    parameter = inspect.signature(found).parameters.get(name)
    wanted = parameter.annotation if parameter is not None else None
    if isinstance(wanted, str):
        wanted = getattr(sys.modules[found.__module__], wanted, None)
    if inspect.isclass(wanted) and wanted is not inspect.Parameter.empty:
        return wanted
    around = vars(sys.modules[found.__module__])
    names = [key for key in around if key.endswith("Config") and key.lower() != "pretrainedconfig"]
    configs = [around[key] for key in names if inspect.isclass(around[key])]
    if len(configs) != 1:
        raise TestModelError(f"`{found.__name__}` does not say which class its `{name}` has")
    return configs[0]


def _fill(module: torch.nn.Module, generator: torch.Generator) -> None:
    """Seeded weights of an ordinary size: what a class starts with (ones, zeros) would hide a wrong rewrite."""
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            scaled = noise / parameter.shape[-1] ** 0.5 if parameter.dim() > 1 else 1.0 + 0.1 * noise
            parameter.copy_(scaled)
