"""The arrays that kernels work on and the one context that tells them how the stack computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from ..formats import decode_dl16, encode_dl16, round_dl16
from ..formats.dlfloat import Rounding
from ..graph import Format
from ..stacks import Stack
from . import buffers
from .compiled import strided_rows_loop
from .parallel import over_rows

Tensor = torch.Tensor


@dataclass(frozen=True)
class Arithmetic:
    """How one stack computes; `numerics` is its documented field by field in `spyre_sim.stacks`."""

    stack: Stack

    @property
    def numerics(self) -> Any:
        return self.stack.numerics

    @property
    def rounding(self) -> Rounding:
        n = self.numerics
        return Rounding(n.rounding, n.overflow, n.underflow)

    @property
    def plain(self) -> bool:
        """Is rounding the device's own, which the compiled loops have built in?"""
        return self.rounding == Rounding()

    def round(self, tensor: Tensor, fmt: Format) -> Tensor:
        """The result of one kernel in its storage format, in place (D2, Q3)."""
        if fmt is Format.DL16:
            self.round_in_place(tensor)
        return tensor

    def round_in_place(self, tensor: Tensor) -> None:
        flat = array(tensor).reshape(-1)

        def block(rows: slice) -> None:
            round_dl16(flat[rows], out=flat[rows], rounding=self.rounding)

        over_rows(flat.size, flat.size, block)

    def number(self, value: float, fmt: Format) -> float:
        """A constant as the device holds it: a size-1 tensor in the operand's format (L49)."""
        if fmt is not Format.DL16 or value == 0:  # a zero keeps its sign, which no dictionary knows
            return value
        return _constant(float(value), self.rounding)


@lru_cache(1 << 12)
def _constant(value: float, rounding: Rounding) -> float:
    with np.errstate(over="ignore"):
        return float(round_dl16(np.asarray([value], np.float64), rounding=rounding)[0])


@dataclass(frozen=True)
class Words:
    """A weight as DLFloat16 words, int16 bit patterns of any strides: half the memory of values, decoded in use."""

    words: Tensor

    @property
    def shape(self) -> torch.Size:
        return self.words.shape

    def values(self) -> Tensor:
        """float32 on the grid, contiguous."""
        return torch.from_numpy(decode_dl16(self.words.contiguous().numpy().view(np.uint16)))

    @staticmethod
    def of(values: np.ndarray[Any, Any]) -> Words:
        return Words(torch.from_numpy(encode_dl16(values).view(np.int16)))


def values_of(item: Any) -> Any:
    """What a kernel was given, with words as their values."""
    return item.values() if isinstance(item, Words) else item


def array(tensor: Tensor) -> Any:
    """The NumPy view of a contiguous tensor."""
    return tensor.numpy()


def contiguous(tensor: Tensor | Words) -> Tensor:
    """float32, C-contiguous; a copy only where it has to be one."""
    result: Tensor = values_of(tensor).contiguous()
    return result


def copied_on_grid(tensor: Tensor | Words) -> Tensor:
    """As `contiguous`, for values on the grid: strided ones are copied without torch's thread team."""
    values: Tensor = values_of(tensor)
    if values.is_contiguous():
        return values
    copied = scaled_copy(values, 1.0) if values.dtype is torch.float32 else None
    return values.contiguous() if copied is None else copied


def scaled_copy(tensor: Tensor, factor: float) -> Tensor | None:
    """round(tensor * factor), contiguous, for a view of up to four dims with a contiguous last one; else None."""
    found = scaling(tensor, factor)
    if found is None:
        return None
    out, block = found
    over_rows(out.numel() // out.shape[-1], out.numel(), block)
    return out


def scaling(tensor: Tensor, factor: float) -> tuple[Tensor, Callable[[slice], None]] | None:
    """Room for the result of `scaled_copy`, and what computes some of its rows."""
    if tensor.dim() not in (2, 3, 4) or tensor.stride(-1) != 1 or tensor.numel() == 0:
        return None
    out = buffers.empty(tensor.shape)
    lead = 4 - tensor.dim()
    sizes = np.array([1] * lead + list(tensor.shape[:-1]), np.int64)
    strides = np.array([0] * lead + list(tensor.stride()[:-1]), np.int64)
    reach = tensor.storage_offset() + int((strides * (sizes - 1)).sum()) + tensor.shape[-1]
    flat = tensor.as_strided((reach,), (1,), 0).numpy()
    rows = rows_of(out)

    def block(part: slice) -> None:
        strided_rows_loop(flat, tensor.storage_offset(), sizes, strides, rows[part], np.float32(factor), part.start)

    return out, block


def rows_of(tensor: Tensor) -> Any:
    """[rows, last dim] as NumPy, of a contiguous tensor."""
    shape = tensor.shape
    return array(tensor).reshape(-1, shape[-1] if len(shape) else 1)
