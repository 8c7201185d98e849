"""Call an op of the vocabulary on torch tensors, by its documented name and with its documented arguments.

This is the reference that claims are checked against, so it shares no code with the emitter of patches: an op means
what ``torch`` or ``torch.nn.functional`` computes under that name.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

import torch
import torch.nn.functional as functional

from spyre_dsl.language.vocabulary import Op, find_op

_aten = torch.ops.aten

END: Final = sys.maxsize
"""What ``end`` means as the last argument of ``slice``."""


class OperationError(Exception):
    """An op that does not exist, or that torch refuses to compute on these arguments; the message says which."""


def _method(name: str) -> Callable[..., Any]:
    def call(input: torch.Tensor, **arguments: Any) -> Any:
        return getattr(input, name)(*arguments.values())

    return call


def _positional(overload: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **arguments: overload(*arguments.values())


def _index(input: torch.Tensor, indices: Any) -> torch.Tensor:
    picked: torch.Tensor = _aten.index.Tensor(input, list(indices))
    return picked


def _index_put(input: torch.Tensor, indices: Any, values: torch.Tensor, accumulate: bool = False) -> torch.Tensor:
    written: torch.Tensor = _aten.index_put.default(input, list(indices), values, accumulate)
    return written


def _slice(input: torch.Tensor, dim: int, start: int, end: int, step: int = 1) -> torch.Tensor:
    part: torch.Tensor = _aten.slice.Tensor(input, dim, start, end, step)
    return part


def _scatter(input: torch.Tensor, dim: int, index: torch.Tensor, src: Any) -> torch.Tensor:
    return torch.scatter(input, dim, index, src)


def _full_like_new(name: str) -> Callable[..., Any]:
    def call(input: torch.Tensor, size: Any, dtype: torch.dtype | None = None, **fill: Any) -> torch.Tensor:
        made: torch.Tensor = getattr(input, name)(size, *fill.values(), dtype=dtype or input.dtype)
        return made

    return call


_UPSAMPLING: Final = ("upsample_nearest2d", "upsample_bilinear2d", "upsample_bicubic2d")

_SPECIAL: Final[Mapping[str, Callable[..., Any]]] = {
    "slice": _slice,
    "where": lambda condition, input, other: torch.where(condition, input, other),
    "index": _index,
    "index_put": _index_put,
    "scatter": _scatter,
    "new_zeros": _full_like_new("new_zeros"),
    "new_ones": _full_like_new("new_ones"),
    "new_empty": _full_like_new("new_empty"),
    "new_full": _full_like_new("new_full"),
    "to": _method("to"),
    "type_as": _method("type_as"),
    "expand": _method("expand"),
    "expand_as": _method("expand_as"),
    "repeat": _method("repeat"),
    "unfold": _method("unfold"),
    "contiguous": _method("contiguous"),
    "item": _method("item"),
    "numpy_T": lambda input: input.T,
    "elu": lambda input, alpha=1.0, scale=1, input_scale=1: _aten.elu.default(input, alpha, scale, input_scale),
    "alias": _aten.alias.default,
    "copy": lambda input, src: _aten.copy.default(input, src),
    "fill": lambda input, value: torch.full_like(input, value),
    "einsum": lambda equation, operands: torch.einsum(equation, *operands),
    "lift_fresh_copy": lambda input: input.clone(),
    "linalg_vector_norm": lambda x, **rest: torch.linalg.vector_norm(x, **rest),
    **{name: _positional(getattr(_aten, name).vec) for name in _UPSAMPLING},
}
"""The few ops whose documented arguments are no function of ``torch`` or ``torch.nn.functional`` as they stand."""

_WITH_A_NUMBER_FIRST: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floor_divide": operator.floordiv, "remainder": operator.mod,
}  # fmt: skip
"""torch's functions want a tensor first; its operators do not, and make no tensor of the number."""


def function_of(name: str) -> Callable[..., Any]:
    """What computes the op ``name``; called with keyword arguments under the documented names.

    Raises ``OperationError`` when neither torch nor ``torch.nn.functional`` has it.
    """
    found = _SPECIAL.get(name) or getattr(functional, name, None) or getattr(torch, name, None)
    if found is None:
        raise OperationError(f"no eager function for the op `{name}`")
    return found


def call_op(name: str, arguments: Mapping[str, Any]) -> Any:
    """The value of the op ``name`` on ``arguments`` (documented names; those left out have their defaults).

    ``name`` is any name that the vocabulary knows. Raises ``OperationError`` with torch's own message when torch
    refuses the arguments.
    """
    op = find_op(name)
    if op is None:
        raise OperationError(f"unknown op `{name}`")
    given = _without_defaults(op, arguments)
    try:
        if op.name in _WITH_A_NUMBER_FIRST and isinstance(given.get("input"), (int, float)):
            return _WITH_A_NUMBER_FIRST[op.name](*given.values())
        return function_of(op.name)(**given)
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as problem:
        raise OperationError(f"{op.name}: {problem}") from problem


def call_overload(name: str, arguments: tuple[Any, ...]) -> Any:
    """The value of one overload outside the vocabulary (``aten.histc.default``) on positional ``arguments``."""
    namespace, _, rest = name.partition(".")
    packet, _, overload = rest.partition(".")
    function = getattr(getattr(getattr(torch.ops, namespace), packet, None), overload or "default", None)
    if function is None:
        raise OperationError(f"unknown overload `{name}`")
    try:
        return function(*arguments)
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as problem:
        raise OperationError(f"{name}: {problem}") from problem


def _without_defaults(op: Op, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """torch's functions disagree on which defaults they accept when spelt out, so defaults stay out."""
    kept = {}
    for parameter in op.parameters:
        if parameter.name not in arguments:
            continue
        value = arguments[parameter.name]
        if not parameter.required and not isinstance(value, torch.Tensor) and value == parameter.default:
            continue
        kept[parameter.name] = list(value) if isinstance(value, tuple) else value
    return kept

