"""Copies between host and device for torch tensors (D3)."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import torch

from .formats import from_host, values_from_host, values_to_host
from .formats.arrangement import stagger
from .graph import Arrangement, Format, Value
from .kernels.numbers import Words
from .stacks import Stack


def up(tensor: torch.Tensor, fmt: Format, stack: Stack, *, as_words: bool = False) -> Any:
    """Host to device: float32 values on the grid for DL16 (`Words` on request), float32, or int32."""
    source = to_numpy(tensor.detach())
    if fmt is Format.DL16:
        if as_words:
            return Words(torch.from_numpy(from_host(source, stack).view(np.int16)))
        return _shaped(torch.from_numpy(np.ascontiguousarray(values_from_host(source, stack))), tensor.shape)
    if fmt is Format.INT32:
        return tensor.to(torch.int32)
    return tensor.detach().to(torch.float32).contiguous()


def down(tensor: torch.Tensor, value: Value, stack: Stack) -> torch.Tensor:
    """Device to host in the value's dtype. The element arrangement is ignored: a staggered value arrives permuted."""
    if value.format is Format.INT32:
        return tensor.to(getattr(torch, value.dtype))
    if value.format is Format.FP32:
        return _as_stored(tensor, value).clone()
    if value.dtype == "bool":
        return tensor != 0
    name = value.dtype
    return _shaped(from_numpy(values_to_host(tensor.contiguous().numpy(), name, stack)), tensor.shape)


def _as_stored(tensor: torch.Tensor, value: Value) -> torch.Tensor:
    """The order in memory, which is what a copy to the host sees (N45, S36)."""
    if value.arrangement is not Arrangement.DL16_TO_FP32 or tensor.shape[-1] % 64:
        return tensor
    return torch.from_numpy(np.ascontiguousarray(stagger(tensor.contiguous().numpy())))


def _shaped(tensor: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """NumPy makes one-element arrays of 0-d ones; undo that."""
    return tensor.reshape(shape)


def to_numpy(tensor: torch.Tensor) -> Any:
    """A NumPy array of the same dtype; bfloat16 is that of ml_dtypes."""
    if tensor.dtype is torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.contiguous().numpy()


def from_numpy(source: Any) -> torch.Tensor:
    """The torch tensor of a NumPy array, bfloat16 included."""
    if source.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(np.ascontiguousarray(source).view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(np.ascontiguousarray(source))
