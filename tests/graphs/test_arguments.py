"""Every overload that the vocabulary lists binds to its op's arguments."""

from __future__ import annotations

import operator

import pytest
import torch

from spyre_dsl.graphs.arguments import binding_of
from spyre_dsl.language.vocabulary import OPS


def overload(name: str):
    return operator.attrgetter(name.removeprefix("aten."))(torch.ops.aten)


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_each_required_parameter_has_a_place_in_each_overload(op):
    for name in op.overloads:
        binding = binding_of(overload(name))
        assert binding.op is op
        assert [slot.name for slot in binding.slots] == [parameter.name for parameter in op.parameters]
        if name not in OVERLOADS_WITHOUT:
            missing = [
                slot.name
                for slot, p in zip(binding.slots, op.parameters, strict=True)
                if p.required and slot.position is None
            ]
            assert not missing, f"{name}: {missing}"


OVERLOADS_WITHOUT = {"aten.type_as.default", "aten.to.other"}


def test_no_argument_of_an_overload_is_bound_twice():
    for op in OPS.values():
        for name in op.overloads:
            places = [slot.position for slot in binding_of(overload(name)).slots if slot.position is not None]
            assert len(places) == len(set(places)), name


def test_in_place_forms_mean_the_functional_op():
    binding = binding_of(torch.ops.aten.add_.Tensor)
    assert binding.name == "add" and binding.mutated == (0,)


def test_aliases_mean_the_documented_op():
    binding = binding_of(torch.ops.aten.swapaxes.default)
    assert binding.name == "transpose" and [slot.position for slot in binding.slots] == [0, 1, 2]


def test_an_op_that_the_vocabulary_lacks_keeps_the_schema():
    binding = binding_of(torch.ops.aten.erfinv.default)
    assert (
        binding.op is None
        and binding.name == "aten.erfinv.default"
        and [slot.name for slot in binding.slots] == ["self"]
    )


def test_what_only_places_a_result_is_no_argument():
    names = [slot.name for slot in binding_of(torch.ops.aten.arange.default).slots]
    assert names == ["start", "end", "step", "dtype"]


def test_randomness_is_known():
    assert not binding_of(torch.ops.aten.bernoulli.default).deterministic
    assert binding_of(torch.ops.aten.mul.Tensor).deterministic
