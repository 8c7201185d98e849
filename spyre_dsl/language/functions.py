"""The functions that rule files can call besides torch's ops, as data.

*Host functions* compute a plain value (an int, a dtype, a truth value) from what a rule matched; they may stand
wherever a value may. *Composites* make a tensor out of several ops; they may stand in rewrites and in test
expressions, never in a pattern, and are folded once where they depend on parameters only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from spyre_dsl.language.records import record
from spyre_dsl.language.vocabulary import REQUIRED, Parameter

VALUE_PLACES: Final = frozenset({"pattern", "guard", "rewrite", "test"})
"""Where host functions may stand; in a pattern only as part of a literal argument (``size($x, -1) // 2``)."""

TENSOR_PLACES: Final = frozenset({"rewrite", "test"})
"""Where composites may stand."""


@record
class FunctionSpec:
    """One function: its parameters, the kind of its result and the places where it may stand.

    A ``variadic`` function takes any number of further arguments of the kind of its last parameter.
    """

    name: str
    parameters: tuple[Parameter, ...]
    result: str
    places: frozenset[str]
    summary: str
    variadic: bool = False

    @property
    def composite(self) -> bool:
        """Whether the result is a tensor, so that the call stands for ops."""
        return self.result == "tensor"

    def parameter(self, name: str) -> Parameter | None:
        """The parameter with this name, or None."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)

    def signature(self) -> str:
        """The signature as the reference prints it: ``size(x, dim)``."""
        names = [parameter.name for parameter in self.parameters]
        return f"{self.name}({', '.join([*names, '...'] if self.variadic else names)})"


# Each line: name(parameter:kind, ...) -> result: what it gives. A parameter without a kind is a tensor.
_TABLE = """
size(x, dim:int) -> int: the extent of one dimension of a tensor
rank(x) -> int: the number of dimensions of a tensor
shape(x) -> ints: the extents of all dimensions of a tensor
numel(x) -> int: the number of elements of a tensor
dtype(x) -> dtype: the dtype of a tensor, compared with its name, float16 or "float16"
users(x) -> int: how many nodes of the graph read a value
is_parameter(x:any) -> bool: whether a value is a parameter of the model
is_constant(x:any) -> bool: whether a value depends on parameters, buffers and literals only
is_contiguous(x) -> bool: whether all matched ops that read x find its elements in order, one behind the other
is_float(x:any) -> bool: whether a value is a floating-point tensor or number
default(x:any, fallback:any) -> any: x, or fallback where x is none
same(x:any, y:any) -> bool: whether two captures hold the same value
round_up(n:int, multiple:int) -> int: the least multiple of `multiple` that is at least n
min_of(a:number, b:number, ...) -> number: the least of its arguments
max_of(a:number, b:number, ...) -> number: the greatest of its arguments
len(list:any) -> int: the number of items of a list
finfo_min(dtype:dtype) -> number: the most negative finite number of a dtype
finfo_max(dtype:dtype) -> number: the greatest finite number of a dtype
stack.supports(op:string, dtype:dtype) -> bool: whether the stack lowers an op for a dtype
pad_last(x, to:int) -> tensor: x with its last dimension filled up with zeros to `to`
pad_dim(x, dim:int, to:int) -> tensor: x with one dimension filled up with zeros to `to`
pad_heads(weight, heads:int, to:int) -> tensor: dim 0 seen as [heads, d], each head filled up with zeros to `to` rows
pad_head_columns(weight, heads:int, to:int) -> tensor: dim 1 seen as [heads, d], each head filled up with zeros to `to` columns
rotate_half_matrix(n:int) -> tensor: the constant [n, n] matrix M with x @ M == rotate_half(x)
narrow(input, dim:int, start:int, length:int) -> tensor: `length` entries of one dimension from `start` on
"""

_PROGRAM_ONLY: Final[Mapping[str, frozenset[str]]] = {
    "stack.supports": frozenset({"guard", "rewrite"}),
    "users": frozenset({"guard"}),
    "is_contiguous": frozenset({"guard"}),
}


def _parameter(text: str) -> Parameter:
    name, _, kind = text.partition(":")
    return Parameter(name, REQUIRED, kind or "tensor", (name,))


def _spec(line: str) -> FunctionSpec:
    head, _, tail = line.partition(") -> ")
    name, _, parameters = head.partition("(")
    result, _, summary = tail.partition(": ")
    names = parameters.split(", ")
    places = TENSOR_PLACES if result == "tensor" else _PROGRAM_ONLY.get(name, VALUE_PLACES)
    return FunctionSpec(
        name=name,
        parameters=tuple(_parameter(text) for text in names if text != "..."),
        result=result,
        places=places,
        summary=summary,
        variadic="..." in names,
    )


FUNCTIONS: Final[Mapping[str, FunctionSpec]] = {
    spec.name: spec for spec in map(_spec, filter(None, _TABLE.splitlines()))
}
"""Every function by its name."""

DTYPES: Final = (
    "float16", "bfloat16", "float32", "float64", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16",
    "uint32", "uint64", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2",
)  # fmt: skip
"""The dtypes that a bare name may mean."""

WORDS: Final = frozenset({*DTYPES, "end"})
"""Bare names with a meaning of their own."""

FLOAT_DTYPES: Final = frozenset(name for name in DTYPES if name.startswith(("float", "bfloat")))
"""The dtypes for which ``is_float`` holds."""

OTHER_FUNCTION_NAMES: Final[Mapping[str, str]] = {
    "dim": "rank", "ndim": "rank", "ndimension": "rank", "dims": "rank", "sizes": "shape", "nelement": "numel",
    "length": "len", "type": "dtype", "is_floating_point": "is_float", "is_param": "is_parameter", "equal": "same",
}  # fmt: skip
"""What torch and Python call a function, and what it is called here."""
