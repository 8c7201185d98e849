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
    Rewrite,
    UseRewrite,
)  # fmt: skip
from spyre_dsl.language.checks.facts import place_of
from spyre_dsl.language.checks.registry import file_check
from spyre_dsl.language.checks.view import AdapterView
from spyre_dsl.language.diagnostics import Diagnostic, Related

OF_MODULES: Final[dict[type[Rewrite], str]] = {
    ForwardRewrite: "forward", ParametersRewrite: "parameters", AttributesRewrite: "attributes",
    ConfigRewrite: "config", UseRewrite: "use",
}  # fmt: skip
"""Rewrites of whole modules, by their keys."""


@file_check("SD105", "SD106")
def check_replacements(view: AdapterView) -> Iterator[Diagnostic]:
    """A rewrite of ops has a pattern, one of modules has none; what could not be read may be of either kind.

    Ops and modules alike are placed on the host.
    """
    for rule in view.adapter.rules:
        key, pattern = OF_MODULES.get(type(rule.rewrite)), rule.match.op
        if pattern is None and isinstance(rule.rewrite, OpRewrite) and not view.damaged(rule.match.span):
            message = "`op` takes the place of what a pattern matches, and the match has no `op`"
            span = place_of(view, "op", rule.rewrite.span)
            yield view.diagnose("SD106", message, span, label="add a pattern, `op: ...`, under `match`")
        elif pattern is not None and key is not None and not view.damaged(rule.rewrite.span):
            message = f"`{key}` changes a whole module, and `match.op` matches ops of the graph"
            label = "match the `module` by its class, or its `path`, and drop `match.op`"
            related = (Related("the pattern", view.source, pattern.span),)
            span = place_of(view, key, rule.rewrite.span)
            yield view.diagnose("SD105", message, span, label=label, related=related)
