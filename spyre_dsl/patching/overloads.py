"""Which ATen overload computes an op of the vocabulary on given arguments, and how it takes them.

The vocabulary's documented arguments are matched with each candidate's schema by name; types rule out most
candidates, and torch itself has the last word when the call is tried on fake tensors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from spyre_dsl.language.vocabulary import Op, Parameter

FACTORY_ARGUMENTS = frozenset({"device"})
"""Keyword arguments that ops which make a tensor out of nothing are given beside those of the rule."""


@dataclass(frozen=True)
class PlannedCall:
    """An overload and the arguments to call it with; tensors are whatever stood for tensors in the request."""

    overload: torch._ops.OpOverload
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@cache
def overload_named(name: str) -> torch._ops.OpOverload | None:
    """``aten.pow.Tensor_Scalar`` as the overload itself; None if this torch has none of that name."""
    namespace, _, rest = name.partition(".")
    packet, _, overload = rest.partition(".")
    found = getattr(getattr(torch.ops, namespace), packet, None)
    made = getattr(found, overload or "default", None)
    return made if isinstance(made, torch._ops.OpOverload) else None


def candidates(
    op: Op, given: Mapping[str, Any], is_tensor: Any, device: torch.device, exact: str | None = None
) -> Iterator[PlannedCall]:
    """The calls that might compute ``op`` with ``given`` (by documented name), the likeliest first.

    ``is_tensor`` tells what stands for a tensor. ``exact`` names the only overload to consider.
    """
    given = _tensor_first(op, given, is_tensor)
    for name in (exact,) if exact else _by_preference(op):
        overload = overload_named(name)
        if overload is not None:
            planned = _plan(op, overload, given, is_tensor, device)
            if planned is not None:
                yield planned


def _by_preference(op: Op) -> tuple[str, ...]:
    """``pad`` with its default mode is ``constant_pad_nd``, which stacks know by that name."""
    return tuple(reversed(op.overloads)) if op.name == "pad" else op.overloads


def _tensor_first(op: Op, given: Mapping[str, Any], is_tensor: Any) -> Mapping[str, Any]:
    """``2 * x`` as ``x * 2``: the schemas of commutative ops want the tensor first."""
    if op.commutative and len(op.parameters) >= 2:
        first, second = op.parameters[0].name, op.parameters[1].name
        if first in given and not is_tensor(given[first]) and is_tensor(given.get(second)):
            return {**given, first: given[second], second: given[first]}
    return given


def _plan(
    op: Op, overload: torch._ops.OpOverload, given: Mapping[str, Any], is_tensor: Any, device: torch.device
) -> PlannedCall | None:
    schema = overload._schema.arguments
    values: dict[str, Any] = {}
    taken = {argument.name: argument for argument in schema}
    for parameter in op.parameters:
        name = next(
            (alias for alias in (*parameter.aten, parameter.name) if alias in taken and alias not in values), None
        )
        if parameter.name in given:
            value = given[parameter.name]
            if name is None:
                if parameter.required or value != parameter.default:
                    return None
            elif _fits(value, taken[name], parameter, is_tensor):
                values[name] = _converted(value, taken[name], parameter)
            else:
                return None
        elif name is not None and not taken[name].has_default_value() and not parameter.required:
            values[name] = parameter.default
    if "device" in taken and not any(is_tensor(value) for value in given.values()):
        values["device"] = device
    return _arranged(overload, schema, values)


def _arranged(overload: torch._ops.OpOverload, schema: Sequence[Any], values: dict[str, Any]) -> PlannedCall | None:
    """By position up to the last one that differs from its default; keyword-only arguments by name."""
    positional = [argument for argument in schema if not argument.kwarg_only]
    if any(not argument.has_default_value() and argument.name not in values for argument in schema):
        return None
    last = max((place for place, argument in enumerate(positional) if argument.name in values), default=-1)
    args = tuple(
        values[argument.name] if argument.name in values else argument.default_value
        for argument in positional[: last + 1]
    )
    kwargs = {a.name: values[a.name] for a in schema if a.kwarg_only and a.name in values}
    return PlannedCall(overload, args, kwargs)


def _fits(value: Any, argument: Any, parameter: Parameter, is_tensor: Any) -> bool:
    kind = str(argument.type)
    if value is None:
        return kind.startswith("Optional")
    kind = kind.removeprefix("Optional[").removesuffix("]") if kind.startswith("Optional") else kind
    if kind == "Tensor":
        return bool(is_tensor(value)) or (parameter.kind == "value" and isinstance(value, (int, float)))
    if is_tensor(value):
        return False
    if kind.startswith("List"):
        return isinstance(value, (tuple, list)) or "Tensor" not in kind
    return not isinstance(value, (tuple, list))


def _converted(value: Any, argument: Any, parameter: Parameter) -> Any:
    if parameter.kind == "dtype" and isinstance(value, str):
        return getattr(torch, value)
    if str(argument.type).removeprefix("Optional[").startswith("List"):
        return list(value) if isinstance(value, (tuple, list)) else [value]
    return value
