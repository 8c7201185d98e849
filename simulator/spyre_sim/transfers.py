"""Copies between host and device for torch tensors (D3)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import torch

from .formats import HOST_DTYPES, decode_table, from_host, values_from_host, values_to_host
from .formats.arrangement import stagger
from .formats.compiled import look_up_loop
from .formats.host import warn_downcast
from .graph import Arrangement, Format, Value
from .kernels import buffers
from .kernels.compiled import float16_loop, table_loop
from .kernels.numbers import Words
from .kernels.parallel import over_rows
from .stacks import Stack


def up(tensor: torch.Tensor, fmt: Format, stack: Stack, *, as_words: bool = False) -> Any:
    """Host to device: float32 values on the grid for DL16 (`Words` on request), float32, or int32."""
    source = to_numpy(tensor.detach())
    if fmt is Format.DL16:
        if source.dtype.itemsize == 2:
            table = word_table(source.dtype.name, stack) if as_words else value_table(source.dtype.name, stack)
            moved = _looked_up(source, table)
            return Words(moved) if as_words else moved
        return _shaped(torch.from_numpy(np.ascontiguousarray(values_from_host(source, stack))), tensor.shape)
    if fmt is Format.INT32:
        return _narrowed(tensor)
    return tensor.detach().to(torch.float32).contiguous()


def _narrowed(tensor: torch.Tensor) -> torch.Tensor:
    """int32; with the stack's warning where int64 values do not fit, which is when it matters (N30, N32)."""
    narrow = tensor.to(torch.int32)
    if tensor.dtype is torch.int64 and not torch.equal(narrow.to(torch.int64), tensor):
        warn_downcast()
    return narrow


def down(tensor: torch.Tensor, value: Value, stack: Stack) -> torch.Tensor:
    """Device to host in the value's dtype. The element arrangement is ignored: a staggered value arrives permuted."""
    if value.format is Format.INT32:
        return tensor.to(getattr(torch, value.dtype))
    if value.format is Format.FP32:
        return _as_stored(tensor, value).clone()
    if value.dtype == "bool":
        return tensor != 0
    source = tensor.contiguous()
    out = torch.empty(source.shape, dtype=getattr(torch, value.dtype))
    words, values = out.view(torch.int16).numpy().reshape(-1), source.numpy().reshape(-1)
    read = _readback(value.dtype, stack)
    over_rows(len(values), len(values), lambda part: read(values[part], words[part]))
    return out


@cache
def _readback(dtype: str, stack: Stack) -> Callable[[Any, Any], None]:
    """(float32 values on the grid, int16 patterns out): arithmetic where it gives all that the table has."""
    table = readback_table(dtype, stack)
    computed = np.empty_like(table)
    float16_loop(decode_table().copy(), computed)
    if np.array_equal(computed, table):
        return float16_loop
    return lambda values, words: table_loop(values, table, words)


def _as_stored(tensor: torch.Tensor, value: Value) -> torch.Tensor:
    """The order in memory, which is what a copy to the host sees (N45, S36)."""
    width = tensor.shape[-1] if tensor.dim() else 0
    if value.arrangement is not Arrangement.DL16_TO_FP32 or not width // 64:
        return tensor
    paired = width if width % 64 > 32 else width // 64 * 64  # an odd last stick lies as it is (N49)
    padded = torch.nn.functional.pad(tensor[..., :paired], (0, -paired % 64))
    stored = torch.from_numpy(np.ascontiguousarray(stagger(padded.contiguous().numpy())))
    return torch.cat([stored[..., :paired], tensor[..., paired:]], -1)


@cache
def value_table(dtype: str, stack: Stack) -> Any:
    """What each of the 65,536 host words of a 16-bit dtype is on the device, float32."""
    words = np.arange(1 << 16).astype(np.uint16)
    return np.ascontiguousarray(values_from_host(words.view(HOST_DTYPES[dtype]), stack))


@cache
def word_table(dtype: str, stack: Stack) -> Any:
    """The device word of each of the 65,536 host words of a 16-bit dtype, int16 patterns."""
    words = np.arange(1 << 16).astype(np.uint16)
    return np.ascontiguousarray(from_host(words.view(HOST_DTYPES[dtype]), stack)).view(np.int16)


@cache
def readback_table(dtype: str, stack: Stack) -> Any:
    """What each of the 65,536 device words is read back as, int16 patterns of a 16-bit host dtype."""
    return np.ascontiguousarray(values_to_host(decode_table(), dtype, stack)).view(np.int16)


def _looked_up(source: Any, table: Any) -> torch.Tensor:
    words_wanted = table.dtype == np.int16  # which stay: a weight's
    out = torch.empty(source.shape, dtype=torch.int16) if words_wanted else buffers.empty(source.shape)
    words, target = source.reshape(-1).view(np.uint16), out.numpy().reshape(-1)
    over_rows(words.size, words.size, lambda part: look_up_loop(table, words[part], target[part]))
    return out


def _shaped(tensor: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """NumPy makes one-element arrays of 0-d ones; undo that."""
    return tensor.reshape(shape)


def to_numpy(tensor: torch.Tensor) -> Any:
    """A NumPy array of the same dtype; bfloat16 is that of ml_dtypes."""
    if tensor.dtype is torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.contiguous().numpy()
