"""Ops are found by every name that they have, and arguments find their places."""

from __future__ import annotations

import pickle

import pytest

from spyre_dsl.language.vocabulary import ALIASES, KINDS, OPS, REQUIRED, BindingProblem, bind, find_op


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("pow", "pow"),
        ("multiply", "mul"),
        ("true_divide", "div"),
        ("concat", "cat"),
        ("view", "reshape"),
        ("aten.pow.Tensor_Scalar", "pow"),
        ("aten.pow", "pow"),
        ("aten.add_.Tensor", "add"),
        ("aten.__and__.Tensor", "bitwise_and"),
        ("aten.max.other", "maximum"),
        ("aten.max.dim", "max"),
        ("aten.max", "max"),
        ("aten.split_with_sizes.default", "split"),
        ("aten._to_copy.default", "to"),
    ],
)
def test_an_op_is_found_by_each_of_its_names(name: str, op: str) -> None:
    found = find_op(name)
    assert found is not None and found.name == op


@pytest.mark.parametrize(
    "name", ["powr", "aten.nothing.default", "aten.pow.Tensor_Tensr", "aten._", "", "torch.pow", "aten.__"]
)
def test_what_is_no_op_is_not_found(name: str) -> None:
    assert find_op(name) is None


def test_aliases_lead_to_ops_and_hide_none() -> None:
    assert all(target in OPS for target in ALIASES.values())
    assert not set(ALIASES) & set(OPS)


def test_every_parameter_has_a_known_kind() -> None:
    assert {parameter.kind for op in OPS.values() for parameter in op.parameters} <= KINDS


def test_an_overload_belongs_to_one_op() -> None:
    overloads = [overload for op in OPS.values() for overload in op.overloads]
    assert len(overloads) == len(set(overloads))


def test_signatures_are_those_of_the_documentation() -> None:
    assert OPS["pow"].signature() == "pow(input, exponent)"
    assert OPS["cat"].signature() == "cat(tensors, dim=0)"
    assert OPS["layer_norm"].signature() == "layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05)"


def test_required_is_one_object_also_after_pickling() -> None:
    assert pickle.loads(pickle.dumps(REQUIRED)) is REQUIRED
    assert repr(REQUIRED) == "REQUIRED"


def test_arguments_are_bound_in_the_order_of_the_table() -> None:
    assert bind(OPS["transpose"], ["x"], [("dim1", 2), ("dim0", 1)]) == {"input": "x", "dim0": 1, "dim1": 2}
    assert bind(OPS["cat"], [["x", "y"]], []) == {"tensors": ["x", "y"]}


def test_the_only_argument_of_arange_is_its_end() -> None:
    assert bind(OPS["arange"], [8], []) == {"end": 8}
    assert bind(OPS["arange"], [2], [("end", 8)]) == {"start": 2, "end": 8}


@pytest.mark.parametrize(
    ("args", "keywords", "problem"),
    [
        (["x"], [], BindingProblem("missing", "exponent", 1)),
        (["x", 3, 4], [], BindingProblem("too-many", "", 2)),
        (["x"], [("exponnet", 3)], BindingProblem("unknown", "exponnet", 1)),
        (["x", 3], [("exponent", 3)], BindingProblem("twice", "exponent", 2)),
    ],
)
def test_arguments_that_do_not_fit_are_a_problem(
    args: list[object], keywords: list[tuple[str, object]], problem: object
) -> None:
    assert bind(OPS["pow"], args, keywords) == problem
