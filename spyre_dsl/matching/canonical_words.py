"""Ops that the canonical graph says in other words (see ``graphs.canonicalizers``): a pattern may still name them.

``chunk`` becomes ``split``, ``flatten`` becomes ``reshape``, ``contiguous`` becomes its argument, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from spyre_dsl.graphs.node import Node, Value
from spyre_dsl.language.syntax import Call, Expression, ListExpression, Number, Span, Unary
from spyre_dsl.language.vocabulary import OPS, Parameter
from spyre_dsl.matching.arithmetic import Unknown, arithmetic
from spyre_dsl.matching.patterns import LengthPattern, OpPattern, Pattern, UnflattenedPattern
from spyre_dsl.matching.single_patterns import DerivedPattern, LiteralPattern, SectionsPattern

Given = Mapping[str, Expression]
Compile = Callable[[Expression, Parameter], Pattern]
Words = Callable[[Given, Span, Compile], "Pattern | None"]

ANYTHING = Parameter("", None, "any")
_WORDS: dict[str, Words] = {}


def in_canonical_words(name: str, given: Given, span: Span, compile: Compile) -> Pattern | None:
    """A call of ``name`` as a pattern in the words of the canonical graph; None if it is said as it is."""
    words = _WORDS.get(name)
    return words(given, span, compile) if words is not None else None


def _says(*names: str) -> Callable[[Words], Words]:
    def register(words: Words) -> Words:
        _WORDS.update(dict.fromkeys(names, words))
        return words

    return register


@_says("contiguous", "clone", "detach", "alias", "lift_fresh_copy", "dropout")
def _its_argument(given: Given, span: Span, compile: Compile) -> Pattern:
    return compile(given["input"], ANYTHING)


@_says("chunk")
def _chunk(given: Given, span: Span, compile: Compile) -> Pattern | None:
    chunks = given["chunks"]
    if not isinstance(chunks, Number):
        return None
    dim = given.get("dim", Number(0, span))
    parts = (
        compile(given["input"], ANYTHING),
        SectionsPattern(chunks.span, int(chunks.value), True),
        compile(dim, _parameter("split", "dim")),
    )
    return OpPattern(span, "split", None, parts)


@_says("rsub")
def _rsub(given: Given, span: Span, compile: Compile) -> Pattern:
    return compile(_call("sub", span, given["other"], given["input"], *_optional(given, "alpha")), ANYTHING)


@_says("t", "numpy_T")
def _transposed(given: Given, span: Span, compile: Compile) -> Pattern:
    return compile(_call("transpose", span, given["input"], Number(-2, span), Number(-1, span)), ANYTHING)


@_says("permute")
def _permute(given: Given, span: Span, compile: Compile) -> Pattern | None:
    """A permutation that only swaps two dims is a transpose."""
    order = _whole_numbers(given["dims"])
    if order is None:
        return None
    moved = [place for place, dim in enumerate(order) if place != dim % len(order)]
    if len(moved) != 2:
        return None
    return compile(_call("transpose", span, given["input"], *(Number(dim, span) for dim in moved)), ANYTHING)


@_says("narrow")
def _narrow(given: Given, span: Span, compile: Compile) -> Pattern:
    length = given["length"]
    parts = (
        compile(given["input"], ANYTHING),
        compile(given["dim"], _parameter("slice", "dim")),
        compile(given["start"], ANYTHING),
        LengthPattern(length.span, compile(length, ANYTHING)),
        LiteralPattern(span, 1),
    )
    return OpPattern(span, "slice", None, parts)


@_says("type_as")
def _type_as(given: Given, span: Span, compile: Compile) -> Pattern:
    return compile(_call("to", span, given["input"], _call("dtype", span, given["other"])), ANYTHING)


@_says("expand_as")
def _expand_as(given: Given, span: Span, compile: Compile) -> Pattern:
    return compile(_call("expand", span, given["input"], _call("shape", span, given["other"])), ANYTHING)


@_says("flatten")
def _flatten(given: Given, span: Span, compile: Compile) -> Pattern | None:
    start, end = _whole(given.get("start_dim", Number(0, span))), _whole(given.get("end_dim", Number(-1, span)))
    if start is None or end is None:
        return None

    def sizes(holder: Node) -> Value | None:
        x = holder.arguments[0]
        if not isinstance(x, Node) or not x.rank:
            return None
        first, last = start % x.rank, end % x.rank
        return (*x.shape[:first], _product(x.shape[first : last + 1]), *x.shape[last + 1 :])

    parts = (compile(given["input"], ANYTHING), DerivedPattern(span, sizes, "the sizes with some dims made one"))
    return OpPattern(span, "reshape", None, parts)


@_says("unflatten")
def _unflatten(given: Given, span: Span, compile: Compile) -> Pattern | None:
    """The sizes around the split dim stay; those it is split into match the list."""
    dim, sizes = _whole(given["dim"]), given["sizes"]
    if dim is None or not isinstance(sizes, ListExpression):
        return None
    items = tuple(compile(item, _parameter("reshape", "shape")) for item in sizes.items)
    parts = (compile(given["input"], ANYTHING), UnflattenedPattern(span, dim, items))
    return OpPattern(span, "reshape", None, parts)


def _product(sizes: tuple[Value, ...]) -> Value | None:
    product: Value = 1
    try:
        for size in sizes:
            product = arithmetic("*", product, size)
    except Unknown:
        return None
    return product


def _call(function: str, span: Span, *arguments: Expression) -> Call:
    return Call(function, arguments, (), span, span)


def _optional(given: Given, name: str) -> tuple[Expression, ...]:
    return (given[name],) if name in given else ()


def _whole_numbers(expression: Expression) -> list[int] | None:
    if not isinstance(expression, ListExpression):
        return None
    found = [_whole(item) for item in expression.items]
    return None if None in found else [number for number in found if number is not None]


def _whole(expression: Expression) -> int | None:
    if isinstance(expression, Number):
        return int(expression.value)
    if isinstance(expression, Unary) and expression.operator == "-" and isinstance(expression.operand, Number):
        return -int(expression.operand.value)
    return None


def _parameter(op: str, name: str) -> Parameter:
    found = OPS[op].parameter(name)
    assert found is not None, (op, name)
    return found
