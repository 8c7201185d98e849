"""Names: bare names are defined, attributes exist, captures are bound, used and not shadowed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from spyre_dsl.language.adapter import (
    AttributesRewrite,
    ForwardRewrite,
    Let,
    OpRewrite,
    ParametersRewrite,
    Rewrite,
    Rule,
)  # fmt: skip
from spyre_dsl.language.checks.patterns import VALUES
from spyre_dsl.language.checks.registry import file_check
from spyre_dsl.language.checks.view import PATTERN, REWRITE, TEST, AdapterView, Place, RuleView
from spyre_dsl.language.diagnostics import Diagnostic, Related
from spyre_dsl.language.functions import DTYPES, FUNCTIONS
from spyre_dsl.language.suggest import nearest
from spyre_dsl.language.syntax import Attribute, Binding, Capture, Name, Span

STACK_ATTRIBUTES = ("name", "stick")
"""What rules may ask of the stack besides ``stack.supports``."""

WORDS = frozenset({*DTYPES, "end"})
"""Bare names with a meaning of their own."""


@file_check("SD207")
def check_names(view: AdapterView) -> Iterator[Diagnostic]:
    """Every bare name is a dtype, ``end``, or in reach; one that is not is reported at its first use in a rule."""
    reported: set[tuple[int, str]] = set()
    for place in view.places:
        if place.names is None:
            continue
        for name in place.bare_names:
            if place.role == PATTERN and name is place.expression:  # SD306: a pattern that is a mere value
                continue
            if name.name not in WORDS and name.name not in place.names and (id(place.rule), name.name) not in reported:
                if place.rule is not None:
                    reported.add((id(place.rule), name.name))
                if place.role != REWRITE or place.rule is None or not _lets_hidden(view, place.rule):
                    yield _unknown_name(view, place, name)


def _lets_hidden(view: AdapterView, rule: Rule) -> bool:
    """Whether a ``let`` of the rule, or all, could not be read: what they define is then not known."""
    text = view.source.text
    inside = (d for d in view.damage if rule.span.start <= d.start and d.end <= rule.span.end)
    return any(
        text[d.start : d.end] == "let" or re.search(r"\blet[\"']?[ ]*:\s*$", text[rule.span.start : d.start])
        for d in inside
    )


def _unknown_name(view: AdapterView, place: Place, name: Name) -> Diagnostic:
    message = f"unknown name `{name.name}`"
    assert place.names is not None
    captures = _captures_in_reach(view, place)
    if place.role == PATTERN or name.name in captures:
        suggestion = f"${name.name}"
        label = f"a capture is written `{suggestion}`"
    elif later := _defined_later(place, name):
        suggestion, label = None, f"`{later}` is defined only after this"
    else:
        alone = ("unchanged",) if place.what == "`after`" and name is place.expression else ()
        near = nearest(name.name, [*place.names, *captures, *WORDS, *alone])
        suggestion = f"${near}" if near in captures and near not in place.names else near
        label = f"did you mean `{suggestion}`?" if suggestion else _what_is_known(place)
    return view.diagnose("SD207", message, name.span, label=label, suggestion=suggestion)


def _what_is_known(place: Place) -> str:
    if place.names:
        return f"known here: {', '.join(f'`{known}`' for known in place.names)}"
    return (
        "the inputs of a test are declared under `inputs`"
        if place.role == TEST
        else "nothing of this name is defined here"
    )


def _captures_in_reach(view: AdapterView, place: Place) -> frozenset[str]:
    return next((rule.bound for rule in view.rules if rule.rule is place.rule), frozenset())


def _defined_later(place: Place, name: Name) -> str | None:
    rewrite = place.rule.rewrite if place.rule else None
    lets = rewrite.let if isinstance(rewrite, (OpRewrite, ParametersRewrite)) else ()
    return name.name if place.role == REWRITE and any(let.name == name.name for let in lets) else None


@file_check("SD208")
def check_attributes(view: AdapterView) -> Iterator[Diagnostic]:
    """``stack.`` has few attributes; which of ``config`` and ``self`` exist, deep mode looks up.

    Without it, what no module gives as a value is told: its methods, what is private, a misspelt ``training``.
    """
    for place in view.places:
        for attribute in place.attributes:
            if attribute.root == "stack" and (len(attribute.path) > 1 or attribute.path[0] not in STACK_ATTRIBUTES):
                yield _unknown_of_stack(view, attribute)
            elif attribute.root == "self" and place.role == TEST:
                message = "a test expression belongs to no module, so it has no `self`"
                yield view.diagnose("SD208", message, attribute.span, label="declare an input instead")
            elif is_private(attribute.path):
                yield _private(view, ".".join((attribute.root, *attribute.path)), attribute.span)
            elif attribute.root == "self":
                yield from _no_value_of_a_module(view, attribute.path, "self.", attribute.span)


@file_check("SD208")
def check_asked_config_keys(view: AdapterView) -> Iterator[Diagnostic]:
    """A condition on a key that is not read never holds."""
    for rule in view.adapter.rules:
        for clause in rule.match.config:
            if is_private(clause.key.split(".")):
                yield _private(view, clause.key, clause.key_span)
            elif clause.key.startswith("config."):
                near = clause.key.removeprefix("config.")
                message = "a key of the config is written without `config.`"
                yield view.diagnose("SD208", message, clause.key_span, label=f"write `{near}`", suggestion=near)


def is_private(path: Sequence[str]) -> bool:
    """Whether a path leads to what rules do not read, of a module or of a config."""
    return any(part.startswith("_") for part in path)


@file_check("SD208")
def check_set_attributes(view: AdapterView) -> Iterator[Diagnostic]:
    """A rewrite sets values of a module, not its methods."""
    for rule in view.adapter.rules:
        if isinstance(rule.rewrite, (AttributesRewrite, ParametersRewrite)):
            for value in rule.rewrite.values:
                yield from _no_value_of_a_module(view, value.name.split("."), "", value.span)


def _unknown_of_stack(view: AdapterView, attribute: Attribute) -> Diagnostic:
    written = "stack." + ".".join(attribute.path)
    known = [*(f"stack.{known}" for known in STACK_ATTRIBUTES), "stack.supports"]
    near = nearest(written, known)
    label = f"did you mean `{near}`?" if near else f"known are {', '.join(f'`{entry}`' for entry in known)}"
    return view.diagnose("SD208", f"unknown attribute `{written}`", attribute.span, label=label, suggestion=near)


def _private(view: AdapterView, written: str, span: Span) -> Diagnostic:
    label = "what begins with an underscore is not read; name a public one"
    return view.diagnose("SD208", f"`{written}` is private", span, label=label)


def _no_value_of_a_module(view: AdapterView, path: Sequence[str], prefix: str, span: Span) -> Iterator[Diagnostic]:
    from spyre_dsl.language.module_members import METHODS, meant_value  # most files do not speak of `self`

    first, *rest = path
    meant = "training" if first in ("train", "eval") and not rest else meant_value(first)
    near = prefix + ".".join((meant, *rest)) if meant else None
    if first in METHODS:
        message = f"`{prefix}{first}` is a method of every module, and rules do not deal with methods"
        label = f"did you mean `{near}`?" if near else "name a parameter, a buffer or a value of the module"
    elif near is not None:
        message, label = f"unknown attribute `{prefix}{first}`", f"did you mean `{near}`?"
    else:
        return
    yield view.diagnose("SD208", message, span, label=label, suggestion=near)


@file_check("SD209")
def check_wildcards_and_test_captures(view: AdapterView) -> Iterator[Diagnostic]:
    """``_`` stands in patterns only; captures belong to rules, not to tests."""
    for place in view.places:
        if place.role != PATTERN:
            for wildcard in place.wildcards:
                message = f"`_` matches anything in a pattern, but it has no value to use in {place.what}"
                yield view.diagnose(
                    "SD209", message, wildcard.span, label="name it in the pattern with `$` and use that"
                )
        if place.rule is None:
            for capture in {capture.name: capture for capture in reversed(place.captures)}.values():
                message = f"`${capture.name}` is a capture, and {place.what} belongs to no match"
                known = place.names is not None and capture.name in place.names
                label = f"write `{capture.name}`" if known else "only rules have captures"
                yield view.diagnose(
                    "SD209", message, capture.span, label=label, suggestion=capture.name if known else None
                )


@file_check("SD301")
def check_unbound_captures(view: AdapterView) -> Iterator[Diagnostic]:
    """A capture that is used must be bound by the pattern; each is reported at its first use.

    A pattern that is broken, or a mere value, is a mistake of its own, and what it would have bound is not known.
    """
    for rule in view.rules:
        if rule.pattern is not None and (rule.pattern.broken or isinstance(rule.pattern.expression, VALUES)):
            continue
        reported: set[str] = set()
        for place in rule.places:
            for capture in place.captures:
                if capture.name not in rule.bound and capture.name not in reported:
                    reported.add(capture.name)
                    yield _unbound(view, rule, place, capture)


def _unbound(view: AdapterView, rule: RuleView, place: Place, capture: Capture) -> Diagnostic:
    message = f"`${capture.name}` is used, but the pattern does not bind it"
    if rule.pattern is None:
        message = f"`${capture.name}` is used, but the rule has no `op` pattern that could bind it"
    unused = [name for name in sorted(rule.bound)]
    near = nearest(capture.name, unused)
    if near is not None:
        return view.diagnose("SD301", message, capture.span, label=f"did you mean `${near}`?", suggestion=f"${near}")
    if place.names is not None and capture.name in place.names:
        label = f"the let is written without a dollar: `{capture.name}`"
        return view.diagnose("SD301", message, capture.span, label=label, suggestion=capture.name)
    bound = ", ".join(f"`${name}`" for name in unused)
    return view.diagnose("SD301", message, capture.span, label=f"bound are {bound}" if bound else "nothing is bound")


@file_check("SD302")
def check_unused_captures(view: AdapterView) -> Iterator[Diagnostic]:
    """A capture that is bound once and never used says less than ``_``.

    One that a misspelt name most likely means is left alone: that name is reported instead.
    """
    for rule in view.rules:
        if rule.pattern is None or rule.broken:
            continue
        counts = Counter(capture.name for place in rule.places for capture in place.captures)
        for capture in rule.pattern.captures:
            if counts[capture.name] == 1 and not _meant_elsewhere(rule, capture.name):
                message = f"`${capture.name}` is captured and never used"
                label = "write `_` to match anything"
                yield view.diagnose("SD302", message, capture.span, label=label, suggestion="_")


def _meant_elsewhere(rule: RuleView, name: str) -> bool:
    unbound = {c.name for place in rule.places for c in place.captures if c.name not in rule.bound}
    return _named_bare(rule, name) or any(nearest(other, sorted(rule.bound)) == name for other in unbound)


def _named_bare(rule: RuleView, name: str) -> bool:
    """Whether a bare name without a meaning stands where the capture was meant, which is reported on its own."""
    return any(
        bare.name == name and place.names is not None and name not in place.names
        for place in rule.places
        for bare in place.bare_names
    )


@file_check("SD303")
def check_shadowed_names(view: AdapterView) -> Iterator[Diagnostic]:
    """A ``let`` must not take a name that already means something."""
    for rule in view.rules:
        rewrite = rule.rule.rewrite
        lets: Sequence[Let | Binding] = ()
        if isinstance(rewrite, (OpRewrite, ParametersRewrite)):
            lets = rewrite.let
        elif isinstance(rewrite, ForwardRewrite):
            lets = rewrite.program.bindings
        seen: dict[str, Span] = {}
        for let in lets:
            span = let.name_span if isinstance(let, Binding) else let.span
            yield from _shadowing(view, rule, let.name, span, seen, again_allowed=isinstance(let, Binding))
            seen.setdefault(let.name, span)


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
