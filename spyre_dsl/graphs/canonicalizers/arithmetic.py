"""Arithmetic: one form for the several ways of saying the same thing."""

from __future__ import annotations

from spyre_dsl.graphs.canonicalizers.registry import Call, canonicalizes
from spyre_dsl.graphs.node import Value


@canonicalizes("add", "sub")
def add_nothing(call: Call) -> Value:
    """``x + 0`` is ``x`` where that changes neither shape nor dtype (``-0.0 + 0`` is ``0.0``: equal as a number)."""
    _, other, alpha = call.arguments
    nothing = other == 0 and not isinstance(other, bool) or alpha == 0
    return call.input if nothing and call.keeps_shape() and call.keeps_dtype() else None


@canonicalizes("mul", "div")
def times_one(call: Call) -> Value:
    """``x * 1`` is ``x`` where that changes neither shape nor dtype."""
    other = call.arguments[1]
    plain = len(call.arguments) == 2 or call.arguments[2] is None
    one = other == 1 and not isinstance(other, bool)
    return call.input if one and plain and call.keeps_shape() and call.keeps_dtype() else None


@canonicalizes("rsub")
def reversed_sub(call: Call) -> Value:
    """``rsub(x, y)`` is ``y - alpha * x``."""
    x, y, alpha = call.arguments
    return call.become("sub", y, x, alpha)


@canonicalizes("softmax", "log_softmax", "sum", "mean", "prod", "cumsum", "cumprod", "linalg_vector_norm")
def own_dtype(call: Call) -> Value:
    """A ``dtype`` argument that asks for the floating dtype which the input has anyway says nothing."""
    if call.arguments[-1] is not None and call.keeps_dtype() and "float" in call.result_dtype:
        call.arguments[-1] = None
    return None


@canonicalizes("zeros_like", "ones_like", "empty_like", "full_like", "new_zeros", "new_ones", "new_empty", "new_full")
def dtype_of_the_like(call: Call) -> Value:
    """The like's own dtype is the default."""
    if call.arguments[-1] is not None and call.keeps_dtype():
        call.arguments[-1] = None
    return None


@canonicalizes("embedding")
def no_padding(call: Call) -> Value:
    """The padding index changes gradients only, never the value."""
    call.arguments[2] = None
    return None


@canonicalizes("arange")
def arange_from_zero(call: Call) -> Value:
    start, end, step, dtype = call.arguments
    call.arguments = [0 if start is None else start, end, step, dtype]
    return None


@canonicalizes("aten._softmax.default", "aten._log_softmax.default")
def decomposed_softmax(call: Call) -> Value:
    """What softmax is called after decomposition; ``half_to_float`` widens the result."""
    x, dim, widen = call.arguments
    rank = len(call.result_shape or ())
    dim = dim + rank if isinstance(dim, int) and dim < 0 else dim
    call.dim_rank = rank
    return call.become(call.op.split(".")[1].removeprefix("_"), x, dim, "float32" if widen else None)
