"""Expressions as terms: one form for everything that means the same, for unification and for reasoning on guards.

Operators on tensors become their ops, keyword arguments take their places, defaults are filled in, commutativity is
known by name, ``let`` names stand for what they name. Plain values (sizes, dtypes) are terms of their own kind, of
which only some can be told apart before a model is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final, Union

from spyre_dsl.language.functions import DTYPES, FUNCTIONS
from spyre_dsl.language.records import record
from spyre_dsl.language.syntax import (
    OPERATOR_OPS,
    Attribute,
    Binary,
    Boolean,
    Call,
    Capture,
    Compare,
    Conditional,
    Expression,
    Index,
    ListExpression,
    Logical,
    Name,
    NoneLiteral,
    Number,
    String,
    Unary,
    Wildcard,
)  # fmt: skip
from spyre_dsl.language.vocabulary import Op, Parameter, bind, find_op

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

MAX_TERMS = 2_000
"""The largest term that is reasoned about; ``let`` names can stand for exponentially large ones."""

MAX_NESTING = 100
"""How deep what a ``let`` name stands for may nest, as deep as one expression may; ``let`` names can pile up."""

DIMENSIONS = frozenset(
    {"dim", "dims", "dim0", "dim1", "dim2", "start_dim", "end_dim", "source", "destination", "dimension"}
)
"""Parameters that name dimensions: ``-1`` may be the same as ``3``, and ``dim=1`` is ``dim=[1]``."""


class TooLarge(Exception):
    """The term would have more than ``MAX_TERMS`` parts, or nest deeper than there is room for walking through it."""


class Terms:
    """Builds the terms of one rule; ``prefix`` keeps its variables apart from those of other rules.

    ``lets`` are the terms of ``let`` names; ``kinds`` remembers of what kind each capture is where it is first used.
    With ``copies`` the copies that a rewrite makes are kept: patterns match through them, but guards may ask for them.
    """

    def __init__(self, prefix: str = "", lets: Mapping[str, Term] | None = None, *, copies: bool = False) -> None:
        self.copies = copies
        self.prefix = prefix
        self.lets = dict(lets or {})
        self.kinds: dict[str, str] = {}
        self._anonymous = 0
        self._budget = MAX_TERMS

    def build(self, node: Expression, kind: str = "tensor") -> Term:
        """The term of ``node`` where a value of ``kind`` is wanted.

        Raises:
            TooLarge: see ``MAX_TERMS`` and ``MAX_NESTING``.
        """
        self._budget -= 1
        if self._budget < 0:
            raise TooLarge
        build = _BUILDERS.get(type(node))
        return UNKNOWN if build is None else build(self, node, kind)

    def _capture(self, node: Capture, kind: str) -> Term:
        if kind != "any":
            self.kinds.setdefault(node.name, kind)
        return Var(self.prefix + node.name)

    def _wildcard(self, node: Wildcard, kind: str) -> Term:
        self._anonymous += 1
        return Var(f"{self.prefix}_{self._anonymous}")

    def _literal(self, node: Number | Boolean, kind: str) -> Term:
        return Lit(node.value)

    def _string(self, node: String, kind: str) -> Term:
        """A dtype in quotes is the dtype."""
        return Sym(node.value) if node.value in DTYPES and kind != "string" else Lit(node.value)

    def _none(self, node: NoneLiteral, kind: str) -> Term:
        return _NONE

    def _attribute(self, node: Attribute, kind: str) -> Term:
        return Host(".".join((node.root, *node.path)))

    def _list(self, node: ListExpression, kind: str) -> Term:
        inner = "tensor" if kind in ("tensors", "any") else "int"
        return Seq(tuple([self.build(item, inner) for item in node.items]))

    def _compare(self, node: Compare | Logical, kind: str) -> Term:
        return Host(node.operator, (self.build(node.left, "any"), self.build(node.right, "any")))

    def _conditional(self, node: Conditional, kind: str) -> Term:
        parts = (node.condition, node.then, node.otherwise)
        return Host("if", tuple([self.build(part, "any") for part in parts]))

    def _name(self, node: Name, kind: str) -> Term:
        found = self.lets.get(node.name)
        if found is None:
            return Sym(node.name)
        size, depth = extent_of(found)
        self._budget -= size
        if self._budget < 0 or depth > MAX_NESTING:
            raise TooLarge
        return found

    def _call(self, node: Call, kind: str) -> Term:
        op = find_op(node.function)
        function = FUNCTIONS.get(node.function)
        if function is not None and function.composite:
            args = [*node.args, *(keyword.value for keyword in node.keywords)]
            kinds = [parameter.kind for parameter in function.parameters]
            return Composite(function.name, tuple(self.build(a, k) for a, k in zip(args, kinds)))
        if op is not None:
            return self._app(node, op)
        args = [*node.args, *(keyword.value for keyword in node.keywords)]
        if function is not None:
            return Host(function.name, tuple(self.build(argument, "any") for argument in args))
        return App(node.function, tuple(self.build(argument, "any") for argument in args))

    def _app(self, node: Call, op: Op) -> Term:
        if not node.keywords and len(node.args) == len(op.parameters):
            pairs = zip(op.parameters, node.args)
            return self._op(op, tuple([self._argument(parameter, value) for parameter, value in pairs]))
        bound = bind(op, node.args, [(keyword.name, keyword.value) for keyword in node.keywords])
        if not isinstance(bound, dict):
            return UNKNOWN
        return self._op(op, tuple([self._argument(p, bound.get(p.name)) for p in op.parameters]))

    def _op(self, op: Op, args: tuple[Term, ...]) -> Term:
        return App(COPY, args) if self.copies and op.name == COPY else _canonical(op, args)

    def _argument(self, parameter: Parameter, node: Expression | None) -> Term:
        if node is None:
            return _default(parameter)
        term = self.build(node, parameter.kind)
        if parameter.kind == "ints" and isinstance(term, Lit) and parameter.name in DIMENSIONS and term != _NONE:
            return Seq((term,))
        return term

    def _index(self, node: Index, kind: str) -> Term:
        base = self.build(node.base, "any")
        index = self.build(node.index, "int")
        return App("getitem", (base, index)) if isinstance(base, (App, Composite)) else Host("item", (base, index))

    def _unary(self, node: Unary, kind: str) -> Term:
        operand = self.build(node.operand, kind)
        if node.operator == "+":
            return operand
        if node.operator == "-" and self._is_tensor(operand, kind):
            return App("neg", (operand,))
        return Host("negate" if node.operator == "-" else "not", (operand,))

    def _binary(self, node: Binary, kind: str) -> Term:
        left, right = self.build(node.left, kind), self.build(node.right, kind)
        if self._is_tensor(left, kind) or self._is_tensor(right, kind):
            op = find_op(OPERATOR_OPS[node.operator])
            assert op is not None
            return App(op.name, (left, right, *(Lit(parameter.default) for parameter in op.parameters[2:])))
        return Host(node.operator, (left, right))

    def _is_tensor(self, term: Term, kind: str) -> bool:
        """Whether a term is a tensor where ``kind`` is wanted."""
        if isinstance(term, Var):
            first_use = self.kinds.get(term.name[len(self.prefix) :], "tensor")
            return kind in ("tensor", "value") and first_use in ("tensor", "value")
        return isinstance(term, (App, Composite)) or (isinstance(term, Sym) and kind in ("tensor", "value"))


_NONE = Lit(None)


@cache
def _default(parameter: Parameter) -> Term:
    return Seq(()) if parameter.default == () else Lit(parameter.default)


_BUILDERS: Mapping[type, Callable[[Terms, Any, str], Term]] = {
    Capture: Terms._capture, Wildcard: Terms._wildcard, Number: Terms._literal, String: Terms._string,
    Boolean: Terms._literal, NoneLiteral: Terms._none, Name: Terms._name, Attribute: Terms._attribute,
    ListExpression: Terms._list, Call: Terms._call, Index: Terms._index, Unary: Terms._unary, Binary: Terms._binary,
    Compare: Terms._compare, Logical: Terms._compare, Conditional: Terms._conditional,
}  # fmt: skip

COPY: Final = "contiguous"
"""The op that moves a value and leaves it the same."""

TRANSPARENT: Final = frozenset({"contiguous", "clone", "detach", "alias", "lift_fresh_copy", "dropout"})
"""Ops that the canonical graph does not hold: their argument stands for them."""


def _canonical(op: Op, args: tuple[Term, ...]) -> Term:
    """An op as the canonical graph says it."""
    if op.name in TRANSPARENT:
        return args[0]
    if op.name == "rsub":
        return App("sub", (args[1], args[0], args[2]))
    if op.name in ("t", "numpy_T"):
        return App("transpose", (args[0], Lit(-2), Lit(-1)))
    return App(op.name, args)


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
