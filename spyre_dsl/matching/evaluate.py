"""Evaluation of guards and host values. It is total: a value or an EvaluationProblem, never an exception."""

from __future__ import annotations

from typing import Any

import torch

from spyre_dsl.graphs.node import Node
from spyre_dsl.graphs.sizes import dtype_name
from spyre_dsl.language.functions import DTYPES, FUNCTIONS
from spyre_dsl.language.syntax import (
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
    Span,
    String,
    Unary,
)
from spyre_dsl.language.vocabulary import find_op
from spyre_dsl.matching.arithmetic import Unknown, arithmetic, compare, describe, negative
from spyre_dsl.matching.environment import MISSING, Environment, config_value
from spyre_dsl.matching.host_functions import HOST_FUNCTIONS
from spyre_dsl.matching.no_match import EvaluationProblem, NoMatch

MAX_DEPTH = 200
"""Expressions nested deeper than this are refused; people do not write them."""


def evaluate(expression: Expression, environment: Environment) -> Any:
    """The Python value of a host expression, or an EvaluationProblem with the span that has none.

    Values are numbers, strings (dtypes too), truth values, None, tuples, ``SymbolicSize``, graph nodes and, below
    ``self``, the module's own tensors. ``and``, ``or`` and ``if`` evaluate only what they need.
    """
    try:
        return _value(expression, environment, 0)
    except _Problem as problem:
        return EvaluationProblem(str(problem), problem.span)


def first_failure(guard: Expression, environment: Environment) -> NoMatch | None:
    """None if ``guard`` holds, otherwise the smallest part of it that does not.

    Of ``a and b`` that is the first conjunct which is false; of a comparison, the actual value is its left side's.
    """
    if isinstance(guard, Logical) and guard.operator == "and":
        return first_failure(guard.left, environment) or first_failure(guard.right, environment)
    value = evaluate(guard, environment)
    if isinstance(value, EvaluationProblem):
        return NoMatch("{}", (value.text,), value.span, unevaluated=True)
    if not isinstance(value, bool):
        return NoMatch(
            "a guard is true or false; this is {}", (describe(value),), guard.span, value, unevaluated=True
        )
    if value:
        return None
    if isinstance(guard, Compare):
        left = evaluate(guard.left, environment)
        right = evaluate(guard.right, environment)
        template = (
            "the guard needs {} {} {}"
            if not isinstance(guard.right, Number)
            else "the guard needs a value {1} {2}; it is {0}"
        )
        return NoMatch(template, (describe(left), guard.operator, describe(right)), guard.span, left)
    if isinstance(guard, Unary):
        return NoMatch("the guard needs this to be false; it is true", (), guard.span, True)
    return NoMatch("the guard needs this to be true; it is false", (), guard.span, False)


class _Problem(Exception):
    def __init__(self, text: str, span: Span) -> None:
        super().__init__(text)
        self.span = span


