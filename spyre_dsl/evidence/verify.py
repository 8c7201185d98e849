"""The claims of all rules at every place where they change a real model (``apply --verify``).

The model's graph is rewritten on paper, as planning does, so that places which only appear after another rewrite are
tried too. At each place the captures are given random values and the pattern and the rewrite are compared
(``spyre_dsl.evidence.claims``); the dynamic dimensions are made small where the graph allows it, the others are the
model's own. Places that look alike are tried once.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import torch

from spyre_dsl.evidence.claims import Site, check_site
from spyre_dsl.evidence.graph_values import hinted_sizes, number_of, shape_of
from spyre_dsl.evidence.operations import OperationError
from spyre_dsl.evidence.results import Finding, SiteReport, describe, failed, ok, refuted, skipped
from spyre_dsl.graphs.capture import capture
from spyre_dsl.graphs.node import CanonicalGraph, Node, Value
from spyre_dsl.language.adapter import AdapterSet, OpRewrite
from spyre_dsl.matching.rules import Match, compile_rules
from spyre_dsl.matching.scope import MatchContext
from spyre_dsl.patching.driver import Rewriter
from spyre_dsl.patching.plan import placeholders_of

TRIALS: Final = 12
MOST_ELEMENTS: Final = 20_000_000
"""A place whose captures hold more numbers than this is not tried: its float64 copies would not fit beside a model."""


@dataclass(frozen=True)
class _Place:
    match: Match
    site: Site


@dataclass
class _WatchedRewriter(Rewriter):
    """Carries out the rewrites and keeps what each of them claims."""

    places: list[_Place] = field(default_factory=list)

    def _rewrite(self, match: Match, canonical: CanonicalGraph) -> Any:
        if match.root is not None and match.rule.math is not None and isinstance(match.rule.rewrite, OpRewrite):
            self.places.append(_Place(match, self._claim(match, canonical)))
        return super()._rewrite(match, canonical)

    def _claim(self, match: Match, canonical: CanonicalGraph) -> Site:
        assert match.root is not None and match.rule.math is not None and isinstance(match.rule.rewrite, OpRewrite)
        context = self.index.context
        roots = {"stack": context.stack, "config": context.config, "self": context.module(match.scope)}
        sizes = hinted_sizes(canonical)
        return Site(match.root, match.bindings, match.rule.rewrite, match.rule.math, sizes, roots)


def verify(
    model: torch.nn.Module,
    adapters: AdapterSet,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    stack: Any,
    seed: int = 0,
    trials: int = TRIALS,
) -> tuple[SiteReport, ...]:
    """Try every claim at every place where a rule rewrites ``model``; the model is left untouched.

    Args are those of ``spyre_dsl.patching.plan.plan``, and the same errors are raised. ``trials`` drawings are made at
    each place that looks like no other.
    """
    captured = capture(model, args, kwargs)
    index = compile_rules(adapters, MatchContext(model, stack=stack))
    rewriter = _WatchedRewriter(captured.program, index, placeholders_of(captured))
    rewriter.run()
    known: dict[Hashable, Finding] = {}
    reports = []
    for place in rewriter.places:
        look = _look(place)
        if look not in known:
            known[look] = _check(place.site, seed, trials)
        reports.append(_report(place, known[look]))
    return tuple(reports)


def _report(place: _Place, finding: Finding) -> SiteReport:
    match = place.match
    assert match.root is not None
    return SiteReport(match.adapter.name, match.rule.name, match.root.module_path, match.root.source_line, finding)


def _look(place: _Place) -> Hashable:
    """Equal for places where the same rule meets values of the same make-up."""
    bindings = tuple((name, _make_up(value, place.site)) for name, value in sorted(place.match.bindings.items()))
    return place.match.adapter.name, place.match.rule.name, bindings


def _make_up(value: Value, site: Site) -> Hashable:
    if isinstance(value, Node):
        return value.dtype, shape_of(value, site.sizes), value.is_constant
    if isinstance(value, tuple):
        return tuple(_make_up(item, site) for item in value)
    return repr(number_of(value, site.sizes))


def _check(site: Site, seed: int, trials: int) -> Finding:
    extents = {symbol: min(hint, 2 + place) for place, (symbol, hint) in enumerate(site.sizes.items())}
    for each in (replace(site, sizes=extents), site):
        if _elements(each) > MOST_ELEMENTS:
            return skipped("the captured values are too large to try")
        try:
            made, wrong = check_site(each, seed=seed, trials=trials)
        except (OperationError, RuntimeError):  # the small extents do not fit together
            continue
        if wrong is not None:
            return failed(refuted(site.claim.kind, wrong), *describe(wrong), counterexample=wrong, trials=made)
        return ok(f"{made} trials", trials=made, shapes=1)
    return skipped("the original has no value on random inputs")


def _elements(site: Site) -> int:
    return sum(torch.Size(shape_of(node, site.sizes)).numel() for node in site.captured())
