"""Where the rules of an adapter match in a captured graph, as sites whose claims can be tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from spyre_dsl.evidence.claims import Site
from spyre_dsl.evidence.graph_values import hinted_sizes
from spyre_dsl.graphs.capture import Capture
from spyre_dsl.language.adapter import Adapter, AdapterSet, OpRewrite, Rule
from spyre_dsl.matching.rules import compile_rules
from spyre_dsl.matching.scope import MatchContext


@dataclass(frozen=True)
class MatchedSite:
    """One match: whose rule it is, where it lies in the model, and the site of its claim."""

    adapter: Adapter
    rule: Rule
    module_path: str
    source_line: str
    site: Site


def claimed_sites(capture: Capture, adapters: AdapterSet, stack: Any) -> Iterator[MatchedSite]:
    """Every match of a rule that replaces an op by an expression and makes a claim about it, in graph order."""
    context = MatchContext(capture.model, stack=stack)
    sizes = hinted_sizes(capture.graph)
    for match in compile_rules(adapters, context).matches(capture.graph):
        rule = match.rule
        if match.root is None or not isinstance(rule.rewrite, OpRewrite) or rule.math is None:
            continue
        roots = {"stack": stack, "config": context.config, "self": context.module(match.scope)}
        site = Site(match.root, match.bindings, rule.rewrite, rule.math, sizes, roots)
        yield MatchedSite(match.adapter, rule, match.root.module_path, match.root.source_line, site)
