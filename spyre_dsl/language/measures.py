"""Measures of what a rule does to an expression: polynomial interpretations of its pattern and its result.

A measure gives every expression a number, made from those of its parts. Whatever is no op (a tensor of the model, a
number in a tensor's place, ``none``) has the least of all, which is 1 or 2; an op adds one to the sum of its parts, and
a *heavy* op does more:

* where heavy ops are **steep**, they multiply that sum by ``HEAVY_WEIGHT``;
* where they are **scaling**, the parts are multiplied with one another, and a single one by ``HEAVY_WEIGHT``. So
  ``-($a + $b)`` outweighs ``-$a + -$b``, and ``($a + $b) * $c`` outweighs ``$a * $c + $b * $c``.

All of these are strictly monotone in every part, and none gives less than the least. So a rule whose result has the
lesser number *whatever its captures stand for* lowers the number of every expression that holds a match, and rewriting
by rules that all lower a measure, or keep it, comes to an end for those that lower it. Which parts of an op count is
settled by the op alone (those that may be tensors), so that a number counts the same written as captured.

Steep measures leave out what depends on parameters only: it is computed once, when the patch is applied. The bias that
goes with such a weight is taken to be one, too. A rule that works on nothing else is counted in full.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import cache
from typing import Final

from spyre_dsl.language.polynomials import Polynomial, TooComplex, capture, least_difference, number, total
from spyre_dsl.language.records import record
from spyre_dsl.language.rule_terms import RuleTerms
from spyre_dsl.language.terms import App, Composite, Host, Seq, Term, Var, subterms
from spyre_dsl.language.vocabulary import OPS, TENSOR_KINDS

HEAVY_WEIGHT: Final = 16
"""How many supported ops an unsupported one may be replaced by, in the first measure."""

MADE_OF: Final[dict[str, tuple[str, ...]]] = {
    "pad_last": ("pad",), "pad_dim": ("pad",), "narrow": ("slice",),
    "pad_heads": ("reshape", "pad", "reshape"), "pad_head_columns": ("reshape", "pad", "reshape"),
}  # fmt: skip
"""The ops that a composite puts around its first argument, from the inside; one that is not here is a constant."""

_SAME_OP: Final = {"permute": "transpose", "movedim": "transpose"}
"""Ops that the canonical graph may call by another's name, once it knows their dims: they weigh the same."""

_PASSED_ON: Final = {"default": slice(2), "if": slice(1, 3), "item": slice(1)}
"""Functions of which the result may be one of their arguments, a tensor, and which: it weighs no more than all."""


class Measures:
    """What measures say of rules. Each is worked out once for all heavy ops that a rule does not have."""

    def __init__(self) -> None:
        self._ops: dict[RuleTerms, frozenset[str]] = {}
        self._changes: dict[tuple[RuleTerms, frozenset[str], bool], bool | None] = {}

    def change(self, rule: RuleTerms, heavy: Set[str], scaling: bool = False) -> bool | None:
        """Whether a rule lowers a measure (True), keeps it or lowers it (False), or may raise it (None)."""
        if rule not in self._ops:
            self._ops[rule] = frozenset(_ops_of(rule))
        key = (rule, self._ops[rule] & heavy, scaling)
        if key not in self._changes:
            self._changes[key] = _change(*key)
        return self._changes[key]


def weight_name(op: str) -> str:
    """The op by whose name an op is heavy or not."""
    return _SAME_OP.get(op, op)


def _ops_of(rule: RuleTerms) -> set[str]:
    assert rule.result is not None
    found: set[str] = set()
    for part in (*subterms(rule.pattern), *subterms(rule.result)):
        if isinstance(part, App):
            found.add(weight_name(part.op))
        elif isinstance(part, Composite):
            found.update(MADE_OF.get(part.function, ()))
    return found


def _change(rule: RuleTerms, heavy: frozenset[str], scaling: bool) -> bool | None:
    try:
        least = least_difference(*weights(rule, heavy, scaling), least_weight(scaling))
    except TooComplex:
        return None
    return None if least is None or least < 0 else least > 0


def least_weight(scaling: bool) -> int:
    """The least that an expression weighs: ``($a + $b) * $c`` outweighs its parts only where ``$c`` is above 1."""
    return 2 if scaling else 1


def weights(rule: RuleTerms, heavy: frozenset[str], scaling: bool) -> tuple[Polynomial, Polynomial]:
    """What a measure makes of a rule's pattern and of its result.

    Raises:
        TooComplex: the polynomials are too large.
    """
    assert rule.result is not None
    constants = frozenset[str]() if scaling else _left_out(rule)
    measure = _Measure(heavy, scaling, rule.tensors, constants)
    return measure.weigh(rule.pattern), measure.weigh(rule.result)


def _left_out(rule: RuleTerms) -> frozenset[str]:
    """The captures of a rule that depend on parameters only; none where that is all that it works on."""
    found = set(rule.constants)
    for part in subterms(rule.pattern) if found else ():
        if isinstance(part, App) and part.op in OPS:
            given = {p.name: term for p, term in zip(OPS[part.op].parameters, part.args)}
            weight, bias = given.get("weight"), given.get("bias")
            if isinstance(weight, Var) and weight.name in rule.constants and isinstance(bias, Var):
                found.add(bias.name)
    return frozenset() if rule.tensors <= found else frozenset(found)


@record(lazy=True)
class _Measure:
    """A measure of one rule's terms: which ops weigh more, which captures are tensors, and which of those constant."""

    heavy: frozenset[str]
    scaling: bool
    tensors: frozenset[str]
    constants: frozenset[str]

    def weigh(self, term: Term) -> Polynomial:
        """What a term that stands in the place of a tensor, or of a list of them, weighs."""
        match term:
            case Var(name=name):
                return number(0) if name in self.constants else capture(name)
            case App() | Composite() if self.constants and self._folded(term):
                return number(0)
            case App(op=op, args=args):
                counted = _counted(op, len(args))
                return self._op(weight_name(op), [self.weigh(part) for part, counts in zip(args, counted) if counts])
            case Composite(function=function, args=args) if function in MADE_OF:
                weight = self.weigh(args[0])
                for op in MADE_OF[function]:
                    weight = self._op(op, [weight])
                return weight
            case Seq(items=items) if items:
                return total(self.weigh(item) for item in items)
            case Host(function=function, args=args) if function in _PASSED_ON:
                return total(self.weigh(part) for part in args[_PASSED_ON[function]])
            case _:
                return number(least_weight(self.scaling))

    def _op(self, op: str, parts: Sequence[Polynomial]) -> Polynomial:
        """What an op makes of its parts."""
        if op not in self.heavy:
            return total(parts, 1 if parts else least_weight(self.scaling))
        if not self.scaling:
            return total(parts, 1).scaled(HEAVY_WEIGHT)
        if len(parts) < 2:
            return total(parts, 0 if parts else 1).scaled(HEAVY_WEIGHT)
        product = parts[0]
        for part in parts[1:]:
            product = product.times(part)
        return product

    def _folded(self, term: Term) -> bool:
        """Whether a term depends on constants only, at least one of them a tensor of the model."""
        used = {part.name for part in subterms(term) if isinstance(part, Var)} & self.tensors
        return bool(used) and used <= self.constants


@cache
def _counted(op: str, count: int) -> tuple[bool, ...]:
    """For each argument of an op whether it may be a tensor; of an op that is not known, all may."""
    if op == "getitem":
        return (True, False)
    if op not in OPS:
        return (True,) * count
    return tuple(p.kind in TENSOR_KINDS or p.name == "indices" for p in OPS[op].parameters)
