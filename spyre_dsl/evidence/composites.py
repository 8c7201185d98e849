"""The tensor functions that stand for several ops, spelt out in torch's ops.

Each takes the world of tensors first and then the documented arguments (``spyre_dsl.language.functions``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import torch

from spyre_dsl.evidence.tensors import Tensors


def pad_dim(tensors: Tensors, x: Any, dim: int, to: int) -> Any:
    """``x`` with dimension ``dim`` filled up with zeros at its end, to the extent ``to``."""
    shape = tensors.shape(x)
    dim %= len(shape)
    behind = len(shape) - 1 - dim
    return tensors.call("pad", {"input": x, "pad": [0, 0] * behind + [0, to - shape[dim]]})


def pad_last(tensors: Tensors, x: Any, to: int) -> Any:
    """``x [..., n]`` with zeros at the end of its last dimension: ``[..., to]``."""
    return pad_dim(tensors, x, -1, to)


def _pad_heads_at(tensors: Tensors, weight: Any, dim: int, heads: int, to: int) -> Any:
    shape = list(tensors.shape(weight))
    before, after = shape[:dim], shape[dim + 1 :]
    seen = tensors.call("reshape", {"input": weight, "shape": [*before, heads, shape[dim] // heads, *after]})
    return tensors.call("reshape", {
        "input": pad_dim(tensors, seen, dim + 1, to), "shape": [*before, heads * to, *after],
    })  # fmt: skip


def pad_heads(tensors: Tensors, weight: Any, heads: int, to: int) -> Any:
    """``weight [heads * d, ...]`` with each head's rows filled up with zeros: ``[heads * to, ...]``; biases too."""
    return _pad_heads_at(tensors, weight, 0, heads, to)


def pad_head_columns(tensors: Tensors, weight: Any, heads: int, to: int) -> Any:
    """``weight [n, heads * d]`` with each head's columns filled up with zeros: ``[n, heads * to]``."""
    return _pad_heads_at(tensors, weight, 1, heads, to)


def rotate_half_matrix(tensors: Tensors, n: int) -> Any:
    """The float32 matrix ``M [n, n]`` with ``x @ M == cat([-x[..., n // 2:], x[..., :n // 2]], -1)``, ``n`` even."""
    half = n // 2
    matrix = torch.zeros(n, n)
    lanes = torch.arange(half)
    matrix[lanes + half, lanes] = -1.0
    matrix[lanes, lanes + half] = 1.0
    return tensors.constant(matrix)


def narrow(tensors: Tensors, input: Any, dim: int, start: int, length: int) -> Any:
    """``length`` entries of dimension ``dim`` from ``start`` on."""
    return tensors.call("narrow", {"input": input, "dim": dim, "start": start, "length": length})


COMPOSITES: Final[Mapping[str, Callable[..., Any]]] = {
    function.__name__: function
    for function in (pad_last, pad_dim, pad_heads, pad_head_columns, rotate_half_matrix, narrow)
}
