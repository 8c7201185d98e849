"""Deep mode: module classes and config keys exist in the installed transformers and torch."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from spyre_dsl.language.adapter import ConfigRewrite, Rule
from spyre_dsl.language.checks.attributes import is_private
from spyre_dsl.language.checks.facts import place_of
from spyre_dsl.language.checks.registry import file_check
from spyre_dsl.language.checks.view import AdapterView
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.installed import config_keys, model_types, module_classes
from spyre_dsl.language.suggest import nearest
from spyre_dsl.language.syntax import Span


@file_check("SD213", deep=True)
def check_module_classes(view: AdapterView) -> Iterator[Diagnostic]:
    """Every module glob matches a class, and every class that a test builds exists."""
    for rule in view.adapter.rules:
        if rule.match.module is not None:
            yield from _check_class(view, rule.match.module, rule.match.module_span)
    for test in view.adapter.tests:
        if test.module is not None:
            yield from _check_class(view, test.module, place_of(view, test.module, test.span))


def _check_class(view: AdapterView, glob: str, span: Span) -> Iterator[Diagnostic]:
    classes = module_classes()
    forms = (glob,) if "." in glob else (glob, f"*.{glob}")
    known = glob in classes or any(fnmatchcase(name, form) for form in forms for name in classes)
    if known or ("." in glob and not glob.startswith(("*", "transformers.", "torch."))):
        return  # a class of another package is not ours to judge
    bare = glob.rpartition(".")[2].strip("*")
    near = nearest(bare, sorted({name.rpartition(".")[2] for name in classes})) if bare else None
    meant = _as_glob(glob, near, classes) if near else None
    label = f"did you mean `{meant}`?" if meant else "no class of the installed transformers or torch has this name"
    suggestion = f'"{meant}"' if meant and meant.startswith("*") else meant  # a star without quotes is YAML's own
    yield view.diagnose("SD213", f"unknown module class `{glob}`", span, label=label, suggestion=suggestion)


def _as_glob(glob: str, near: str, classes: frozenset[str]) -> str:
    """The class name ``near`` written as ``glob`` was: bare, with a star in front, or in full."""
    if "." not in glob:
        return f"*{near}" if glob.startswith("*") else near
    if "*" in glob:
        return f"*{near}"
    module = glob.rpartition(".")[0]
    same_module = f"{module}.{near}"
    return same_module if same_module in classes else min(name for name in classes if name.endswith(f".{near}"))


@file_check("SD214", deep=True)
def check_config_keys(view: AdapterView) -> Iterator[Diagnostic]:
    """Every config key that a rule asks for, reads or sets exists, in the model types it is for if it names them."""
    for rule in view.rules:
        model_types = _model_types(rule.rule)
        for clause in rule.rule.match.config:
            if not is_private(clause.key.split(".")) and not clause.key.startswith("config."):  # SD208
                yield from _check_key(view, clause.key, clause.key_span, model_types)
        if isinstance(rule.rule.rewrite, ConfigRewrite):
            for value in rule.rule.rewrite.values:
                yield from _check_key(view, value.name, value.span, model_types)
        for place in rule.places:
            for attribute in place.attributes:
                if attribute.root == "config" and not is_private(attribute.path):
                    yield from _check_key(view, ".".join(attribute.path), attribute.span, model_types, "config.")


def _model_types(rule: Rule) -> tuple[str, ...]:
    for clause in rule.match.config:
        if clause.key == "model_type":
            return tuple(str(value) for value in clause.values)
    return ()


def _check_key(
    view: AdapterView, key: str, span: Span, model_types: tuple[str, ...], prefix: str = ""
) -> Iterator[Diagnostic]:
    keys = config_keys()
    known = [keys.by_model_type[name] for name in model_types if name in keys.by_model_type]
    reach = frozenset[str]().union(*known) if known and "." not in key else keys.all
    wrong = next((part for part in key.split(".") if part not in reach), None)
    if wrong is None:
        return
    near = nearest(wrong, sorted(reach))
    suggestion = prefix + ".".join(near if part == wrong else part for part in key.split(".")) if near else None
    whose = f" of {', '.join(model_types)}" if known and "." not in key else ""
    nobody = "none of these configs has it" if whose else "no config of the installed transformers has it"
    label = f"did you mean `{suggestion}`?" if suggestion else nobody
    yield view.diagnose("SD214", f"unknown config key `{key}`{whose}", span, label=label, suggestion=suggestion)


@file_check("SD218", deep=True)
def check_keys_of_each_type(view: AdapterView) -> Iterator[Diagnostic]:
    """Where ``match.config`` names model types, each of them has the other keys: one that has not never matches."""
    keys = config_keys().by_model_type
    for rule in view.adapter.rules:
        known = [name for name in _model_types(rule) if name in keys]
        for clause in rule.match.config:
            lacking = [name for name in known if "." not in clause.key and clause.key not in keys[name]]
            if 0 < len(lacking) < len(known):
                message = f"the config of {', '.join(lacking)} has no key `{clause.key}`"
                label = "the rule never matches there"
                yield view.diagnose("SD218", message, clause.key_span, label=label)


@file_check("SD104", deep=True)
def check_model_types(view: AdapterView) -> Iterator[Diagnostic]:
    """A model type that the installed transformers does not know, and that is nearly one it knows, is a slip.

    One that is near none may come with the code of a checkpoint.
    """
    for rule in view.adapter.rules:
        for clause in rule.match.config:
            if clause.key.rpartition(".")[2] == "model_type":
                for value in clause.values:
                    yield from _check_model_type(view, value, clause.span)


def _check_model_type(view: AdapterView, value: object, within: Span) -> Iterator[Diagnostic]:
    known = model_types() | config_keys().by_model_type.keys()
    near = nearest(value, sorted(known)) if isinstance(value, str) and value not in known else None
    if near is not None and isinstance(value, str):
        message = f"unknown model type `{value}`"
        label = f"did you mean `{near}`?"
        yield view.diagnose("SD104", message, place_of(view, value, within), label=label, suggestion=near)
