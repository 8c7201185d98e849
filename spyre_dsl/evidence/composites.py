"""The tensor functions that stand for several ops, spelt out in torch's ops.

Each takes what it makes tensors with first and then the documented arguments (``spyre_dsl.language.functions``). On
None, which a missing bias is, they give None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import torch

from spyre_dsl.evidence.tensors import Tensors


class Maker(Protocol):
    """The world of tensors, and the floating dtype of what is being computed, for constants."""

    @property
    def tensors(self) -> Tensors: ...

    @property
    def dtype(self) -> torch.dtype: ...


def pad_dim(make: Maker, x: Any, dim: int, to: int) -> Any:
    """``x`` with dimension ``dim`` filled up with zeros at its end, to the extent ``to``."""
    if x is None:
        return None
    shape = make.tensors.shape(x)
    dim %= len(shape)
    behind = len(shape) - 1 - dim
    return make.tensors.call("pad", {"input": x, "pad": [0, 0] * behind + [0, to - shape[dim]]})


def pad_last(make: Maker, x: Any, to: int) -> Any:
    """``x [..., n]`` with zeros at the end of its last dimension: ``[..., to]``."""
    return pad_dim(make, x, -1, to)


def _pad_heads_at(make: Maker, weight: Any, dim: int, heads: int, to: int) -> Any:
    if weight is None:
        return None
    shape = list(make.tensors.shape(weight))
    before, after = shape[:dim], shape[dim + 1 :]
    seen = make.tensors.call("reshape", {"input": weight, "shape": [*before, heads, shape[dim] // heads, *after]})
    return make.tensors.call("reshape", {
        "input": pad_dim(make, seen, dim + 1, to), "shape": [*before, heads * to, *after],
    })  # fmt: skip


def pad_heads(make: Maker, weight: Any, heads: int, to: int) -> Any:
    """``weight [heads * d, ...]`` with each head's rows filled up with zeros: ``[heads * to, ...]``; biases too."""
    return _pad_heads_at(make, weight, 0, heads, to)


def pad_head_columns(make: Maker, weight: Any, heads: int, to: int) -> Any:
    """``weight [n, heads * d]`` with each head's columns filled up with zeros: ``[n, heads * to]``."""
    return _pad_heads_at(make, weight, 1, heads, to)


def rotate_half_matrix(make: Maker, n: int) -> Any:
    """The matrix ``M [n, n]`` with ``x @ M == cat([-x[..., n // 2:], x[..., :n // 2]], -1)``, ``n`` even."""
    half = n // 2
    matrix = torch.zeros(n, n, dtype=make.dtype)
    lanes = torch.arange(half)
    matrix[lanes + half, lanes] = -1.0
    matrix[lanes, lanes + half] = 1.0
    return make.tensors.constant(matrix)


def narrow(make: Maker, input: Any, dim: int, start: int, length: int) -> Any:
    """``length`` entries of dimension ``dim`` from ``start`` on."""
    if input is None:
        return None
    return make.tensors.call("narrow", {"input": input, "dim": dim, "start": start, "length": length})


COMPOSITES: Final[Mapping[str, Callable[..., Any]]] = {
    function.__name__: function
    for function in (pad_last, pad_dim, pad_heads, pad_head_columns, rotate_half_matrix, narrow)
}
