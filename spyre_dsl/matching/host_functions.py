"""The host functions of ``spyre_dsl.language.functions``: what they compute from a matched value."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import torch

from spyre_dsl.graphs.memory import is_contiguous as lies_contiguous
from spyre_dsl.graphs.node import Node, same_value
from spyre_dsl.graphs.sizes import SymbolicSize, dtype_name
from spyre_dsl.language.functions import FLOAT_DTYPES
from spyre_dsl.matching.arithmetic import Unknown, arithmetic, compare, describe, is_number
from spyre_dsl.matching.environment import Environment

HostFunction = Callable[..., Any]
HOST_FUNCTIONS: dict[str, HostFunction] = {}
"""Every host function by its name; each takes the environment, then the arguments in the order of its signature."""


def host_function(function: HostFunction) -> HostFunction:
    HOST_FUNCTIONS[function.__name__.rstrip("_")] = function
    return function


@host_function
def size(environment: Environment, x: Any, dim: Any) -> Any:
    sizes = _sizes(x)
    if type(dim) is not int:
        raise Unknown(f"a dim is a whole number, not {describe(dim)}")
    if not -len(sizes) <= dim < len(sizes):
        raise Unknown(f"{describe(x)} has {len(sizes)} dimensions, so no dim {dim}")
    return sizes[dim]


@host_function
def rank(environment: Environment, x: Any) -> int:
    return len(_sizes(x))


@host_function
def shape(environment: Environment, x: Any) -> tuple[Any, ...]:
    return _sizes(x)


@host_function
def numel(environment: Environment, x: Any) -> Any:
    sizes = _sizes(x)
    if not any(isinstance(item, SymbolicSize) for item in sizes):
        return prod(sizes)
    product: Any = 1
    for item in sizes:
        product = arithmetic("*", product, item, environment.sizes)
    return product


@host_function
def dtype(environment: Environment, x: Any) -> str:
    name = _dtype(x)
    if name is None:
        raise Unknown(f"{describe(x)} has no dtype")
    return name


@host_function
def users(environment: Environment, x: Any) -> int:
    if not isinstance(x, Node):
        raise Unknown(f"{describe(x)} is no value of the graph, so nothing uses it")
    return len(x.users) + x.is_output


@host_function
def is_parameter(environment: Environment, x: Any) -> bool:
    return x.is_parameter if isinstance(x, Node) else isinstance(x, torch.nn.Parameter)


@host_function
def is_constant(environment: Environment, x: Any) -> bool:
    if isinstance(x, tuple):
        return all(is_constant(environment, item) for item in x)
    return x.is_constant if isinstance(x, Node) else not isinstance(x, SymbolicSize)


@host_function
def is_contiguous(environment: Environment, x: Any) -> bool:
    if isinstance(x, torch.Tensor):
        return lies_contiguous(x)
    if not isinstance(x, Node) or not x.is_tensor or environment.readers is None:
        raise Unknown(f"{describe(x)} is no tensor that the match reads, so nothing is known of its memory")
    return environment.readers.find_contiguous(x)


@host_function
def is_float(environment: Environment, x: Any) -> bool:
    name = _dtype(x)
    return name in FLOAT_DTYPES if name is not None else isinstance(x, float)


@host_function
def default(environment: Environment, x: Any, fallback: Any) -> Any:
    return fallback if x is None else x


@host_function
def same(environment: Environment, x: Any, y: Any) -> bool:
    return same_value(x, y)


@host_function
def round_up(environment: Environment, n: Any, multiple: Any) -> Any:
    for value in (n, multiple):
        if not is_number(value) or isinstance(value, float):
            raise Unknown(f"round_up needs whole numbers; {describe(value)} is none")
    above = arithmetic("+", n, arithmetic("-", multiple, 1, environment.sizes), environment.sizes)
    return arithmetic("*", arithmetic("//", above, multiple, environment.sizes), multiple, environment.sizes)


@host_function
def min_of(environment: Environment, *values: Any) -> Any:
    return _extreme("<", values)


@host_function
def max_of(environment: Environment, *values: Any) -> Any:
    return _extreme(">", values)


@host_function
def len_(environment: Environment, list: Any) -> int:
    if not isinstance(list, tuple):
        raise Unknown(f"len needs a list; {describe(list)} is none")
    return len(list)


@host_function
def finfo_min(environment: Environment, dtype: Any) -> float:
    return float(_finfo(dtype).min)


@host_function
def finfo_max(environment: Environment, dtype: Any) -> float:
    return float(_finfo(dtype).max)


def stack_supports(environment: Environment, op: Any, dtype: Any = "float16") -> bool:
    if environment.stack is None:
        raise Unknown("no stack is known here")
    if not isinstance(op, str) or not isinstance(dtype, str):
        raise Unknown('stack.supports needs the name of an op and a dtype: stack.supports("aten.pow", "float16")')
    try:
        return bool(environment.stack.supports(op, dtype))
    except Exception as error:  # a profile may refuse names it does not know
        raise Unknown(f"the stack {environment.stack.name} cannot say: {error}") from None


HOST_FUNCTIONS["stack.supports"] = stack_supports


def _sizes(x: Any) -> tuple[Any, ...]:
    if isinstance(x, Node) and x.is_tensor:
        return x.shape
    if isinstance(x, torch.Tensor):
        return tuple(x.shape)
    raise Unknown(f"{describe(x)} has no sizes")


def _dtype(x: Any) -> str | None:
    if isinstance(x, Node):
        return x.dtype or None
    return dtype_name(x.dtype) if isinstance(x, torch.Tensor) else None


def _finfo(name: Any) -> torch.finfo:
    found = getattr(torch, name, None) if isinstance(name, str) else None
    if not isinstance(found, torch.dtype) or not found.is_floating_point:
        raise Unknown(f"{describe(name)} is no floating-point dtype")
    return torch.finfo(found)


def _extreme(symbol: str, values: tuple[Any, ...]) -> Any:
    if not values:
        raise Unknown("there is nothing to choose from")
    best = values[0]
    for value in values[1:]:
        best = value if compare(symbol, value, best) else best
    if not is_number(best):
        raise Unknown(f"{describe(best)} is no number")
    return best
