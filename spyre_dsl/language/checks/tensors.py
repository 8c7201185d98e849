"""Guards about the values of tensors, which nobody knows while rules are matched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spyre_dsl.language.checks.registry import file_check
from spyre_dsl.language.checks.view import AdapterView, Place
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.kinds import kind_of
from spyre_dsl.language.syntax import Binary, Capture, Compare, Expression, ListExpression, Number
from spyre_dsl.language.vocabulary import Parameter, bind, find_op


@file_check("SD206")
def check_tensor_values(view: AdapterView) -> Iterator[Diagnostic]:
    """A capture that stands for a tensor is compared with nothing but ``none``."""
    for rule in view.rules:
        if rule.pattern is None or rule.pattern.broken:
            continue
        compared = [node for guard in rule.guards for node in _compared(guard)]
        tensors = _tensors(rule.pattern) if compared else frozenset()
        for node in compared:
            sides = ((node.left, node.right), (node.right, node.left))
            for side, other in sides:
                if isinstance(side, Capture) and side.name in tensors:
                    message = f"`${side.name}` is a tensor, and its elements are not known while rules are matched"
                    yield view.diagnose("SD206", message, side.span, label=_instead(side, other))
                    break


def _compared(guard: Place) -> Iterator[Compare]:
    """Comparisons of a capture with something else than ``none``; with itself is a mistake of its own (SD305)."""
    for node in guard.by_type.get(Compare, ()):
        sides = (node.left, node.right)
        names = [side.name for side in sides if isinstance(side, Capture)]
        if names and len(set(names)) == len(names) and "none" not in [kind_of(side, guard.names) for side in sides]:
            yield node


def _instead(capture: Capture, other: Expression) -> str:
    if isinstance(other, Capture):
        return f"write `same(${capture.name}, ${other.name})`"
    return f"ask for `size(${capture.name}, dim)`, `rank(${capture.name})` or `dtype(${capture.name})`"


def _tensors(pattern: Place) -> frozenset[str]:
    """The captures that can stand for nothing but a tensor."""
    found: list[Expression] = []
    for call in pattern.calls:
        op = find_op(call.function)
        bound = bind(op, call.args, [(keyword.name, keyword.value) for keyword in call.keywords]) if op else None
        if op is not None and isinstance(bound, dict):
            found += _tensors_of_call(op.parameters, bound)
    for node in pattern.by_type.get(Binary, ()):
        found += _only_tensor((node.left, node.right))
    return frozenset(part.name for part in found if isinstance(part, Capture))


def _tensors_of_call(parameters: Sequence[Parameter], bound: dict[str, Expression]) -> list[Expression]:
    required = [(parameter.kind, bound[parameter.name]) for parameter in parameters if parameter.required]
    found = [value for kind, value in required if kind == "tensor"]
    for kind, value in required:
        found += value.items if kind == "tensors" and isinstance(value, ListExpression) else ()
    return found or _only_tensor([value for kind, value in required if kind == "value"])


def _only_tensor(operands: Sequence[Expression]) -> list[Expression]:
    """An op has a tensor among its operands: where all others are numbers, the one that is none."""
    others: list[Expression] = [operand for operand in operands if not isinstance(operand, Number)]
    return others if len(others) == 1 else []
