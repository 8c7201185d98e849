"""Measures of what a rule does to an expression: linear polynomial interpretations of its pattern and its result.

A measure gives every expression a positive number, made from those of its parts: an op adds one to their sum, and a
*heavy* op multiplies by ``UNSUPPORTED_WEIGHT`` on top of that. What depends on parameters and literals only counts for
nothing: it is computed once, when the patch is applied. A rule lowers a measure if its result has the lesser number
whatever its captures stand for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import Final

from spyre_dsl.language.records import record
from spyre_dsl.language.rule_terms import RuleTerms
from spyre_dsl.language.terms import App, Composite, Seq, Term, Var, subterms

UNSUPPORTED_WEIGHT: Final = 16
"""How many supported ops an unsupported one may be replaced by, in the first measure."""

MADE_OF: Final[Mapping[str, str]] = {"pad_last": "pad", "pad_dim": "pad", "narrow": "slice"}
"""The op that a composite costs."""

FOLDED: Final = frozenset({"pad_heads", "pad_head_columns", "rotate_half_matrix"})
"""Composites that depend on parameters or literals only: they are computed once, and cost nothing afterwards."""


class Measures:
    """What measures say of rules. Each is worked out once for all heavy ops that a rule does not have."""

    def __init__(self) -> None:
        self._ops: dict[RuleTerms, frozenset[str]] = {}
        self._changes: dict[tuple[RuleTerms, frozenset[str]], bool | None] = {}

    def change(self, rule: RuleTerms, heavy: Set[str]) -> bool | None:
        """Whether a rule lowers a measure (True), keeps it or lowers it (False), or may raise it (None)."""
        if rule not in self._ops:
            self._ops[rule] = frozenset(_ops_of(rule))
        key = (rule, self._ops[rule] & heavy)
        if key not in self._changes:
            self._changes[key] = _change(*key)
        return self._changes[key]


def _ops_of(rule: RuleTerms) -> set[str]:
    assert rule.result is not None
    parts = [*subterms(rule.pattern), *subterms(rule.result)]
    made = {MADE_OF.get(part.function, "") for part in parts if isinstance(part, Composite)}
    return made | {part.op for part in parts if isinstance(part, App)}


def _change(rule: RuleTerms, heavy: frozenset[str]) -> bool | None:
    assert rule.result is not None
    measure = _Measure(heavy, rule.tensors, rule.constants)
    before, after = measure.weigh(rule.pattern), measure.weigh(rule.result)
    names = {*before, *after}
    if any(after[name] > before[name] for name in names if name):
        return None
    total = sum(before[name] - after[name] for name in names)  # captures count as 1, the least that they can be
    return None if total < 0 else total > 0


@record(lazy=True)
class _Measure:
    """A measure of one rule's terms: which ops weigh more, which captures are tensors, and which of those constant."""

    heavy: frozenset[str]
    tensors: frozenset[str]
    constants: frozenset[str]

    def weigh(self, term: Term) -> Counter[str]:
        """How often a term counts each capture, and (under the empty name) what it adds to that."""
        match term:
            case Var(name=name):
                return Counter({name: 1} if name in self.tensors - self.constants else {})
            case App(op=op, args=parts) if not self._folded(term):
                factor = UNSUPPORTED_WEIGHT if op in self.heavy else 1
                weight = self._sum(parts)
                weight[""] += 1
                return Counter({name: factor * count for name, count in weight.items()})
            case Composite(function=function, args=parts) if not self._folded(term):
                weight = self._sum(parts[:1])
                weight[""] += function not in FOLDED
                factor = UNSUPPORTED_WEIGHT if MADE_OF.get(function) in self.heavy else 1
                return Counter({name: factor * count for name, count in weight.items()})
            case Seq(items=parts):
                return self._sum(parts)
            case _:
                return Counter()

    def _folded(self, term: Term) -> bool:
        """Whether a term depends on constants only, at least one of them a tensor of the model."""
        used = {part.name for part in subterms(term) if isinstance(part, Var)} & self.tensors
        return bool(used) and used <= self.constants

    def _sum(self, terms: Sequence[Term]) -> Counter[str]:
        total: Counter[str] = Counter()
        for term in terms:
            total.update(self.weigh(term))
        return total
