"""What is matched and what takes its place go together: ops are replaced by ops, modules are changed as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from spyre_dsl.language.adapter import (
    AttributesRewrite,
    ConfigRewrite,
    ForwardRewrite,
    OpRewrite,
    ParametersRewrite,
    PlaceRewrite,
    Rewrite,
    Rule,
    UseRewrite,
)  # fmt: skip
from spyre_dsl.language.checks.facts import place_of
from spyre_dsl.language.checks.registry import file_check
from spyre_dsl.language.checks.view import AdapterView
from spyre_dsl.language.diagnostics import Diagnostic, Related

OF_OPS: Final[dict[type[Rewrite], str]] = {OpRewrite: "op", PlaceRewrite: "place"}
"""Rewrites of what a pattern matches, by their keys."""

OF_MODULES: Final[dict[type[Rewrite], str]] = {
    ForwardRewrite: "forward", ParametersRewrite: "parameters", AttributesRewrite: "attributes",
    ConfigRewrite: "config", UseRewrite: "use",
}  # fmt: skip
"""Rewrites of whole modules, by their keys."""


@file_check("SD105", "SD106")
def check_replacements(view: AdapterView) -> Iterator[Diagnostic]:
    """A rewrite of ops has a pattern, one of modules has none; what could not be read may be of either kind."""
    for rule in view.adapter.rules:
        of_ops, of_modules = OF_OPS.get(type(rule.rewrite)), OF_MODULES.get(type(rule.rewrite))
        if rule.match.op is None and of_ops and not view.damaged(rule.match.span):
            yield _lacks_pattern(view, rule, of_ops)
        elif rule.match.op is not None and of_modules and not view.damaged(rule.rewrite.span):
            span = place_of(view, of_modules, rule.rewrite.span)
            message = f"`{of_modules}` changes a whole module, and `match.op` matches ops of the graph"
            label = "match the `module` by its class, or its `path`, and drop `match.op`"
            related = (Related("the pattern", view.source, rule.match.op.span),)
            yield view.diagnose("SD105", message, span, label=label, related=related)


def _lacks_pattern(view: AdapterView, rule: Rule, key: str) -> Diagnostic:
    what = "runs what a pattern matches on the host" if key == "place" else "takes the place of what a pattern matches"
    message = f"`{key}` {what}, and the match has no `op`"
    label = "add a pattern, `op: ...`, under `match`"
    return view.diagnose("SD106", message, place_of(view, key, rule.rewrite.span), label=label)
