"""Plain values as linear forms over what is not known: the arithmetic that reasoning on guards rests on.

``size($q, -1) + 1`` is one unknown and a constant; ``stack.stick`` is 64 on every stack; the size of something that
was padded is what it was padded to; ``round_up(n, 64) % 64`` is 0 whatever n is.
"""

from __future__ import annotations

from math import ceil, floor
from typing import Union

from spyre_dsl.language.records import record
from spyre_dsl.language.terms import App, Composite, Host, Lit, Seq, Sym, Term, Var

Number = Union[int, float]

STICK = 64
"""Elements of two bytes in a stick of 128 bytes (fact L1): the same on every stack."""

INTEGRAL = frozenset({"size", "rank", "numel", "users", "len", "//", "%", "round_up"})
"""Functions whose result is an integer."""

NOT_NEGATIVE = frozenset({"size", "rank", "numel", "users", "len"})
"""Functions whose result is never below zero."""

_MAX_MAGNITUDE = 1e40
_MAX_EXPONENT = 64

_GREATEST = {"float16": 65504.0, "bfloat16": (2 - 2.0**-7) * 2.0**127, "float32": (2 - 2.0**-23) * 2.0**127}
"""The greatest number of a dtype; the least is as far from zero."""


@record
class Linear:
    """``sum(coefficient * unknown) + constant``."""

    parts: tuple[tuple[Term, Number], ...]
    constant: Number = 0

    @property
    def known(self) -> bool:
        return not self.parts


Value = Union[Linear, Sym, Lit, None]
"""A number, a word (a dtype), another literal (a string, none, a truth value), or None: nothing is known."""


def constant(number: Number) -> Linear:
    return Linear((), number)


def unknown(term: Term) -> Linear:
    return Linear(((term, 1),))


def add(a: Linear, b: Linear, factor: Number = 1) -> Linear:
    """``a + factor * b``, unknowns that cancel out removed."""
    parts: dict[Term, Number] = dict(a.parts)
    for term, coefficient in b.parts:
        parts[term] = parts.get(term, 0) + factor * coefficient
    return Linear(tuple((term, c) for term, c in parts.items() if c), a.constant + factor * b.constant)


def scale(a: Linear, factor: Number) -> Linear:
    return add(constant(0), a, factor)


def value_of(term: Term) -> Value:
    """What is known of a term as a plain value."""
    match term:
        case Lit(value=bool() | str() | None) | Sym():
            return term
        case Lit(value=int() | float() as number):
            return constant(number) if abs(number) < _MAX_MAGNITUDE else None
        case Host(function="stack.stick"):
            return constant(STICK)
        case Host(function="finfo_min" | "finfo_max" as end, args=(Sym(name=dtype),)) if dtype in _GREATEST:
            return constant(_GREATEST[dtype] if end == "finfo_max" else -_GREATEST[dtype])
        case Host():
            return _host(term)
        case App() | Composite() | Seq():
            return None
        case _:
            return unknown(term)


def _host(term: Host) -> Value:
    if term.function in ("+", "-", "*", "/", "//", "%", "**") and len(term.args) == 2:
        return _arithmetic(term)
    simplified = simplify(term)
    if simplified != term:
        return value_of(simplified)
    if term.function == "negate":
        inner = value_of(term.args[0])
        return scale(inner, -1) if isinstance(inner, Linear) else None
    return unknown(term)


def _arithmetic(term: Host) -> Value:
    left, right = value_of(term.args[0]), value_of(term.args[1])
    if not isinstance(left, Linear) or not isinstance(right, Linear):
        return unknown(term)
    match term.function:
        case "+":
            return add(left, right)
        case "-":
            return add(left, right, -1)
        case "*" if right.known:
            return scale(left, right.constant)
        case "*" if left.known:
            return scale(right, left.constant)
        case "/" if right.known and right.constant and not left.known:
            return scale(left, 1 / right.constant)
        case "%" if right.known and right.constant:
            return modulo(left, right.constant)
        case "/" | "//" | "**" if left.known and right.known:
            folded = _fold(term.function, left.constant, right.constant)
            return unknown(term) if folded is None else constant(folded)
        case _:
            return unknown(term)


def _fold(operator: str, a: Number, b: Number) -> Number | None:
    if operator == "**":
        if abs(b) > _MAX_EXPONENT or abs(a) > 1e6 or (a == 0 and b < 0) or (a < 0 and b != int(b)):
            return None
        result: Number = a**b
    elif b == 0:
        return None
    else:
        result = a / b if operator == "/" else a // b
    return result if abs(result) < _MAX_MAGNITUDE else None


