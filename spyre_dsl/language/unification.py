"""Unification of terms: is there a graph that two patterns both match, and does one match all that another does?

Plain values that only a model decides (``size($x, -1) // 2``) may equal anything of their kind, so that overlap errs
towards yes; whether one pattern is more general than another errs towards no.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spyre_dsl.language.canonical_terms import SIZES, sliced
from spyre_dsl.language.terms import (
    COPY,
    DIMENSIONS,
    UNKNOWN,
    App,
    Composite,
    Host,
    Lit,
    Seq,
    Sym,
    Term,
    Var,
    children_of,
    same_literal,
    subterms,
    uncopied,
)  # fmt: skip
from spyre_dsl.language.vocabulary import OPS, Op, Parameter

Substitution = Mapping[str, Term]

MAX_STEPS = 5_000
"""How many pairs of terms one question may look at; commutative operands can be paired in exponentially many ways."""

_NUMERIC = frozenset(
    "size rank numel users round_up min_of max_of len finfo_min finfo_max + - * / // % ** negate stack.stick".split()
)
"""Host functions that give numbers."""


GUARD_STEPS = 20
"""How many steps the question whether guards can hold together counts for, for each guard."""


class Effort:
    """How many steps all questions of one kind may take together, so that no set of rules keeps the linter busy."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    @property
    def exhausted(self) -> bool:
        return self.left < 0

    def spend(self, steps: int) -> None:
        self.left -= steps


class _GaveUp(Exception):
    """The steps are used up."""


_PLACES = frozenset({("select", "index"), ("slice", "start"), ("slice", "end")})
"""Arguments that name places along a dim."""


