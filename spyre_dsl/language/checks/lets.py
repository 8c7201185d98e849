"""Names that a rewrite defines with ``let``: they hide nothing, and something reads them."""

from __future__ import annotations

from collections.abc import Iterator

from spyre_dsl.language.adapter import ForwardRewrite, OpRewrite, ParametersRewrite, Rewrite
from spyre_dsl.language.checks.registry import file_check
from spyre_dsl.language.checks.view import AdapterView, RuleView
from spyre_dsl.language.diagnostics import Diagnostic, Related
from spyre_dsl.language.functions import DTYPES, FUNCTIONS, WORDS
from spyre_dsl.language.suggest import nearest
from spyre_dsl.language.syntax import Span


@file_check("SD303")
def check_shadowed_names(view: AdapterView) -> Iterator[Diagnostic]:
    """A ``let`` must not take a name that already means something."""
    for rule in view.rules:
        rewrite = rule.rule.rewrite
        again_allowed = isinstance(rewrite, ForwardRewrite)
        seen: dict[str, Span] = {}
        for name, span in _lets(rewrite):
            yield from _shadowing(view, rule, name, span, seen, again_allowed=again_allowed)
            seen.setdefault(name, span)


def _shadowing(
    view: AdapterView, rule: RuleView, name: str, span: Span, seen: dict[str, Span], *, again_allowed: bool
) -> Iterator[Diagnostic]:
    if name in rule.bound:
        capture = next(c for c in (rule.pattern.captures if rule.pattern else ()) if c.name == name)
        related = (Related(f"`${name}` is captured here", view.source, capture.span),)
        message = f"`let {name}` has the name of the capture `${name}`"
        yield view.diagnose("SD303", message, span, label="choose another name", related=related)
    elif name in WORDS or name in FUNCTIONS:
        kind = "dtype" if name in DTYPES else "function" if name in FUNCTIONS else "word of the language"
        message = f"`let {name}` hides the {kind} `{name}`"
        yield view.diagnose("SD303", message, span, label="choose another name")
    elif name in seen and not again_allowed:
        related = (Related(f"`{name}` is first defined here", view.source, seen[name]),)
        message = f"`let {name}` is defined twice"
        yield view.diagnose("SD303", message, span, label="the second time", related=related)


@file_check("SD307")
def check_unused_lets(view: AdapterView) -> Iterator[Diagnostic]:
    """A ``let`` that nothing reads."""
    for rule in view.rules:
        rewrite = rule.rule.rewrite
        lets = [] if rule.broken else [let for let in _lets(rewrite) if not _has_a_meaning(rule, let[0])]
        read = {name.name for place in rule.places for name in place.bare_names} if lets else set()
        for name, span in lets:
            if name not in read and not _let_meant(rule, name, [name for name, _ in lets]):
                yield view.diagnose("SD307", f"`let {name}` is never used", span, label="remove it")


def _has_a_meaning(rule: RuleView, name: str) -> bool:
    """Whether a ``let`` takes a name that means something already, which is told on its own (SD303)."""
    return name in rule.bound or name in WORDS or name in FUNCTIONS


def _lets(rewrite: Rewrite) -> list[tuple[str, Span]]:
    """The names that a rewrite defines, with where it does."""
    if isinstance(rewrite, (OpRewrite, ParametersRewrite)):
        return [(let.name, let.span) for let in rewrite.let]
    bindings = rewrite.program.bindings if isinstance(rewrite, ForwardRewrite) else ()
    return [(binding.name, binding.name_span) for binding in bindings]


def _let_meant(rule: RuleView, name: str, lets: list[str]) -> bool:
    """Whether a misspelt name, or one with a dollar too many, most likely means this ``let``."""
    unknown = {
        bare.name
        for place in rule.places
        for bare in place.bare_names
        if place.names is not None and bare.name not in place.names and bare.name not in WORDS
    }
    unbound = {c.name for place in rule.places for c in place.captures if c.name not in rule.bound}
    return name in unbound or any(nearest(other, lets) == name for other in unknown)