def modulo(a: Linear, divisor: Number) -> Linear:
    """``a % divisor``: unknowns that are multiples of the divisor count for nothing."""
    kept = tuple((term, c) for term, c in a.parts if not _multiple(term, c, divisor))
    if not kept:
        return constant(a.constant % divisor)
    rest = Linear(kept, a.constant % divisor)
    if len(kept) == 1 and kept[0][1] == 1 and not rest.constant:
        return unknown(Host("%", (kept[0][0], Lit(divisor))))
    return unknown(Host("%", (_as_term(rest), Lit(divisor))))


def _multiple(term: Term, coefficient: Number, divisor: Number) -> bool:
    if isinstance(term, Host) and term.function == "round_up":
        multiple = value_of(term.args[1])
        if isinstance(multiple, Linear) and multiple.known and (coefficient * multiple.constant) % divisor == 0:
            return True
    return is_integral(term) and coefficient % divisor == 0


def in_order(a: Linear) -> tuple[tuple[Term, Number], ...]:
    """The parts of a linear form, in the same order for equal forms."""
    return a.parts if len(a.parts) < 2 else tuple(sorted(a.parts, key=lambda part: repr(part[0])))


def _as_term(a: Linear) -> Term:
    """One term for a linear form, the same for equal forms."""
    flat: list[Term] = [Lit(a.constant)]
    for term, coefficient in in_order(a):
        flat += [Lit(coefficient), term]
    return Host("linear", tuple(flat))


def is_integral(term: Term) -> bool:
    """Whether an unknown is an integer for sure."""
    return isinstance(term, Host) and term.function in INTEGRAL


def bounds(term: Term) -> tuple[Number, Number]:
    """The least and the greatest value that an unknown can have."""
    infinity = float("inf")
    if isinstance(term, Host):
        if term.function in NOT_NEGATIVE:
            return 0, infinity
        if term.function == "finfo_min":
            return -infinity, -1
        if term.function == "finfo_max":
            return 1, infinity
        if term.function == "%":
            divisor = value_of(term.args[1])
            if isinstance(divisor, Linear) and divisor.known and divisor.constant > 0:
                whole = divisor.constant == int(divisor.constant)
                return 0, divisor.constant - 1 if whole and is_integral(term.args[0]) else divisor.constant
        if term.function == "//":
            return _quotient_bounds(term)
    return -infinity, infinity


def _quotient_bounds(term: Host) -> tuple[Number, Number]:
    infinity = float("inf")
    low, high = bounds(term.args[0])
    divisor = value_of(term.args[1])
    if not isinstance(divisor, Linear) or not divisor.known or divisor.constant <= 0:
        return -infinity, infinity
    return (
        low if low == -infinity else floor(low / divisor.constant),
        high if high == infinity else ceil(high / divisor.constant),
    )


def simplify(term: Host) -> Term:
    """What a function of something whose making is known gives: the size of a padded tensor, the dtype of a sum."""
    first = term.args[0] if term.args else None
    match term.function, first:
        case "default", Lit(value=None) if len(term.args) == 2:
            return term.args[1]
        case "default", Lit():
            return first
        case "len", Seq():
            return Lit(len(first.items))
        case "size", Composite() | App():
            return _size(first, term)
        case "dtype", Composite() | App():
            return _dtype(first, term)
        case "rank", Composite() | App():
            return _rank(first, term)
        case "is_parameter", Composite() | App():
            return Lit(False)
        case "is_contiguous", App(op="contiguous"):
            return Lit(True)
        case (("is_constant" | "is_float" | "numel" | "shape"), App(op="contiguous", args=(inner,))):
            return simplify(Host(term.function, (inner,)))
        case _:
            return term


def reduced(term: Term) -> Term:
    """A plain value with everything in it simplified, so that equal values have equal terms more often."""
    if not isinstance(term, Host):
        return term
    inner = Host(term.function, tuple(reduced(part) for part in term.args))
    simpler = simplify(inner)
    return simpler if simpler == inner else reduced(simpler)


_SAME_SHAPE = frozenset(
    "neg abs sign square sqrt rsqrt reciprocal exp exp2 expm1 log log1p sin cos tanh sigmoid erf relu gelu silu "
    "softplus softmax log_softmax layer_norm rms_norm masked_fill to type_as tril triu cumsum floor ceil round clamp "
    "dropout contiguous clone detach logical_not bitwise_not isnan isinf full_like zeros_like ones_like".split()
)
"""Ops whose result has the shape of their first argument."""

_SAME_RANK = frozenset("transpose permute movedim slice narrow pad flip roll".split())
"""Further ops whose result has as many dimensions as their first argument."""

