"""The table of ops says what the installed torch says."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from spyre_dsl.language.functions import DTYPES
from spyre_dsl.language.vocabulary import CHOICES, OPS, PLACEMENT_ARGUMENTS, REQUIRED, Op, Parameter

SAME_MEANING: dict[tuple[str, str], set[Any]] = {
    ("var", "correction"): {None, 1},
    ("std", "correction"): {None, 1},
    ("conv1d", "padding"): {0, "valid"},
    ("conv2d", "padding"): {0, "valid"},
    ("conv3d", "padding"): {0, "valid"},
    ("embedding", "padding_idx"): {None, -1},
    ("pad", "value"): {None, 0},
    ("to", "dtype"): {None, REQUIRED},
    ("topk", "dim"): {-1, None},
    ("softmax", "dim"): {None, REQUIRED},
    ("log_softmax", "dim"): {None, REQUIRED},
    ("glu", "dim"): {-1},
    ("max_pool1d", "stride"): {None, ()},
    ("max_pool2d", "stride"): {None, ()},
}
"""Defaults that are written differently in one place and another, and mean the same."""

NOT_TORCHS_SIGNATURE = {"slice"}
"""Ops whose signature is the language's own: ``slice`` says where to start and end."""


def overload_of(name: str) -> Any:
    _, packet, overload = name.split(".")
    return getattr(getattr(torch.ops.aten, packet), overload)


def plain(value: Any) -> Any:
    """A default as the table would write it: a list of equal numbers is that number."""
    if isinstance(value, (list, tuple)):
        return value[0] if value and len(set(value)) == 1 else tuple(value)
    return value


def same(op: Op, parameter: Parameter, default: Any) -> bool:
    meaning = SAME_MEANING.get((op.name, parameter.name), set())
    return plain(default) == parameter.default or {plain(default), parameter.default} <= meaning


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_every_overload_takes_these_arguments_with_these_defaults(op: Op) -> None:
    for name in op.overloads:
        schema = overload_of(name)._schema
        seen = set()
        for argument in schema.arguments:
            parameter = next((p for p in op.parameters if argument.name in p.aten), None)
            if parameter is None:
                assert argument.name in PLACEMENT_ARGUMENTS, f"{name} takes {argument.name}"
                continue
            seen.add(parameter.name)
            if argument.has_default_value() and op.name not in NOT_TORCHS_SIGNATURE:
                assert same(op, parameter, argument.default_value), f"{name}: {argument.name}"
        missing = [p.name for p in op.parameters if p.required and p.name not in seen]
        assert not missing or op.name == "arange" and missing == ["start"], f"{name} has no {missing}"


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_arguments_come_in_the_order_of_the_schema(op: Op) -> None:
    reordered = {"embedding", "batch_norm"}  # torch.nn.functional has them in another order than ATen
    if op.name in reordered:
        return
    for name in op.overloads:
        places = []
        for argument in overload_of(name)._schema.arguments:
            place = next((i for i, p in enumerate(op.parameters) if argument.name in p.aten), None)
            if place is not None:
                places.append(place)
        assert places == sorted(places), name


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_functional_signatures_agree_where_python_shows_them(op: Op) -> None:
    function = getattr(F, op.name, None)
    try:
        parameters = inspect.signature(function).parameters if function is not None else {}
    except ValueError:
        return  # a builtin, whose documentation the schemas stand for
    for mine in op.parameters:
        if mine.name not in parameters or parameters[mine.name].kind is inspect.Parameter.VAR_POSITIONAL:
            continue
        default = parameters[mine.name].default
        documented = REQUIRED if default is inspect.Parameter.empty else default
        assert same(op, mine, documented), f"{op.name}: {mine.name} is {documented!r}"


@pytest.mark.parametrize("op", [op for op in OPS.values() if op.commutative], ids=lambda op: op.name)
def test_commutative_ops_commute(op: Op) -> None:
    torch.manual_seed(0)
    x, y = torch.randn(64, 64), torch.randn(64, 64)
    if op.name.startswith("bitwise"):
        x, y = (x * 10).int(), (y * 10).int()
    if op.name.startswith("logical"):
        x, y = x > 0, y > 0
    compute = overload_of(op.overloads[0])
    assert torch.equal(compute(x, y), compute(y, x))


def test_no_commutative_op_is_left_out() -> None:
    """Binary ops of two tensors, tried: those that commute say so."""
    torch.manual_seed(0)
    x, y = torch.rand(32, 32) + 0.5, torch.rand(32, 32) + 0.5
    for op in OPS.values():
        if [p.kind for p in op.parameters if p.required] in (
            ["tensor", "tensor"],
            ["value", "value"],
        ) and not op.commutative:
            try:
                one, other = overload_of(op.overloads[0])(x, y), overload_of(op.overloads[0])(y, x)
            except (RuntimeError, NotImplementedError, IndexError):
                continue
            assert not torch.equal(one, other), op.name


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_the_number_of_outputs_is_that_of_the_schema(op: Op) -> None:
    counts = {len(overload_of(name)._schema.returns) for name in op.overloads}
    lists = any(
        "[]" in str(r.type) or "List" in str(r.type) for n in op.overloads for r in overload_of(n)._schema.returns
    )
    if op.outputs == 0:
        assert lists or len(counts) > 1
    else:
        assert counts == {op.outputs} and not lists


X = torch.ones(1, 2, 3, 3)
CALLS = {
    ("gelu", "approximate"): lambda word: torch.ops.aten.gelu(X, approximate=word),
    ("div", "rounding_mode"): lambda word: torch.ops.aten.div.Tensor_mode(X, X, rounding_mode=word),
    ("pad", "mode"): lambda word: torch.ops.aten.pad(X, [1, 1, 1, 1], word),
    ("searchsorted", "side"): lambda word: torch.ops.aten.searchsorted(X, X, side=word),
    ("conv1d", "padding"): lambda word: torch.ops.aten.conv1d.padding(X[0], torch.ones(1, 3, 1), None, [1], word),
    ("conv2d", "padding"): lambda word: torch.ops.aten.conv2d.padding(X, torch.ones(1, 2, 1, 1), None, [1], word),
    ("conv3d", "padding"): lambda word: torch.ops.aten.conv3d.padding(X[None], torch.ones([1] * 5), None, [1], word),
}
"""How torch is asked what it says to a word for an argument with a closed set of strings."""


@pytest.mark.parametrize("argument", CHOICES, ids=".".join)
def test_torch_takes_the_strings_of_the_table_and_no_others(argument: tuple[str, str]) -> None:
    for word in CHOICES[argument]:
        CALLS[argument](word)
    with pytest.raises((RuntimeError, NotImplementedError, ValueError)):
        CALLS[argument]("something else")


def test_every_string_argument_has_a_closed_set_but_for_the_equation_of_einsum() -> None:
    strings = {(op.name, p.name) for op in OPS.values() for p in op.parameters if p.kind == "string"}
    assert strings - CHOICES.keys() == {("einsum", "equation")}


def test_every_dtype_is_one_of_torchs() -> None:
    assert all(isinstance(getattr(torch, name), torch.dtype) for name in DTYPES)
