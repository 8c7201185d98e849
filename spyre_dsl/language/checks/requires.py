"""What an adapter requires can be had: version ranges are ranges, stacks exist."""

from __future__ import annotations

import re
from collections.abc import Iterator

from spyre_dsl.language.checks.facts import place_of
from spyre_dsl.language.checks.registry import file_check
from spyre_dsl.language.checks.view import AdapterView
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.stack_tables import STACKS
from spyre_dsl.language.suggest import nearest
from spyre_dsl.language.syntax import Attribute, Call, Compare, ListExpression, Span, String
from spyre_dsl.language.vocabulary import OPS, find_op

_PLAIN_RANGE = r"\s*(?:(?:>=|<=|>|<|==|!=)\s*\d+(?:\.\d+)*\s*(?:,(?=\s*[<>=!])|$))+"
"""The everyday ranges, which need no import to be recognised."""


@file_check("SD212")
def check_version_ranges(view: AdapterView) -> Iterator[Diagnostic]:
    """Ranges of versions are written as PEP 440 has them."""
    requires = view.adapter.requires
    for package, text in requires.packages.items() if requires else ():
        if not _is_range(text):
            span = place_of(view, text, requires.span) if requires else Span(0, 0)
            message = f"`{text}` is not a range of {package} versions"
            yield view.diagnose("SD212", message, span, label='such as ">=5.24,<6"', suggestion=_mended(text))


def _is_range(text: str) -> bool:
    if re.fullmatch(_PLAIN_RANGE, text):
        return True
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return len(SpecifierSet(text)) > 0
    except InvalidSpecifier:
        return False


def _mended(text: str) -> str | None:
    """The range that a slip most likely means: a bare version, ``=`` for ``==``, ``=>`` for ``>=``."""
    text = text.strip()
    for wrong, right in (("=>", ">="), ("=<", "<=")):
        if wrong in text and _is_range(text.replace(wrong, right)):
            return text.replace(wrong, right)
    if re.fullmatch(r"=?\s*\d+(?:\.\d+)*", text):
        return "==" + text.lstrip("= ")
    return None


@file_check("SD211")
def check_stack_names(view: AdapterView) -> Iterator[Diagnostic]:
    """The stacks under ``requires``, in tests and in guards can be had."""
    requires = view.adapter.requires
    for name in requires.stacks if requires else ():
        if name not in STACKS and requires is not None:
            yield from _unknown_stack(view, name, requires.span)
    for test in view.adapter.tests:
        if test.stack is not None and test.stack not in STACKS:
            yield from _unknown_stack(view, test.stack, test.span)


@file_check("SD211")
def check_compared_stack_names(view: AdapterView) -> Iterator[Diagnostic]:
    """What ``stack.name`` is compared with is no misspelt stack. A profile of one's own may have any name."""
    for place in view.places:
        if any(attribute.path == ("name",) and attribute.root == "stack" for attribute in place.attributes):
            for node in place.by_type.get(Compare, ()):
                yield from _check_compared(view, node)


def _check_compared(view: AdapterView, node: Compare) -> Iterator[Diagnostic]:
    sides = (node.left, node.right)
    if not any(isinstance(side, Attribute) and (side.root, side.path) == ("stack", ("name",)) for side in sides):
        return
    for side in sides:
        for word in side.items if isinstance(side, ListExpression) else (side,):
            near = nearest(word.value, STACKS) if isinstance(word, String) and word.value not in STACKS else None
            if near is not None and isinstance(word, String):
                label = f"did you mean `{near}`?"
                message = f"unknown stack `{word.value}`"
                yield view.diagnose("SD211", message, word.span, label=label, suggestion=f'"{near}"')


def _unknown_stack(view: AdapterView, name: str, within: Span) -> Iterator[Diagnostic]:
    from spyre_dsl.language.stacks import unknown_stack  # days and files are rare

    found = unknown_stack(name)
    if found is not None:
        label, near = found
        span = place_of(view, name, within)
        yield view.diagnose("SD211", f"unknown stack `{name}`", span, label=label, suggestion=near)


@file_check("SD203")
def check_supported_ops(view: AdapterView) -> Iterator[Diagnostic]:
    """The op in ``stack.supports("aten.pow", float16)`` exists."""
    for place in view.places:
        for call in place.calls:
            name = _asked_op(call)
            if name is not None and find_op(name.value) is None:
                known = [f"aten.{op}" for op in OPS] if name.value.startswith("aten") else list(OPS)
                near = nearest(name.value, known)
                label = f"did you mean `{near}`?" if near else "no op of this name is known"
                suggestion = f'"{near}"' if near else None
                yield view.diagnose(
                    "SD203", f"unknown op `{name.value}`", name.span, label=label, suggestion=suggestion
                )


def _asked_op(call: Call) -> String | None:
    if call.function != "stack.supports":
        return None
    values = [*call.args, *(keyword.value for keyword in call.keywords if keyword.name == "op")]
    return values[0] if values and isinstance(values[0], String) else None
