"""Rules written down in tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from spyre_dsl.graphs.node import CanonicalGraph
from spyre_dsl.language.adapter import Adapter, AdapterSet, ConfigClause, Gap, PlaceRewrite, Requires, Rule
from spyre_dsl.language.adapter import Match as MatchClause
from spyre_dsl.language.parser import parse_expression
from spyre_dsl.matching.no_match import NoMatch
from spyre_dsl.matching.rules import Match, RuleIndex, compile_rules, match_at
from spyre_dsl.matching.scope import MatchContext


@dataclass(frozen=True)
class FakeStack:
    """A stack that supports what it is told to."""

    name: str = "2026-06"
    stick: int = 64
    supported: tuple[str, ...] = ()

    def supports(self, op: str, dtype: str = "float16") -> bool:
        return op in self.supported


def rule(op: str | None = None, *where: str, name: str = "r", priority: int = 0, **scope: Any) -> Rule:
    guards = tuple(parse_expression(text) for text in where)
    pattern = parse_expression(op) if op is not None else None
    return Rule(name, MatchClause(op=pattern, where=guards, **scope), PlaceRewrite(), priority=priority)


def adapter(*rules: Rule, name: str = "a", requires: Requires | None = None, expires: str | None = None) -> Adapter:
    condition = parse_expression(expires) if expires is not None else None
    return Adapter(name, "", Gap("numerics"), rules, requires=requires, expires=condition)


def index(*rules: Rule, model: torch.nn.Module | None = None, **context: Any) -> RuleIndex:
    return compile_rules(AdapterSet((adapter(*rules),)), MatchContext(model, **context))


def attempt(graph: CanonicalGraph, op: str, *where: str, root: int = 0, **context: Any) -> Match | NoMatch:
    """The pattern tried at one output of the graph."""
    found = index(rule(op, *where), **context)
    return match_at(found.rules[0], graph.outputs[root], graph, found.context)


def matches(graph: CanonicalGraph, op: str, *where: str, root: int = 0, **context: Any) -> bool:
    return isinstance(attempt(graph, op, *where, root=root, **context), Match)


def clause(key: str, *values: Any, comparison: tuple[str, float] | None = None) -> ConfigClause:
    return ConfigClause(key, values, comparison)
