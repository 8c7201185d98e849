"""Ops that do not change their argument's value: they vanish."""

from __future__ import annotations

from spyre_dsl.graphs.canonicalizers.registry import Call, canonicalizes
from spyre_dsl.graphs.node import Value


@canonicalizes(
    "contiguous", "clone", "detach", "alias", "lift_fresh_copy", "aten.detach_.default", "aten.lift_fresh.default"
)
def copy_of_the_same(call: Call) -> Value:
    """Memory is no part of a value."""
    return call.input


@canonicalizes("aten.lift.default", "aten.resolve_conj.default", "aten.resolve_neg.default")
def lazily_the_same(call: Call) -> Value:
    return call.input


@canonicalizes("dropout", "aten.feature_dropout.default", "aten.alpha_dropout.default")
def dropout(call: Call) -> Value:
    """In evaluation, or with probability 0, dropout passes its input on."""
    _, p, training = call.arguments
    return call.input if training is False or p == 0 else None
