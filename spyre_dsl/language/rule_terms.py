"""One rule as terms: its pattern, its guards and what it puts in the pattern's place."""

from __future__ import annotations

from collections.abc import Sequence

from spyre_dsl.language.adapter import Adapter, OpRewrite, PlaceRewrite, Rule
from spyre_dsl.language.canonical_terms import sliced
from spyre_dsl.language.lazy import lazy
from spyre_dsl.language.records import record
from spyre_dsl.language.syntax import Broken, walk
from spyre_dsl.language.term_builder import Terms, TooLarge
from spyre_dsl.language.term_index import Demands, demands
from spyre_dsl.language.terms import UNKNOWN, App, Composite, Host, Term, Var, children_of, subterms

_FLOAT_ARGUMENTS = {
    "scaled_dot_product_attention": 3, "layer_norm": 1, "rms_norm": 1, "group_norm": 1, "batch_norm": 1, "gelu": 1,
    "silu": 1, "softmax": 1, "log_softmax": 1, "linear": 2, "softplus": 1, "mish": 1, "elu": 1, "conv1d": 2,
    "conv2d": 2,
}  # fmt: skip
"""Ops whose first arguments, so many of them, are floating-point tensors."""


@record(eq=False, lazy=True)
class RuleTerms:
    """A rule of an adapter, ready to be compared with others. ``number`` is its place among all rules."""

    adapter: Adapter
    rule: Rule
    number: int
    whole: bool = False
    """Whether it is known already that the pattern and all guards could be parsed."""
    outlined: bool = False
    """Whether ``rule`` lacks its expressions; see :mod:`~spyre_dsl.language.outlines`."""

    @lazy
    def usable(self) -> bool:
        """Whether the rule replaces ops and could be read in full."""
        if self.rule.match.op is None or not isinstance(self.rule.rewrite, (OpRewrite, PlaceRewrite)):
            return False
        return (self.whole or self._parsed()) and isinstance(self.pattern, App)

    def _parsed(self) -> bool:
        expressions = [self.rule.match.op, *self.rule.match.where]
        return not any(isinstance(node, Broken) for tree in expressions if tree is not None for node in walk(tree))

    @lazy
    def pattern(self) -> Term:
        """The pattern; its variables carry the number of the rule, so that no two rules share one."""
        assert self.rule.match.op is not None
        try:
            pattern = self._terms.build(self.rule.match.op)
        except TooLarge:
            return UNKNOWN
        if isinstance(pattern, Composite) and pattern.function == "narrow" and len(pattern.args) == 4:
            return sliced(*pattern.args)
        return pattern

    @lazy
    def demands(self) -> Demands:
        """What the pattern demands, for the indices."""
        return demands(self.pattern) if isinstance(self.pattern, App) else ()

    @lazy
    def guards(self) -> tuple[Term, ...]:
        try:
            return tuple(self._terms.build(guard, "any") for guard in self.rule.match.where)
        except TooLarge:
            return ()

    @lazy
    def tensors(self) -> frozenset[str]:
        """The variables that stand for tensors (or for tensors and numbers)."""
        kinds = self._terms.kinds
        names = (part.name for part in subterms(self.pattern) if isinstance(part, Var))
        return frozenset(
            name for name in names if kinds.get(name[len(self._prefix) :], "tensor") in ("tensor", "value")
        )

    @lazy
    def constants(self) -> frozenset[str]:
        """The variables of which a guard says that they depend on nothing but parameters and literals."""
        found: set[str] = set()
        waiting = list(self.guards)
        while waiting:
            match waiting.pop():
                case Host(function="and", args=parts):
                    waiting.extend(parts)
                case Host(function="is_constant" | "is_parameter", args=(Var(name=name),)):
                    found.add(name)
        return frozenset(found)

    @lazy
    def implied(self) -> tuple[Term, ...]:
        """What is true of the captures without a guard: ops that know floating-point tensors only have got some."""
        return tuple(
            Host("is_float", (argument,))
            for part in subterms(self.pattern)
            if isinstance(part, App)
            for argument in part.args[: _FLOAT_ARGUMENTS.get(part.op, 0)]
        )

    @lazy
    def result(self) -> Term | None:
        """What an op rewrite puts in the place of the pattern, ``let`` names resolved.

        None for other rewrites, and for one that names a capture which the pattern does not have: that is its fault,
        and what follows from it is none.
        """
        rewrite = self.rule.rewrite
        if not isinstance(rewrite, OpRewrite):
            return None
        terms = Terms(self._prefix, result=True)
        _ = self.pattern
        terms.kinds.update(self._terms.kinds)
        try:
            for let in rewrite.let:
                terms.lets[let.name] = terms.build(let.value)
            made = terms.build(rewrite.expression)
        except TooLarge:
            return None
        return made if set(all_variables(made)) <= set(all_variables(self.pattern)) else None

    @property
    def _prefix(self) -> str:
        return f"{self.number}:"

    @lazy
    def _terms(self) -> Terms:
        return Terms(self._prefix)

    @lazy
    def identity(self) -> tuple[object, ...]:
        """Equal for rules that say the same in the same words, wherever they stand; see :class:`FirstOfEach`."""
        rule = self._in_full() if self.outlined else self.rule
        return rule.match, rule.rewrite, self.stacks, rule.priority

    @lazy
    def scope(self) -> tuple[object, ...]:
        """Equal for rules of one identity, and quick to compare."""
        match = self.rule.match
        config = tuple([(c.key, *(value for value in c.values if isinstance(value, str))) for c in match.config])
        return match.module, match.path, len(match.where), config, self.stacks, self.rule.priority

    def _in_full(self) -> Rule:
        """The rule with its expressions, read again from the text of its file."""
        from spyre_dsl.language.loader import load_text  # whoever has rules of other processes has imported it

        source = self.adapter.source
        assert source is not None
        adapter = load_text(source.text, source.name).adapter
        assert adapter is not None
        return next(rule for rule in adapter.rules if rule.span == self.rule.span)

    @property
    def stacks(self) -> tuple[str, ...]:
        return self.adapter.requires.stacks if self.adapter.requires else ()

    @property
    def name(self) -> str:
        """The rule as messages call it: ``adapter/rule``."""
        return f"{self.adapter.name}/{self.rule.name}"