_SAME_DTYPE = frozenset(
    "neg abs sign square sqrt rsqrt reciprocal exp exp2 expm1 log log1p sin cos tanh sigmoid erf relu gelu silu "
    "softplus layer_norm rms_norm masked_fill tril triu floor ceil round clamp dropout contiguous clone detach reshape "
    "transpose permute expand unsqueeze squeeze slice select narrow pad repeat flip matmul linear bmm mm sort "
    "scaled_dot_product_attention index index_select gather scatter flatten unflatten t add sub mul div".split()
)
"""Ops on floating-point tensors whose result has the dtype of their first argument, others being of no higher one."""

_TRUTH_VALUES = frozenset(
    "eq ne lt le gt ge isnan isinf isfinite isin logical_not logical_and logical_or logical_xor any all".split()
)
"""Ops whose result is of dtype bool."""

_DTYPE_ARGUMENT = {
    "to": 1,
    "zeros": 1,
    "ones": 1,
    "full": 2,
    "arange": 3,
    "softmax": 2,
    "log_softmax": 2,
    "full_like": 2,
}
"""Where an op takes the dtype of its result."""


def _dtype(of: Composite | App, term: Host) -> Term:
    if isinstance(of, Composite):
        kept = of.args and of.function != "rotate_half_matrix"
        return simplify(Host("dtype", (of.args[0],))) if kept else term
    if of.op in _TRUTH_VALUES:
        return Sym("bool")
    place = _DTYPE_ARGUMENT.get(of.op)
    if place is not None and place < len(of.args) and isinstance(of.args[place], (Sym, Host, Var)):
        return of.args[place]
    if of.op == "where" and len(of.args) == 3:
        return _joined_dtype(of.args[1], of.args[2], term)
    if of.op in _SAME_DTYPE and of.args and not isinstance(of.args[0], (Lit, Host)):
        return simplify(Host("dtype", (of.args[0],)))
    return term


def _joined_dtype(a: Term, b: Term, term: Host) -> Term:
    """The dtype of ``where``: that of its tensor; float32, if both are numbers, one of them with a point."""
    numbers = [isinstance(side, (Lit, Host)) for side in (a, b)]
    if all(numbers):
        pointed = any(isinstance(side, Lit) and isinstance(side.value, float) for side in (a, b))
        computed = any(
            isinstance(side, Host) and side.function in ("finfo_min", "finfo_max", "negate") for side in (a, b)
        )
        return Sym("float32") if pointed or computed else term
    if any(numbers):
        return simplify(Host("dtype", (b if numbers[0] else a,)))
    return term


def _rank(of: Composite | App, term: Host) -> Term:
    match of:
        case Composite(function="rotate_half_matrix"):
            return Lit(2)
        case Composite(args=(inner, *_)):
            return simplify(Host("rank", (inner,)))
        case App(op="reshape", args=(_, Seq(items=items))):
            return Lit(len(items))
        case App(op=op, args=(inner, *_)) if op in _SAME_SHAPE or op in _SAME_RANK:
            return simplify(Host("rank", (inner,)))
        case _:
            return term


def _size(of: Composite | App, term: Host) -> Term:
    dim = term.args[1].value if len(term.args) == 2 and isinstance(term.args[1], Lit) else None
    if not isinstance(dim, int):
        return term
    match of:
        case Composite(function="pad_last", args=(inner, to)):
            return _padded_size(inner, -1, to, dim, term)
        case Composite(function="pad_dim", args=(inner, Lit(value=int(padded)), to)):
            return _padded_size(inner, padded, to, dim, term)
        case Composite(function="narrow", args=(inner, Lit(value=int(narrowed)), _, length)):
            return _padded_size(inner, narrowed, length, dim, term)
        case Composite(function="pad_heads", args=(_, heads, to)) if dim == 0:
            return reduced(Host("*", (heads, to)))
        case Composite(function="pad_head_columns", args=(_, heads, to)) if dim == 1:
            return reduced(Host("*", (heads, to)))
        case Composite(function="rotate_half_matrix", args=(n,)):
            return n
        case App(op="reshape", args=(_, Seq(items=items))) if -len(items) <= dim < len(items):
            return term if items[dim] == Lit(-1) else items[dim]
        case App(op="scaled_dot_product_attention", args=(_, _, value, *_)) if dim == -1:
            return simplify(Host("size", (value, term.args[1])))
        case App(op=op, args=(inner, *_)) if op in _SAME_SHAPE:
            return simplify(Host("size", (inner, term.args[1])))
        case _:
            return term


def _padded_size(inner: Term, changed: int, to: Term, dim: int, term: Host) -> Term:
    """The size along ``dim`` of a tensor of which one dimension was changed; unknown where -1 may be the same as 3."""
    if dim == changed:
        return to
    same_sign = (dim < 0) == (changed < 0)
    return simplify(Host("size", (inner, term.args[1]))) if same_sign else term
