"""Every op of the vocabulary has a meaning in torch."""

from __future__ import annotations

import pytest
import torch

from spyre_dsl.evidence.operations import OperationError, call_op, call_overload, function_of
from spyre_dsl.language.vocabulary import OPS


@pytest.mark.parametrize("name", sorted(OPS))
def test_every_op_has_an_eager_function(name: str) -> None:
    assert callable(function_of(name))


def test_arguments_may_be_spelt_out_or_left_out() -> None:
    x = torch.randn(2, 4)
    assert torch.equal(call_op("add", {"input": x, "other": 1, "alpha": 1}), x + 1)
    assert torch.equal(call_op("softmax", {"input": x, "dim": -1, "dtype": None}), x.softmax(-1))
    assert torch.equal(call_op("mean", {"input": x, "dim": None, "keepdim": False, "dtype": None}), x.mean())
    assert torch.equal(call_op("full", {"size": (2,), "fill_value": 3.0}), torch.full((2,), 3.0))
    assert call_op("arange", {"start": 0, "end": 3, "step": 1}).tolist() == [0, 1, 2]
    assert torch.equal(call_op("sub", {"input": 1, "other": x}), 1 - x)


def test_new_tensors_take_the_dtype_of_their_source() -> None:
    x = torch.ones(2, dtype=torch.float16)
    assert call_op("new_zeros", {"input": x, "size": [3]}).dtype == torch.float16
    assert call_op("new_full", {"input": x, "size": [3], "fill_value": 2, "dtype": torch.int64}).tolist() == [2, 2, 2]


def test_refusals_carry_torchs_message() -> None:
    with pytest.raises(OperationError, match="unknown op `nothing`"):
        call_op("nothing", {})
    with pytest.raises(OperationError, match="reshape: shape"):
        call_op("reshape", {"input": torch.ones(4), "shape": [3]})
    with pytest.raises(OperationError, match="unknown overload"):
        call_overload("aten.nothing.default", ())


def test_overloads_outside_the_vocabulary() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert torch.equal(call_overload("aten.trace.default", (x,)), x.trace())