class FirstOfEach:
    """Keeps the first rule of each identity.

    To hash a rule is to walk through all of it; so rules are told apart by what their patterns demand, which is known
    anyway, then by where they apply, and hashed only where both are the same.
    """

    def __init__(self) -> None:
        self._alone: dict[object, RuleTerms] = {}
        self._together: dict[object, dict[object, RuleTerms]] = {}

    def find(self, rule: RuleTerms) -> RuleTerms:
        """The first rule that was asked for and is the same as this one: perhaps this one itself."""
        key = (rule.demands, rule.scope)
        other = self._alone.setdefault(key, rule)
        if other is rule:
            return rule
        same = self._together.get(key)
        if same is None:
            same = self._together[key] = {other.identity: other}
        return same.setdefault(rule.identity, rule)


def all_variables(term: Term) -> list[str]:
    """Every occurrence of a variable in a term, those that plain values are computed from included."""
    if isinstance(term, Var):
        return [term.name]
    return [name for part in children_of(term) for name in all_variables(part)]


def rule_terms(adapters: Sequence[Adapter]) -> list[RuleTerms]:
    """All rules of all adapters, in file order."""
    pairs = ((adapter, rule) for adapter in adapters for rule in adapter.rules)
    return [RuleTerms(adapter, rule, number) for number, (adapter, rule) in enumerate(pairs)]


def specificity(rule: RuleTerms) -> tuple[int, int, int, int]:
    """How specific a match is: where several rules match, the greatest goes first, after priorities.

    Counted are the parts of the pattern that narrow it (ops, literals, computed values, captures used again), then
    the conditions, then the letters of the module and path globs, then how few values the conditions allow. An
    instance of a pattern has more parts than the pattern, and a rule that has another's conditions and more has more
    of them, so that this order agrees with what :mod:`~spyre_dsl.language.scopes` decides for two rules.
    """
    match = rule.rule.match
    parts = 0
    seen: set[str] = set()
    for part in subterms(rule.pattern) if match.op is not None else ():
        if not isinstance(part, Var) or part.name in seen:
            parts += 1
        else:
            seen.add(part.name)
    scopes = (match.module is not None) + (match.path is not None) + bool(rule.stacks)
    letters = sum(len(glob.replace("*", "")) for glob in (match.module, match.path) if glob)
    values = sum(len(clause.values) for clause in match.config) + len(rule.stacks)
    return parts, len(match.where) + len(match.config) + scopes, letters, -values
