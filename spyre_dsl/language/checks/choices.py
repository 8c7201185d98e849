"""Strings given to ops: torch takes only some, where it takes any but an einsum's equation."""

from __future__ import annotations

from collections.abc import Iterator

from spyre_dsl.language.checks.calls import given_arguments
from spyre_dsl.language.checks.registry import file_check
from spyre_dsl.language.checks.view import AdapterView
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.suggest import nearest
from spyre_dsl.language.syntax import String
from spyre_dsl.language.vocabulary import CHOICES, Op, Parameter, find_op


@file_check("SD104")
def check_choices(view: AdapterView) -> Iterator[Diagnostic]:
    """A string for an argument with a closed set of them is in the set."""
    for place in view.places:
        for call in place.calls if String in place.by_type else ():
            op = find_op(call.function)
            if op is None:
                continue
            for parameter, value in given_arguments(op, call):
                choices = CHOICES.get((op.name, parameter.name))
                if choices is not None and isinstance(value, String) and value.value not in choices:
                    yield _not_taken(view, op, parameter, value, choices)


def _not_taken(view: AdapterView, op: Op, parameter: Parameter, value: String, choices: tuple[str, ...]) -> Diagnostic:
    """The suggestion keeps the quotes that the string was written with."""
    near = nearest(value.value, choices)
    written = view.source.text[value.span.start : value.span.end]
    label = f"did you mean `{near}`?" if near else f"known are {', '.join(f'`{choice}`' for choice in choices)}"
    suggestion = written.replace(value.value, near) if near and value.value in written else None
    message = f"argument `{parameter.name}` of `{op.name}` cannot be `{value.value[:60]}`"
    return view.diagnose("SD104", message, value.span, label=label, suggestion=suggestion)
