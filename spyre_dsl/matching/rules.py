"""Rules ready to be matched, indexed so that matching costs by hits and not by rules.

The order in which rules are tried, and in which matches come: higher ``priority`` first; then the more specific rule,
as ``language.rule_terms.specificity`` has it (more parts in the pattern, then more conditions around it), so that what
``lint`` says about order is what happens; then file order. So a rule for a whole RMSNorm goes before one for its
``pow``, and every match of it before any of the other's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from spyre_dsl.graphs.node import CanonicalGraph, Node, Value
from spyre_dsl.graphs.provenance import owner_of
from spyre_dsl.language.adapter import Adapter, AdapterSet, Rule
from spyre_dsl.language.rule_terms import rule_terms, specificity
from spyre_dsl.matching.attempt import Attempt
from spyre_dsl.matching.compile import compile_pattern
from spyre_dsl.matching.features import node_signature, required_features, signature_features
from spyre_dsl.matching.no_match import NoMatch
from spyre_dsl.matching.patterns import ItemPattern, OpPattern, Pattern
from spyre_dsl.matching.scope import MatchContext, adapter_fits, config_fits
from spyre_dsl.matching.verdict import judge, module_verdict


@dataclass(frozen=True)
class CompiledRule:
    """A rule with its pattern. ``unfit`` says why it is not for this model or stack at all, None if it is;
    rules are sorted by ``order``."""

    adapter: Adapter
    rule: Rule
    pattern: Pattern | None
    order: tuple[Any, ...]
    unfit: NoMatch | None = None
    features: frozenset[Any] = field(default=frozenset(), repr=False)

    @property
    def root_op(self) -> str:
        """The op at the root of the pattern; ``""`` for a rule that matches modules."""
        if isinstance(self.pattern, ItemPattern):
            return "getitem"
        return self.pattern.op if isinstance(self.pattern, OpPattern) else ""

    @property
    def name(self) -> str:
        """``adapter/rule``, unique in a run."""
        return f"{self.adapter.name}/{self.rule.name}"


@dataclass(frozen=True, eq=False)
class Match:
    """One place where a rule applies.

    ``root`` is the node whose value the rewrite replaces (None where the rule matches a module); ``nodes`` are all ops
    that the pattern names; ``owner`` the deepest module that ran all of them; ``scope`` the module that ``self`` means.
    Both are paths in the context's model.
    """

    adapter: Adapter
    rule: Rule
    root: Node | None
    bindings: dict[str, Value]
    nodes: frozenset[Node]
    owner: str
    scope: str


class RuleIndex:
    """All rules of an adapter set against one context."""

    def __init__(self, rules: Sequence[CompiledRule], context: MatchContext) -> None:
        self.context = context
        self.rules = tuple(sorted(rules, key=lambda rule: rule.order))
        self._by_root: dict[str, list[tuple[int, CompiledRule]]] = {}
        for rank, rule in enumerate(self.rules):
            if rule.unfit is None and rule.pattern is not None:
                self._by_root.setdefault(rule.root_op, []).append((rank, rule))
        self._candidates: dict[Any, tuple[tuple[int, CompiledRule], ...]] = {}
        self.unevaluated: dict[str, dict[Any, NoMatch]] = {}
        """For each rule (by ``name``) the places where all but its guard matched, and the guard had no value."""

    def matches(self, graph: CanonicalGraph, roots: Sequence[Node] | None = None) -> Iterator[Match]:
        """Every match in ``graph`` (at ``roots`` only, if given), in the order of the rules, then of the graph.

        Matches may overlap; the first of those that do is the one to take.
        """
        found: list[tuple[int, int, Match]] = []
        for place, node in enumerate(graph.nodes if roots is None else roots):
            for rank, rule in self.candidates(node):
                match = match_at(rule, node, graph, self.context)
                if isinstance(match, Match):
                    found.append((rank, place, match))
                elif match.unevaluated:
                    self.unevaluated.setdefault(rule.name, {})[node.fx] = match
        found.sort(key=lambda item: item[:2])
        return (match for _, _, match in found)

    def module_matches(self) -> Iterator[Match]:
        """Every module (of the context's model) that a rule without ``op`` names, in the order of the rules.

        A rule that names neither a module nor a path is for the model as a whole: its one match is the root.
        """
        for rule in self.rules:
            if rule.unfit is None and rule.pattern is None:
                for path in module_paths(rule, self.context):
                    match = match_module(rule, path, self.context)
                    if isinstance(match, Match):
                        yield match
                    elif match.unevaluated:
                        self.unevaluated.setdefault(rule.name, {})[path] = match

    def candidates(self, node: Node) -> tuple[tuple[int, CompiledRule], ...]:
        """The rules that the ops around ``node`` and its literals do not rule out."""
        rules = self._by_root.get(node.op)
        if rules is None:
            return ()
        signature = node_signature(node)
        found = self._candidates.get(signature)
        if found is None:
            features = signature_features(signature)
            found = tuple((rank, rule) for rank, rule in rules if rule.features <= features)
            self._candidates[signature] = found
        return found


def compile_rules(adapters: AdapterSet, context: MatchContext) -> RuleIndex:
    """Compiles every rule; whether it is for this model and stack at all is decided here, once.

    Raises PatternError for a pattern that the checks of ``lint`` would have refused.
    """
    compiled = []
    for terms in rule_terms(adapters.adapters):
        adapter, rule = terms.adapter, terms.rule
        order = (-rule.priority, *(-count for count in specificity(terms)), terms.number)
        unfit = adapter_fits(adapter, context) or config_fits(rule.match.config, context.config)
        pattern = compile_pattern(rule.match.op) if rule.match.op is not None else None
        features = required_features(pattern) if pattern is not None else frozenset()
        compiled.append(CompiledRule(adapter, rule, pattern, order, unfit, features))
    return RuleIndex(compiled, context)


def match_at(rule: CompiledRule, node: Node, graph: CanonicalGraph, context: MatchContext) -> Match | NoMatch:
    """The match of an op rule with its root at ``node``, or the first predicate that failed there."""
    if rule.unfit is not None:
        return rule.unfit
    assert rule.pattern is not None, "a rule without an op matches modules"
    attempt = Attempt()
    scope: list[str] = []
    unevaluated: NoMatch | None = None
    for _ in rule.pattern.match(node, None, attempt):
        owner = context.rebase(owner_of(found.fx for found in attempt.nodes))
        failure = judge(rule.rule, node, attempt, owner, scope, graph, context)
        if failure is None:
            bindings = dict(attempt.bindings)
            return Match(rule.adapter, rule.rule, node, bindings, frozenset(attempt.nodes), owner, scope[0])
        if failure.unevaluated:
            unevaluated = unevaluated or failure
    return replace(unevaluated, score=max(attempt.best, 0)) if unevaluated is not None else attempt.failure


def match_module(rule: CompiledRule, path: str, context: MatchContext) -> Match | NoMatch:
    """The match of a rule without ``op`` at one module, or the first predicate that failed there."""
    if rule.unfit is not None:
        return rule.unfit
    failure = module_verdict(rule.rule, path, context)
    return failure or Match(rule.adapter, rule.rule, None, {}, frozenset(), path, path)


def module_paths(rule: CompiledRule, context: MatchContext) -> Iterator[str]:
    """The modules that a rule without ``op`` could mean."""
    named = rule.rule.match.module is not None or rule.rule.match.path is not None
    if context.model is None or not named:
        yield ""
        return
    for path, _ in context.model.named_modules():
        yield path
