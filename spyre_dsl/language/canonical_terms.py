"""Ops that the canonical graph says in other words: terms say them so too, and patterns of either kind can be compared.

``chunk`` becomes ``split``, ``flatten`` becomes ``reshape``, ``permute`` of two dims becomes ``transpose``, and so on,
as ``spyre_dsl.matching.canonical_words`` has it for patterns (a test holds the two against each other). Sizes that only
a graph knows stand as plain values that are told apart by what they are made from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from spyre_dsl.language.terms import COPY, App, Host, Lit, Seq, Term

TRANSPARENT: Final = frozenset({COPY, "clone", "detach", "alias", "lift_fresh_copy", "dropout"})
"""Ops that the canonical graph does not hold: their argument stands for them."""

SIZES: Final = frozenset({"chunks", "sections", "flattened", "unflattened"})
"""Plain values that stand for the sizes of ``chunk``, ``split``, ``flatten`` and ``unflatten``: two of one kind are
equal where what they are made from is."""

Words = Callable[..., Term]


def canonical(op: str, args: tuple[Term, ...]) -> Term:
    """A call of an op, its arguments in the order of the vocabulary, as the canonical graph says it."""
    words = _WORDS.get(op)
    return App(op, args) if words is None else words(*args)


def sliced(x: Term, dim: Term, start: Term, length: Term) -> App:
    """``narrow(x, dim, start, length)``."""
    end: Term = Host("+", (start, length))
    first, size = _whole(start), _whole(length)
    if first is not None and size is not None:
        end = Lit(first + size)
    return App("slice", (x, dim, start, end, Lit(1)))


def _transpose(x: Term, dim0: Term, dim1: Term) -> Term:
    """The two dims may change places: the lesser first, where that can be told."""
    first, second = _whole(dim0), _whole(dim1)
    if first is not None and second is not None and second < first:
        dim0, dim1 = dim1, dim0
    return App("transpose", (x, dim0, dim1))


def _permute(x: Term, dims: Term) -> Term:
    """A permutation that only swaps two dims is a transpose."""
    order = [_whole(item) for item in dims.items] if isinstance(dims, Seq) else []
    moved = [place for place, dim in enumerate(order) if dim is None or place != dim % len(order)]
    if len(moved) != 2 or None in order:
        return App("permute", (x, dims))
    return App("transpose", (x, *(Lit(place) for place in moved)))


def _split(x: Term, sections: Term, dim: Term) -> Term:
    return App("split", (x, Host("sections", (sections,)) if _whole(sections) is not None else sections, dim))


def _whole(term: Term) -> int | None:
    """The integer that a term is, if it is one."""
    return term.value if isinstance(term, Lit) and type(term.value) is int else None


_WORDS: Final[Mapping[str, Words]] = {
    **dict.fromkeys(TRANSPARENT, lambda x, *others: x),
    "rsub": lambda x, other, alpha: App("sub", (other, x, alpha)),
    "t": lambda x: App("transpose", (x, Lit(-2), Lit(-1))),
    "numpy_T": lambda x: App("transpose", (x, Lit(-2), Lit(-1))),
    "transpose": _transpose,
    "permute": _permute,
    "split": _split,
    "chunk": lambda x, chunks, dim: App("split", (x, Host("chunks", (chunks,)), dim)),
    "flatten": lambda x, start, end: App("reshape", (x, Host("flattened", (start, end)))),
    "unflatten": lambda x, dim, sizes: App("reshape", (x, Host("unflattened", (dim, sizes)))),
    "type_as": lambda x, other: App("to", (x, Host("dtype", (other,)))),
    "expand_as": lambda x, other: App("expand", (x, Host("shape", (other,)))),
}