class _Unifier:
    """One question. ``rigid`` variables stand for themselves; where ``strict``, plain values must be the same."""

    def __init__(self, rigid: frozenset[str], effort: Effort | None, *, strict: bool) -> None:
        self.rigid = rigid
        self.strict = strict
        self.steps = 0
        self.most = MAX_STEPS if effort is None else min(MAX_STEPS, effort.left)
        self.effort = effort

    def first(self, a: Term, b: Term) -> Substitution | None:
        """The first substitution that makes a graph of ``a`` and ``b``; None also where the steps run out."""
        return next(self.all(a, b), None)

    def all(self, a: Term, b: Term) -> Iterator[Substitution]:
        """Every substitution that makes a graph of ``a`` and ``b``, until the steps run out."""
        try:
            for found in self.unify(a, b, {}):
                if self.strict or _is_graph(a, found):
                    yield found
        except _GaveUp:
            return
        finally:
            if self.effort is not None:
                self.effort.spend(self.steps)

    def unify(self, a: Term, b: Term, known: Substitution, dimension: bool = False) -> Iterator[Substitution]:
        self.steps += 1 + len(known) // 4  # each binding copies those before it
        if self.steps > self.most:
            raise _GaveUp
        whole, other = a, b
        a, b = _resolve(a, known), _resolve(b, known)
        if _is_copy(a) or _is_copy(b):
            yield from self._copies(*((whole, b) if _is_copy(a) else (other, a)), known, dimension)
        elif isinstance(a, Var) or isinstance(b, Var):
            yield from self._bind(a, b, known)
        elif isinstance(a, Host) or isinstance(b, Host):
            yield from self._hosts(a, b, known)
        elif isinstance(a, Composite) or isinstance(b, Composite):
            yield from self._composites(a, b, known)
        elif isinstance(a, App) and isinstance(b, App):
            yield from self._apps(a, b, known)
        elif isinstance(a, Seq) and isinstance(b, Seq):
            if len(a.items) == len(b.items):
                yield from self._sequence(a.items, b.items, known, (dimension,) * len(a.items))
        elif self._leaves(a, b, dimension):
            yield known

    def _copies(self, copy: Term, other: Term, known: Substitution, dimension: bool) -> Iterator[Substitution]:
        """``copy`` resolves to a copy. A capture that is read from it alone stands for it; all else sees through it,
        a capture too that is also read from elsewhere."""
        made = _resolve(copy, known)
        if isinstance(other, Var) and other.name not in self.rigid and not _occurs(other.name, made, known):
            yield {**known, other.name: made}
            return
        further = known if _is_copy(other) else _without_copy(copy, known)
        yield from self.unify(uncopied(made), uncopied(other), further, dimension)

    def _bind(self, a: Term, b: Term, known: Substitution) -> Iterator[Substitution]:
        if a == b:
            yield known
            return
        self.steps += 1
        variable, value = (a, b) if isinstance(a, Var) and a.name not in self.rigid else (b, a)
        if isinstance(variable, Var) and variable.name not in self.rigid and not _occurs(variable.name, value, known):
            yield {**known, variable.name: value}

    def _leaves(self, a: Term, b: Term, dimension: bool) -> bool:
        if isinstance(a, Lit) and isinstance(b, Lit):
            if same_literal(a.value, b.value):
                return True
            return dimension and not self.strict and _opposite_signs(a, b)
        if isinstance(a, Sym) and isinstance(b, Sym):
            return a.name == b.name
        number = next((leaf.value for leaf in (a, b) if isinstance(leaf, Lit)), None)
        end = any(isinstance(leaf, Sym) and leaf.name == "end" for leaf in (a, b))
        return end and not self.strict and isinstance(number, int)

    def _hosts(self, a: Term, b: Term, known: Substitution) -> Iterator[Substitution]:
        if self.strict:
            if isinstance(a, Host) and isinstance(b, Host) and a.function == b.function and len(a.args) == len(b.args):
                yield from self._sequence(a.args, b.args, known, (False,) * len(a.args))
        elif isinstance(a, Host) and isinstance(b, Host) and a.function == b.function and a.function in SIZES:
            yield from self._sequence(a.args, b.args, known, (False,) * len(a.args))
        elif _may_equal(a, b) and _may_equal(b, a):
            yield known

    def _composites(self, a: Term, b: Term, known: Substitution) -> Iterator[Substitution]:
        if isinstance(a, Composite) and isinstance(b, Composite) and a.function == b.function:
            yield from self._sequence(a.args, b.args, known, (False,) * len(a.args))
        elif not self.strict:
            first, second = expanded(a), expanded(b)
            if first is not None and second is not None:
                yield from self.unify(first, second, known)

    def _apps(self, a: App, b: App, known: Substitution) -> Iterator[Substitution]:
        if a.op != b.op or len(a.args) != len(b.args):
            return
        op = OPS.get(a.op)
        dimensions = tuple(from_either_end(a.op, p) for p in op.parameters) if op else (False,) * len(a.args)
        yield from self._sequence(a.args, b.args, known, dimensions)
        if op is not None and op.commutative and _plain_defaults(op, a):
            swapped = (b.args[1], b.args[0], *b.args[2:])
            yield from self._sequence(a.args, swapped, known, dimensions)
        elif a.op == "transpose":  # its dims may change places
            yield from self._sequence(a.args, (b.args[0], b.args[2], b.args[1]), known, dimensions)

    def _sequence(
        self, a: tuple[Term, ...], b: tuple[Term, ...], known: Substitution, dimensions: tuple[bool, ...]
    ) -> Iterator[Substitution]:
        if not a:
            yield known
            return
        for further in self.unify(a[0], b[0], known, dimensions[0] if dimensions else False):
            yield from self._sequence(a[1:], b[1:], further, dimensions[1:])


def from_either_end(op: str, parameter: Parameter) -> bool:
    """Whether an argument may be counted from the end: ``-1`` may be the same as ``3``."""
    return parameter.name in DIMENSIONS or (op, parameter.name) in _PLACES


def _plain_defaults(op: Op, term: App) -> bool:
    """Whether nothing but the two operands is given: ``add(x, y, alpha=2)`` does not commute."""
    return all(argument == Lit(parameter.default) for parameter, argument in zip(op.parameters[2:], term.args[2:]))


def _resolve(term: Term, known: Substitution) -> Term:
    while isinstance(term, Var) and term.name in known:
        term = known[term.name]
    return term


def _is_copy(term: Term) -> bool:
    return isinstance(term, App) and term.op == COPY


def _without_copy(term: Term, known: Substitution) -> Substitution:
    """``known`` with the variable that leads from ``term`` to a copy standing for what it is a copy of."""
    while isinstance(term, Var):
        held = known[term.name]
        if _is_copy(held):
            return {**known, term.name: uncopied(held)}
        term = held
    return known