def _value(node: Expression, environment: Environment, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise _Problem("the expression is nested too deeply", node.span)
    try:
        return _dispatch(node, environment, depth + 1)
    except Unknown as reason:
        raise _Problem(str(reason), node.span) from None


def _dispatch(node: Expression, environment: Environment, depth: int) -> Any:
    match node:
        case Number() | String() | Boolean():
            return node.value
        case NoneLiteral():
            return None
        case Capture():
            return _capture(node, environment)
        case Name():
            return _name(node, environment)
        case Attribute():
            return _attribute(node, environment)
        case Call():
            return _call(node, environment, depth)
        case ListExpression():
            return tuple(_value(item, environment, depth) for item in node.items)
        case Index():
            return _item(_value(node.base, environment, depth), _value(node.index, environment, depth))
        case Unary():
            return _unary(node, environment, depth)
        case Binary():
            left, right = _operand(node.left, environment, depth), _operand(node.right, environment, depth)
            return arithmetic(node.operator, left, right, environment.sizes)
        case Compare():
            left, right = _operand(node.left, environment, depth), _operand(node.right, environment, depth)
            return compare(node.operator, left, right)
        case Logical():
            return _logical(node, environment, depth)
        case Conditional():
            chosen = node.then if _truth(node.condition, environment, depth) else node.otherwise
            return _value(chosen, environment, depth)
    raise Unknown("this has no value")


def _operand(node: Expression, environment: Environment, depth: int) -> Any:
    """The value of an operand; of a tensor that always holds one number (``torch.tensor(-1e9)``), that number."""
    value = _value(node, environment, depth)
    return value.literal if isinstance(value, Node) and value.literal is not None else value


def _capture(node: Capture, environment: Environment) -> Any:
    if node.name not in environment.bindings:
        raise Unknown(f"${node.name} is not bound")
    return environment.bindings[node.name]


def _name(node: Name, environment: Environment) -> Any:
    if node.name in environment.names:
        return environment.names[node.name]
    if node.name in DTYPES:
        return node.name
    raise Unknown(f"nothing is called `{node.name}` here")


def _attribute(node: Attribute, environment: Environment) -> Any:
    if node.root == "config":
        return _below_config(node.path, environment)
    root = environment.module if node.root == "self" else environment.stack if node.root == "stack" else None
    if root is None:
        raise Unknown(f"`{node.root}` is not known here")
    value: Any = root
    for place, part in enumerate(node.path):
        value = _member(value, part, ".".join((node.root, *node.path[:place])))
    return _plain(value, ".".join((node.root, *node.path)))


def _below_config(path: tuple[str, ...], environment: Environment) -> Any:
    if environment.config is None:
        raise Unknown("no config is known here")
    key = ".".join(path)
    value = config_value(environment.config, key)
    if value is MISSING:
        raise Unknown(f"the config has no key `{key}`")
    return _plain(value, f"config.{key}")


def _member(value: Any, name: str, shown: str) -> Any:
    if name.startswith("_"):
        raise Unknown(f"`{shown}.{name}` is private")
    if isinstance(value, dict):
        found = value.get(name, MISSING)
    else:
        try:
            found = getattr(value, name, MISSING)
        except Exception as error:  # a property of somebody else's class may raise anything
            raise Unknown(f"`{shown}.{name}` cannot be read: {error}") from None
    if found is MISSING:
        raise Unknown(f"`{shown}` has no `{name}`")
    return found


def _plain(value: Any, shown: str) -> Any:
    """What rules may hold: no methods, no live containers."""
    if isinstance(value, (list, tuple)):
        return tuple(_plain(item, shown) for item in value)
    if isinstance(value, torch.dtype):
        return dtype_name(value)
    if value is None or isinstance(value, (bool, int, float, str, torch.Tensor, torch.nn.Module, dict)):
        return value
    if callable(value):
        raise Unknown(f"`{shown}` is a method; rules do not call methods")
    return value


def _call(node: Call, environment: Environment, depth: int) -> Any:
    function = HOST_FUNCTIONS.get(node.function)
    if function is None:
        raise Unknown(_why_not_host(node.function))
    spec = FUNCTIONS[node.function]
    names = [parameter.name for parameter in spec.parameters]
    values = [_value(argument, environment, depth) for argument in node.args]
    if len(values) > len(names) and not spec.variadic:
        raise Unknown(f"{spec.signature()} takes {len(names)} arguments, not {len(values)}")
    for name in names[len(values) :]:
        given = next((keyword for keyword in node.keywords if keyword.name == name), None)
        if given is not None:
            values.append(_value(given.value, environment, depth))
        elif (node.function, name) != ("stack.supports", "dtype"):
            raise Unknown(f"{spec.signature()} needs `{name}`")
    unknown = [keyword.name for keyword in node.keywords if keyword.name not in names]
    if unknown:
        raise Unknown(f"{spec.signature()} has no argument `{unknown[0]}`")
    return function(environment, *values)


def _why_not_host(name: str) -> str:
    if find_op(name) is not None or name in FUNCTIONS:
        return f"`{name}` makes a tensor; it has no value while rules are matched"
    return f"there is no function `{name}`"


def _item(base: Any, index: Any) -> Any:
    if isinstance(base, Node):
        raise Unknown("the items of a tensor have no value while rules are matched")
    if not isinstance(base, tuple) or type(index) is not int:
        raise Unknown(f"{describe(base)} has no item {describe(index)}")
    if not -len(base) <= index < len(base):
        raise Unknown(f"{describe(base)} has {len(base)} items, so no item {index}")
    return base[index]


def _unary(node: Unary, environment: Environment, depth: int) -> Any:
    if node.operator == "not":
        return not _truth(node.operand, environment, depth)
    value = _value(node.operand, environment, depth)
    return negative(value, environment.sizes) if node.operator == "-" else arithmetic("+", 0, value, environment.sizes)


def _logical(node: Logical, environment: Environment, depth: int) -> bool:
    left = _truth(node.left, environment, depth)
    if left is (node.operator == "or"):
        return left
    return _truth(node.right, environment, depth)


def _truth(node: Expression, environment: Environment, depth: int) -> bool:
    value = _value(node, environment, depth)
    if not isinstance(value, bool):
        raise _Problem(f"this must be true or false; it is {describe(value)}", node.span)
    return value
