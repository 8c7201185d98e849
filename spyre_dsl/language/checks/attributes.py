"""Attributes: what rules ask of the stack, of a module and of the config, and set in them, can be had."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spyre_dsl.language.adapter import AttributesRewrite, ParametersRewrite
from spyre_dsl.language.checks.registry import file_check
from spyre_dsl.language.checks.view import TEST, AdapterView
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.suggest import nearest
from spyre_dsl.language.syntax import Attribute, Span

STACK_ATTRIBUTES = ("name", "stick")
"""What rules may ask of the stack besides ``stack.supports``."""


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
