"""Bare names: each is a dtype, ``end``, or defined where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from spyre_dsl.language.adapter import OpRewrite, ParametersRewrite, Rule
from spyre_dsl.language.checks.calls import given_arguments
from spyre_dsl.language.checks.registry import file_check
from spyre_dsl.language.checks.view import PATTERN, REWRITE, TEST, AdapterView, Place
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.functions import DTYPES, WORDS
from spyre_dsl.language.reductions import ROOTS
from spyre_dsl.language.suggest import nearest
from spyre_dsl.language.syntax import Expression, Name
from spyre_dsl.language.vocabulary import find_op


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
    inside = (d for d in view.damage if rule.span.holds(d))
    return any(
        text[d.start : d.end] == "let" or re.search(r"\blet[\"']?[ ]*:\s*$", text[rule.span.start : d.start])
        for d in inside
    )


def _unknown_name(view: AdapterView, place: Place, name: Name) -> Diagnostic:
    message = f"unknown name `{name.name}`"
    assert place.names is not None
    captures = _captures_in_reach(view, place)
    if name.name in ROOTS and place.role != TEST:
        suggestion = "stack.name" if name.name == "stack" else None
        label = f"name what is meant of it, such as `{_ROOT_EXAMPLES[name.name]}`"
    elif (word := _word_meant(place, name)) is not None:
        suggestion, label = word, f"did you mean `{word}`?"
    elif place.role == PATTERN or name.name in captures:
        suggestion = f"${name.name}"
        label = f"a capture is written `{suggestion}`"
    elif later := _defined_later(place, name):
        suggestion, label = None, f"`{later}` is defined only after this"
    elif (dtype := _dtype_of_others(name)) is not None:
        suggestion, label = dtype, f"did you mean `{dtype}`?"
    else:
        alone = ("unchanged",) if place.what == "`after`" and name is place.expression else ()
        near = nearest(name.name, [*place.names, *captures, *WORDS, *alone])
        suggestion = f"${near}" if near in captures and near not in place.names else near
        label = f"did you mean `{suggestion}`?" if suggestion else _what_is_known(place)
    return view.diagnose("SD207", message, name.span, label=label, suggestion=suggestion)


_ROOT_EXAMPLES = {"stack": "stack.name", "config": "config.hidden_size", "self": "self.weight"}


def _word_meant(place: Place, name: Name) -> str | None:
    """The word that a name most likely stands for, where it is an argument that wants one: a dtype or a literal."""
    for call in place.calls:
        op = find_op(call.function)
        for parameter, value in given_arguments(op, call) if op is not None else ():
            if value is name:
                if parameter.kind == "dtype" and (dtype := _dtype_of_others(name)) is not None:
                    return dtype
                words = _WORDS_OF_KIND.get(parameter.kind, ())
                return nearest(name.name, words if parameter.required else (*words, "none"))
    return None


def _dtype_of_others(name: Name) -> str | None:
    """The dtype that other libraries, and torch's shorthands, call so: ``fp16``, ``half``."""
    from spyre_dsl.language.text_hints import DTYPES_OF_OTHERS

    return DTYPES_OF_OTHERS.get(name.name.lower())


_WORDS_OF_KIND = {"bool": ("true", "false"), "dtype": DTYPES}


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


@file_check("SD209")
def check_ends(view: AdapterView) -> Iterator[Diagnostic]:
    """``end`` is where a slice ends, and has no value anywhere else."""
    for place in view.places:
        if place.names is None or place.role == PATTERN and isinstance(place.expression, Name):
            continue
        found = [name for name in place.bare_names if name.name == "end" and "end" not in place.names]
        ends = {id(value) for value in _arguments_called("end", place)} if found else set()
        for name in found:
            if id(name) not in ends:
                label = "write `size(x, dim)` for the size of a tensor"
                yield view.diagnose("SD209", "`end` stands only for the end of a `slice`", name.span, label=label)


def _arguments_called(name: str, place: Place) -> Iterator[Expression]:
    for call in place.calls:
        op = find_op(call.function)
        for parameter, value in given_arguments(op, call) if op is not None else ():
            if parameter.name == name:
                yield value
