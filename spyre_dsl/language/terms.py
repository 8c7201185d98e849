"""Terms: one form for everything that means the same, for unification and for reasoning on guards.

Plain values (sizes, dtypes) are terms of their own kind, of which only some can be told apart before a model is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Union

from spyre_dsl.language.records import record

Scalar = Union[int, float, bool, str, None]


@record
class Var:
    """A capture (or ``_``, each with a name of its own): stands for any value."""

    name: str


@record
class Lit:
    """A literal. ``3`` and ``3.0`` are equal, ``1`` and ``true`` are not: see :func:`same_literal`."""

    value: Scalar


@record
class Sym:
    """A word: a dtype, ``end``, or the input of a test."""

    name: str


@record
class Seq:
    """A list."""

    items: tuple[Term, ...]


@record
class App:
    """An op of the graph, its arguments in the order of the vocabulary."""

    op: str
    args: tuple[Term, ...]


@record
class Composite:
    """A tensor built by a composite function: some ops (``made_of``), of which guards can know the size."""

    function: str
    args: tuple[Term, ...]


@record
class Host:
    """A plain value that is computed when a rule matches: ``size($x, -1)``, ``stack.stick``, ``a // b``."""

    function: str
    args: tuple[Term, ...] = ()


Term = Union[Var, Lit, Sym, Seq, App, Composite, Host]

UNKNOWN = Host("unknown")
"""A value of which nothing is known."""

DIMENSIONS = frozenset(
    {"dim", "dims", "dim0", "dim1", "dim2", "start_dim", "end_dim", "source", "destination", "dimension"}
)
"""Parameters that name dimensions: ``-1`` may be the same as ``3``, and ``dim=1`` is ``dim=[1]``."""

COPY: Final = "contiguous"
"""The op that moves a value and leaves it the same."""


def uncopied(term: Term) -> Term:
    """What a copy is of; any other term itself."""
    while isinstance(term, App) and term.op == COPY:
        term = term.args[0]
    return term


def children_of(term: Term) -> tuple[Term, ...]:
    if isinstance(term, (App, Host, Composite)):
        return term.args
    return term.items if isinstance(term, Seq) else ()


def subterms(term: Term) -> Iterator[Term]:
    """``term`` and everything in it, parents first; what plain values are computed from is left out."""
    stack = [term]
    while stack:
        current = stack.pop()
        yield current
        if not isinstance(current, Host):
            stack.extend(reversed(children_of(current)))


def size_of(term: Term) -> int:
    """The number of parts of a term."""
    return extent_of(term)[0]


def extent_of(term: Term) -> tuple[int, int]:
    """The number of parts of a term, and how deep they nest."""
    size = deepest = 0
    waiting = [(term, 1)]
    while waiting:
        part, depth = waiting.pop()
        size += 1
        deepest = max(deepest, depth)
        waiting.extend([(inner, depth + 1) for inner in children_of(part)])
    return size, deepest


def variables(term: Term) -> list[str]:
    """The variables of a term, each occurrence, in order."""
    return [part.name for part in subterms(term) if isinstance(part, Var)]


def substitute(term: Term, values: Mapping[str, Term]) -> Term:
    """``term`` with its variables replaced, also in what was put in their place."""
    if isinstance(term, Var):
        return substitute(values[term.name], values) if term.name in values else term
    parts = children_of(term)
    if not parts:
        return term
    replaced = tuple([substitute(part, values) for part in parts])
    if isinstance(term, App):
        return App(term.op, replaced)
    if isinstance(term, (Host, Composite)):
        return type(term)(term.function, replaced)
    return Seq(replaced)


def same_literal(a: Scalar, b: Scalar) -> bool:
    """Whether two literals match the same values: ``3`` and ``3.0`` do, ``1`` and ``true`` do not."""
    return isinstance(a, bool) == isinstance(b, bool) and a == b
