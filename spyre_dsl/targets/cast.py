"""A copy of a model in another floating-point type, made without a second float32 copy on the way."""

from __future__ import annotations

import copy
from typing import Any

import torch


def cast_copy(model: torch.nn.Module, dtype: torch.dtype) -> torch.nn.Module:
    """A deep copy of ``model`` in ``dtype``, as loading its checkpoint in ``dtype`` would have made it (fact R3).

    Parameters and saved buffers are cast. Buffers that no checkpoint holds (the inverse frequencies of a rotary
    embedding) keep their own type, since models compute them in float32 whatever type they are loaded in; integers
    stay. Tied weights stay tied. The original is left untouched.
    """
    memo: dict[int, Any] = {}
    for parameter in model.parameters():
        memo[id(parameter)] = torch.nn.Parameter(_cast(parameter.detach(), dtype), parameter.requires_grad)
    for buffer in _saved_buffers(model):
        memo[id(buffer)] = _cast(buffer, dtype)
    return copy.deepcopy(model, memo)


def _saved_buffers(model: torch.nn.Module) -> list[torch.Tensor]:
    return [
        buffer
        for module in model.modules()
        for name, buffer in module.named_buffers(recurse=False)
        if name not in module._non_persistent_buffers_set
    ]


def _cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A new tensor in ``dtype`` for a floating-point one, and a copy of any other."""
    return tensor.to(dtype, copy=True) if tensor.is_floating_point() else tensor.clone()
