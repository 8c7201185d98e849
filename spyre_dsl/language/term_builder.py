"""Expressions as terms.

Operators on tensors become their ops, keyword arguments take their places, defaults are filled in, ops are said in the
words of the canonical graph, ``let`` names stand for what they name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from spyre_dsl.language.canonical_terms import canonical
from spyre_dsl.language.functions import DTYPES, FUNCTIONS
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
    extent_of,
)
from spyre_dsl.language.vocabulary import Op, Parameter, bind, find_op

MAX_TERMS = 2_000
"""The largest term that is reasoned about; ``let`` names can stand for exponentially large ones."""

MAX_NESTING = 100
"""How deep what a ``let`` name stands for may nest, as deep as one expression may; ``let`` names can pile up."""


class TooLarge(Exception):
    """The term would have more than ``MAX_TERMS`` parts, or nest deeper than there is room for walking through it."""


class Terms:
    """Builds the terms of one rule; ``prefix`` keeps its variables apart from those of other rules.

    ``lets`` are the terms of ``let`` names; ``kinds`` remembers of what kind each capture is where it is first used.
    In a ``result``, what a rewrite puts in place, copies are kept: patterns match through them, but guards may ask for
    them.
    """

    def __init__(self, prefix: str = "", lets: Mapping[str, Term] | None = None, *, result: bool = False) -> None:
        self.result = result
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
        return App(COPY, args) if self.result and op.name == COPY else canonical(op.name, args)

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
