"""The inputs of one forward, however they were given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import torch

# Keyword arguments, positional arguments, or one tensor.
Inputs: TypeAlias = Mapping[str, Any] | Sequence[Any] | torch.Tensor


def as_call(inputs: Inputs) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """``inputs`` as (args, kwargs)."""
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    if isinstance(inputs, torch.Tensor):
        return (inputs,), {}
    return tuple(inputs), {}


def cast_inputs(inputs: Inputs, dtype: torch.dtype) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """``inputs`` as (args, kwargs) with floating-point tensors in ``dtype``; everything else as it is."""
    args, kwargs = as_call(inputs)
    return tuple(_cast(value, dtype) for value in args), {name: _cast(value, dtype) for name, value in kwargs.items()}


def _cast(value: Any, dtype: torch.dtype) -> Any:
    return value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value
