"""Evaluate an expression of the language eagerly, with torch as the meaning of every op.

The same evaluator serves tests (``before`` and ``after`` over their inputs) and claims (a rule's rewrite over the
values that its pattern captured): only the world of tensors differs, see ``spyre_dsl.evidence.tensors``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import torch

from spyre_dsl.evidence import composites
from spyre_dsl.evidence.operations import END, OperationError
from spyre_dsl.evidence.tensors import PlainTensors, Tensors
from spyre_dsl.language.adapter import Let
from spyre_dsl.language.functions import DTYPES, FUNCTIONS
from spyre_dsl.language.syntax import (
    COMPARE_OPS,
    OPERATOR_OPS,
    Attribute,
    Binary,
    Boolean,
    Call,
    Capture,
    Compare,
    Conditional,
    Expression,
    Index,
    ListExpression,
    Logical,
    Name,
    NoneLiteral,
    Number,
    Program,
    String,
    Unary,
)  # fmt: skip
from spyre_dsl.language.vocabulary import BindingProblem, bind, find_op


class EvaluationError(Exception):
    """An expression that has no value here: an unbound name, a wrong argument, an op that torch refuses."""


@dataclass(frozen=True)
class Scope:
    """What the names of an expression mean.

    ``roots`` holds ``stack``, ``config`` and ``self``, which attribute paths start from; ``parameters`` the ids of the
    tensors that are parameters of the model; ``dtype`` is that of what the expression computes, for constants.
    """

    names: Mapping[str, Any] = field(default_factory=dict)
    captures: Mapping[str, Any] = field(default_factory=dict)
    roots: Mapping[str, Any] = field(default_factory=dict)
    tensors: Tensors = field(default_factory=PlainTensors)
    parameters: frozenset[int] = frozenset()
    dtype: torch.dtype = torch.float32

    def with_name(self, name: str, value: Any) -> Scope:
        """This scope with one more ``let`` name."""
        return replace(self, names={**self.names, name: value})


def evaluate(node: Expression, scope: Scope) -> Any:
    """The value of ``node``: a tensor of ``scope.tensors``, a number, a dtype, a truth value, None or a list of these.

    Raises ``EvaluationError`` where there is none.
    """
    handler = _HANDLERS.get(type(node))
    if handler is None:
        raise EvaluationError(f"{type(node).__name__} has no value")
    return handler(node, scope)


def evaluate_lets(lets: Sequence[Let], scope: Scope) -> Scope:
    """``scope`` with the ``let`` lines of a rewrite, each seeing those before it."""
    for let in lets:
        scope = scope.with_name(let.name, evaluate(let.value, scope))
    return scope


def run_program(program: Program, scope: Scope) -> Any:
    """What a ``forward`` program returns: one value, or a tuple where it returns several."""
    for binding in program.bindings:
        scope = scope.with_name(binding.name, evaluate(binding.value, scope))
    results = tuple(evaluate(result, scope) for result in program.results)
    return results[0] if len(results) == 1 else results


def _literal(node: Any, scope: Scope) -> Any:
    return _word(node.value)


def _word(value: Any) -> Any:
    """The dtype that a string names, in a rule file or in a config; anything else as it is."""
    return getattr(torch, value) if isinstance(value, str) and value in DTYPES else value


def _none(node: NoneLiteral, scope: Scope) -> None:
    return None


def _capture(node: Capture, scope: Scope) -> Any:
    if node.name not in scope.captures:
        raise EvaluationError(f"`${node.name}` is not bound")
    return scope.captures[node.name]


def _name(node: Name, scope: Scope) -> Any:
    if node.name in scope.names:
        return scope.names[node.name]
    if node.name in DTYPES:
        return getattr(torch, node.name)
    if node.name == "end":
        return END
    if node.name in ("inf", "nan"):
        return math.inf if node.name == "inf" else math.nan
    raise EvaluationError(f"`{node.name}` is not bound")


def _attribute(node: Attribute, scope: Scope) -> Any:
    if node.root not in scope.roots:
        raise EvaluationError(f"there is no `{node.root}` here")
    value = scope.roots[node.root]
    for part in node.path:
        value = value[part] if isinstance(value, Mapping) else getattr(value, part)
    return scope.tensors.constant(value) if isinstance(value, torch.Tensor) else _word(value)


def _list(node: ListExpression, scope: Scope) -> list[Any]:
    return [evaluate(item, scope) for item in node.items]


def _index(node: Index, scope: Scope) -> Any:
    base, index = evaluate(node.base, scope), evaluate(node.index, scope)
    try:
        return base[index]
    except (TypeError, IndexError) as problem:
        raise EvaluationError(f"cannot take item {index}: {problem}") from problem


_PYTHON: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne, "in": lambda a, b: a in b, "not in": lambda a, b: a not in b,
}  # fmt: skip


def _on_two(symbol: str, op: str | None, left: Any, right: Any, scope: Scope) -> Any:
    if op is not None and (scope.tensors.owns(left) or scope.tensors.owns(right)):
        return _call_op(op, [left, right], {}, scope)
    try:
        return _PYTHON[symbol](left, right)
    except (TypeError, ArithmeticError, KeyError) as problem:
        raise EvaluationError(f"cannot compute `{symbol}` of {left!r} and {right!r}") from problem


def _binary(node: Binary, scope: Scope) -> Any:
    left, right = evaluate(node.left, scope), evaluate(node.right, scope)
    return _on_two(node.operator, OPERATOR_OPS[node.operator], left, right, scope)


def _compare(node: Compare, scope: Scope) -> Any:
    left, right = evaluate(node.left, scope), evaluate(node.right, scope)
    if left is None or right is None:
        return (left is right) == (node.operator == "==")
    return _on_two(node.operator, COMPARE_OPS.get(node.operator), left, right, scope)


def _unary(node: Unary, scope: Scope) -> Any:
    value = evaluate(node.operand, scope)
    if node.operator == "not":
        return not value
    if node.operator == "+":
        return value
    return _call_op("neg", [value], {}, scope) if scope.tensors.owns(value) else -value


def _logical(node: Logical, scope: Scope) -> Any:
    left = evaluate(node.left, scope)
    stop = not left if node.operator == "and" else bool(left)
    return left if stop else evaluate(node.right, scope)


def _conditional(node: Conditional, scope: Scope) -> Any:
    return evaluate(node.then if evaluate(node.condition, scope) else node.otherwise, scope)


def _call(node: Call, scope: Scope) -> Any:
    positional = [evaluate(argument, scope) for argument in node.args]
    keywords = {keyword.name: evaluate(keyword.value, scope) for keyword in node.keywords}
    spec = FUNCTIONS.get(node.function)
    if spec is None:
        return _call_op(node.function, positional, keywords, scope)
    names = [parameter.name for parameter in spec.parameters]
    given = {**dict(zip(names, positional)), **keywords}
    if not spec.variadic and (len(positional) > len(names) or given.keys() != set(names)):
        raise EvaluationError(f"{spec.signature()} called with {len(positional)} arguments and {sorted(keywords)}")
    try:
        if spec.composite:
            return composites.COMPOSITES[spec.name](scope, **given)
        return _HOST_FUNCTIONS[spec.name](scope, *positional, **keywords)
    except (TypeError, AttributeError, IndexError, KeyError) as problem:
        raise EvaluationError(f"{node.function}: {problem}") from problem
    except OperationError as problem:
        raise EvaluationError(str(problem)) from problem


def _call_op(name: str, positional: Sequence[Any], keywords: Mapping[str, Any], scope: Scope) -> Any:
    op = find_op(name)
    if op is None:
        raise EvaluationError(f"unknown op `{name}`")
    given = bind(op, positional, tuple(keywords.items()))
    if isinstance(given, BindingProblem):
        raise EvaluationError(f"{op.signature()}: {given.kind} argument {given.name}".rstrip())
    try:
        return scope.tensors.call(op.name, given)
    except OperationError as problem:
        raise EvaluationError(str(problem)) from problem


def _finfo(attribute: str) -> Callable[[Scope, Any], float]:
    def bound(scope: Scope, dtype: Any) -> float:
        return float(getattr(torch.finfo(dtype), attribute))

    return bound


def _is_float(scope: Scope, x: Any) -> bool:
    return scope.tensors.dtype(x).is_floating_point if scope.tensors.owns(x) else isinstance(x, float)


def _is_parameter(scope: Scope, x: Any) -> bool:
    return id(x) in scope.parameters


def _supports(scope: Scope, op: str, dtype: Any) -> bool:
    return bool(scope.roots["stack"].supports(op, str(dtype).removeprefix("torch.")))


_HOST_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "size": lambda scope, x, dim: scope.tensors.shape(x)[dim],
    "rank": lambda scope, x: len(scope.tensors.shape(x)),
    "shape": lambda scope, x: list(scope.tensors.shape(x)),
    "numel": lambda scope, x: math.prod(scope.tensors.shape(x)),
    "dtype": lambda scope, x: scope.tensors.dtype(x),
    "is_parameter": _is_parameter,
    "is_constant": _is_parameter,
    "is_float": _is_float,
    "default": lambda scope, x, fallback: fallback if x is None else x,
    "same": lambda scope, x, y: x is y or (not scope.tensors.owns(x) and x == y),
    "round_up": lambda scope, n, multiple: -(-n // multiple) * multiple,
    "min_of": lambda scope, *values: min(values),
    "max_of": lambda scope, *values: max(values),
    "len": lambda scope, list: len(list),
    "finfo_min": _finfo("min"),
    "finfo_max": _finfo("max"),
    "stack.supports": _supports,
}

_HANDLERS: Final[Mapping[type, Callable[[Any, Scope], Any]]] = {
    Number: _literal, String: _literal, Boolean: _literal, NoneLiteral: _none, Capture: _capture, Name: _name,
    Attribute: _attribute, ListExpression: _list, Index: _index, Binary: _binary, Compare: _compare, Unary: _unary,
    Logical: _logical, Conditional: _conditional, Call: _call,
}  # fmt: skip
