"""What captures stand for once the canonical graph has told the arguments of ops in its own way.

A rule may write ``softmax($x, -1)``; the graph says ``softmax(x, 3)``, and 3 is what a capture gets there. So a guard
must not be decided by what is written: a negative dim is told from the rank, an index or the end of a slice is
anything, and so on, as ``spyre_dsl.graphs.canonicalizers`` has it. Patterns are still compared as they are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from spyre_dsl.language.terms import DIMENSIONS, App, Host, Lit, Seq, Term, Var, substitute, subterms
from spyre_dsl.language.values import Linear, bounds, value_of
from spyre_dsl.language.vocabulary import OPS, TENSOR_KINDS, Parameter

_ONE_MORE_DIM: Final = frozenset({"unsqueeze", "stack"})
"""Ops whose dim counts the dims of the result."""

_SIZES: Final = frozenset({("reshape", "shape"), ("expand", "size")})
"""Lists of sizes, where -1 becomes the size that it stands for."""

_OTHERWISE: Final = frozenset(
    {("select", "index"), ("slice", "start"), ("slice", "end"), ("embedding", "padding_idx"), ("arange", "start")}
    | {(op, "dtype") for op in ("softmax", "log_softmax", "sum", "mean", "prod", "cumsum", "cumprod")}
    | {(op, "dtype") for op in ("linalg_vector_norm", "zeros_like", "ones_like", "empty_like", "full_like")}
    | {(op, "dtype") for op in ("new_zeros", "new_ones", "new_empty", "new_full")}
)
"""Arguments that the canonical graph may give as another value, depending on what only a graph knows."""


_EXACT: Final = {("select", "index"): range(2**62), ("arange", "start"): range(2**62), ("slice", "start"): range(1)}
"""The whole numbers that such arguments stay: a slice starts where it says only if that is within the size."""


def as_matched(common: Mapping[str, Term], *terms: Term) -> Mapping[str, Term]:
    """``common``, a unifier of ``terms``, with the captures of arguments standing for what a graph gives them."""
    told: dict[str, Term] = {}
    for term in terms:
        for part in subterms(term):
            if isinstance(part, App) and part.op in OPS:
                for parameter, argument in zip(OPS[part.op].parameters, part.args):
                    if parameter.kind not in TENSOR_KINDS:
                        told.update(_told(part, parameter, argument, common))
    return {**common, **told} if told else common


def _told(holder: App, parameter: Parameter, argument: Term, common: Mapping[str, Term]) -> Iterator[tuple[str, Term]]:
    """The captures in an argument that stand for something else than what ``common`` says, and for what."""
    captures = argument.items if isinstance(argument, Seq) else (argument,)
    for capture in captures:
        if isinstance(capture, Var) and capture.name in common:
            written = substitute(capture, common)
            if not isinstance(written, Var):
                given = _given(holder, parameter, written, substitute(holder.args[0], common))
                if given is not written:
                    yield capture.name, given


def _given(holder: App, parameter: Parameter, written: Term, x: Term) -> Term:
    """What a graph gives for an argument of an op, ``x`` being the first one of all; ``written`` if that is it."""
    where = (holder.op, parameter.name)
    if parameter.name in DIMENSIONS or where in _SIZES:
        if not isinstance(written, Seq):
            return _given_number(where, written, x)
        items = tuple(_given_number(where, item, x) for item in written.items)
        return written if items == written.items else Seq(items)
    if where in _EXACT and isinstance(written, Lit) and written.value in _EXACT[where]:
        return written
    if where in _OTHERWISE or (parameter.kind == "ints" and isinstance(written, Lit)):
        return _anything(where, written, x)
    return written


def _given_number(where: tuple[str, str], written: Term, x: Term) -> Term:
    """What a graph gives for a dim, or for a size of a list."""
    if where in _SIZES:
        return _anything(where, written, x) if _is_negative(written) else written
    if isinstance(written, Lit):
        if written.value is None:
            return _anything(where, written, x)
        return Host("+", (_rank(where[0], x), written)) if _is_negative(written) else written
    if isinstance(written, Host) and not _counts_from_front(written):
        return _anything(where, written, x)
    return written


def _rank(op: str, x: Term) -> Term:
    """How many dims there are to count from the end of."""
    if isinstance(x, Seq) and x.items:
        x = x.items[0]
    rank = Host("rank", (x,))
    return Host("+", (rank, Lit(1))) if op in _ONE_MORE_DIM else rank


def _counts_from_front(dim: Host) -> bool:
    """Whether a computed dim cannot be negative: by its parts, or since it is told from a rank already."""
    form = value_of(dim)
    if not isinstance(form, Linear):
        return False
    if len(form.parts) == 1 and form.parts[0][1] == 1:
        term = form.parts[0][0]
        if isinstance(term, Host) and term.function == "rank":
            return True
    return form.constant >= 0 and all(times > 0 and bounds(term)[0] >= 0 for term, times in form.parts)


def _anything(where: tuple[str, str], written: Term, x: Term) -> Term:
    """A value of which nothing is known but that the same call gives the same."""
    return Host("given", (Lit(where[0]), Lit(where[1]), written, x))


def _is_negative(term: Term) -> bool:
    return isinstance(term, Lit) and type(term.value) in (int, float) and term.value < 0  # type: ignore[operator]