def _occurs(name: str, term: Term, known: Substitution) -> bool:
    term = _resolve(term, known)
    if isinstance(term, Var):
        return term.name == name
    return any(_occurs(name, part, known) for part in children_of(term) if not isinstance(term, Host))


def _opposite_signs(a: Lit, b: Lit) -> bool:
    numbers = [leaf.value for leaf in (a, b) if isinstance(leaf.value, int) and not isinstance(leaf.value, bool)]
    return len(numbers) == 2 and (numbers[0] < 0) != (numbers[1] < 0)


def _may_equal(value: Term, other: Term) -> bool:
    """Whether a host value may turn out to be ``other``; a tensor never is one, and a number is no name."""
    if not isinstance(value, Host):
        return True
    if isinstance(other, (App, Composite)):
        return False
    if value.function == "chunks" and isinstance(other, Seq):
        return not isinstance(value.args[0], Lit) or value.args[0].value == len(other.items)
    if value.function in _NUMERIC:
        if isinstance(other, Lit):
            return isinstance(other.value, (int, float)) and not isinstance(other.value, bool)
        return not isinstance(other, Seq) and not (isinstance(other, Sym) and other.name != "end")
    return True


def expanded(term: Term) -> Term | None:
    """The outermost op that a composite is made of; the term itself if it is none; None for a constant."""
    if not isinstance(term, Composite):
        return term
    first = term.args[0] if term.args else UNKNOWN
    match term.function:
        case "pad_last" | "pad_dim":
            return App("pad", (first, UNKNOWN, Lit("constant"), UNKNOWN))
        case "pad_heads" | "pad_head_columns":
            heads = App("reshape", (first, UNKNOWN))
            return App("reshape", (App("pad", (heads, UNKNOWN, Lit("constant"), UNKNOWN)), UNKNOWN))
        case "narrow":
            dim, start, length = term.args[1:] if len(term.args) == 4 else (UNKNOWN, UNKNOWN, UNKNOWN)
            return sliced(first, dim, start, length)
        case _:
            return None


def unifier(a: Term, b: Term, effort: Effort | None = None) -> Substitution | None:
    """A substitution that makes ``a`` and ``b`` (without common variables) the same, or None.

    Nothing that is no node of a graph counts: ``$x - 1`` and ``1 - $x`` have only ``1 - 1`` in common. Where the
    search would take more than ``MAX_STEPS``, or than what is left of ``effort``, the answer is None.
    """
    return _Unifier(frozenset(), effort, strict=False).first(a, b)


def unifiers(a: Term, b: Term, effort: Effort | None = None) -> Iterator[Substitution]:
    """Every substitution as :func:`unifier` finds them: operands of commutative ops may change places."""
    return _Unifier(frozenset(), effort, strict=False).all(a, b)


def _is_graph(term: Term, known: Substitution) -> bool:
    """Whether every op of a term has a tensor among its operands, where it takes tensors or numbers.

    Patterns are made so; only where a capture has come to stand for a number can that be lost.
    """
    return not any(isinstance(value, (Lit, Host)) for value in known.values()) or _has_tensors(term, known)


def _has_tensors(term: Term, known: Substitution) -> bool:
    term = _resolve(term, known)
    if isinstance(term, App):
        op = OPS.get(term.op)
        operands = [a for p, a in zip(op.parameters, term.args) if p.kind in ("tensor", "value")] if op else []
        if op is not None and any(p.kind == "value" for p in op.parameters):
            if all(isinstance(_resolve(operand, known), (Lit, Host)) for operand in operands):
                return False
    return isinstance(term, Host) or all(_has_tensors(part, known) for part in children_of(term))


def generalizes(general: Term, special: Term, effort: Effort | None = None) -> Substitution | None:
    """What the variables of ``general`` stand for if it matches all that ``special`` matches; None if it does not.

    The two have no variables in common.
    """
    return next(generalizations(general, special, effort), None)


def generalizations(general: Term, special: Term, effort: Effort | None = None) -> Iterator[Substitution]:
    """Everything that the variables of ``general`` may stand for where it matches what ``special`` matches."""
    rigid = frozenset(part.name for part in subterms(special) if isinstance(part, Var))
    return _Unifier(rigid, effort, strict=True).all(general, special)
