"""The composite functions of the language, written in ops of the vocabulary.

Each takes a *writer* (anything with ``op(name, **arguments)``, ``sizes(x)`` and ``dtype``) and the values of its
arguments. On None, which a missing bias is, they give None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from spyre_dsl.matching.arithmetic import Unknown, arithmetic, compare

COMPOSITES: dict[str, Callable[..., Any]] = {}
"""Every composite by its name; called with the writer, then the arguments in the order of its signature."""


class Writer(Protocol):
    """What makes ops: the emitter of an FX graph, or plain torch."""

    dtype: str
    """The floating-point dtype of what is being written, for constants."""

    def op(self, name: str, /, **arguments: Any) -> Any: ...

    def sizes(self, x: Any) -> tuple[Any, ...]: ...

    def refuse(self, why: str) -> Exception: ...


def composite(function: Callable[..., Any]) -> Callable[..., Any]:
    COMPOSITES[function.__name__] = function
    return function


@composite
def pad_last(write: Writer, x: Any, to: int) -> Any:
    """``x[..., d]`` -> ``[..., to]``, zeros behind."""
    return pad_dim(write, x, -1, to)


@composite
def pad_dim(write: Writer, x: Any, dim: int, to: int) -> Any:
    """Zeros behind the entries of one dimension, until there are ``to``."""
    if x is None:
        return None
    sizes = write.sizes(x)
    dim = dim % len(sizes)
    missing = _missing(write, sizes[dim], to)
    if missing == 0:
        return x
    return write.op("pad", input=x, pad=(0, 0) * (len(sizes) - 1 - dim) + (0, missing))


@composite
def pad_heads(write: Writer, weight: Any, heads: int, to: int) -> Any:
    """``weight[heads * d, ...]`` -> ``[heads * to, ...]``, zeros behind the rows of each head; a bias has one dim."""
    return _pad_in_groups(write, weight, 0, heads, to)


@composite
def pad_head_columns(write: Writer, weight: Any, heads: int, to: int) -> Any:
    """``weight[n, heads * d]`` -> ``[n, heads * to]``, zeros behind the columns of each head."""
    return _pad_in_groups(write, weight, 1, heads, to)


@composite
def rotate_half_matrix(write: Writer, n: int) -> Any:
    """The ``[n, n]`` matrix M with ``x @ M == cat([-x[..., n/2:], x[..., :n/2]], -1)``; n must be even."""
    half = _half(write, n)
    unit = write.op("eye", n=half, dtype=write.dtype)
    zero = write.op("zeros", size=(half, half), dtype=write.dtype)
    upper = write.op("cat", tensors=(zero, unit), dim=1)
    lower = write.op("cat", tensors=(write.op("neg", input=unit), zero), dim=1)
    return write.op("cat", tensors=(upper, lower), dim=0)


@composite
def narrow(write: Writer, input: Any, dim: int, start: int, length: int) -> Any:
    """``length`` entries of one dimension from ``start`` on."""
    if input is None:
        return None
    if write.sizes(input)[dim] == length and start == 0:
        return input
    return write.op("narrow", input=input, dim=dim, start=start, length=length)


def _half(write: Writer, n: Any) -> Any:
    """Half of an even size, which may be symbolic where it is even whatever it turns out to be: ``2 * (s // 2)``."""
    try:
        if compare(">", n, 0) and compare("==", arithmetic("%", n, 2), 0):
            return arithmetic("//", n, 2)
    except Unknown as reason:
        raise write.refuse(f"rotate_half_matrix needs an even size: {reason}") from None
    raise write.refuse(f"rotate_half_matrix needs an even size, not {n}")


def _pad_in_groups(write: Writer, x: Any, dim: int, groups: int, to: int) -> Any:
    if x is None:
        return None
    sizes = write.sizes(x)
    if dim >= len(sizes) or not isinstance(sizes[dim], int) or sizes[dim] % groups:
        raise write.refuse(f"dimension {dim} of a tensor of shape {list(sizes)} does not hold {groups} heads")
    width = sizes[dim] // groups
    if width == to:
        return x
    apart = write.op("reshape", input=x, shape=(*sizes[:dim], groups, width, *sizes[dim + 1 :]))
    padded = pad_dim(write, apart, dim + 1, to)
    return write.op("reshape", input=padded, shape=(*sizes[:dim], groups * to, *sizes[dim + 1 :]))


def _missing(write: Writer, size: Any, to: Any) -> int:
    if not isinstance(size, int) or not isinstance(to, int):
        raise write.refuse(f"padding from {size} to {to}: both must be known before the model runs")
    if size > to:
        raise write.refuse(f"padding from {size} down to {to}")
    return to - size
