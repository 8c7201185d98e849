"""How the ops of a match find a value in memory: what the canonical graph does not say."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from spyre_dsl.graphs.capture import capture
from spyre_dsl.graphs.memory import Readers, is_contiguous
from spyre_dsl.graphs.node import Node


class Module(torch.nn.Module):
    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function
        self.weight = torch.nn.Parameter(torch.ones(4, 6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(self, x)


def found_contiguous(function: Callable[..., torch.Tensor], op: str = "exp") -> bool:
    """Whether the (last) ``op`` finds its argument contiguous."""
    graph = capture(Module(function), (torch.ones(2, 3, 4),)).graph
    reader = graph.by_op[op][-1]
    argument = reader.arguments[0]
    assert isinstance(argument, Node)
    return Readers([reader], graph.values).find_contiguous(argument)


@pytest.mark.parametrize(
    ("function", "contiguous"),
    [
        (lambda m, x: (x + x).exp(), True),
        (lambda m, x: (x + x).transpose(0, 1).exp(), False),
        (lambda m, x: (x + x).transpose(0, 1).contiguous().exp(), True),
        (lambda m, x: (x + x).transpose(0, 1).clone().exp(), False),
        (lambda m, x: (x + x).transpose(0, 1).clone(memory_format=torch.contiguous_format).exp(), True),
        (lambda m, x: (x + x)[:, 1:].exp(), False),
        (lambda m, x: (x + x)[:, :1].transpose(1, 2).exp(), False),
        (lambda m, x: torch.nn.functional.dropout((x + x).transpose(0, 1), 0.0).exp(), False),
        (lambda m, x: m.weight.exp() + x.sum(), True),
        (lambda m, x: m.weight.t().exp() + x.sum(), False),
    ],
)
def test_an_op_finds_what_it_reads_contiguous_or_not(function: Callable[..., torch.Tensor], contiguous: bool) -> None:
    assert found_contiguous(function) is contiguous


def test_of_what_a_module_is_handed_nothing_is_known() -> None:
    assert not found_contiguous(lambda m, x: x.exp())
    assert found_contiguous(lambda m, x: (x * 1.5).exp())


def test_the_same_value_can_lie_in_two_ways() -> None:
    def both(m: Module, x: torch.Tensor) -> torch.Tensor:
        moved = (x + x).transpose(0, 1)
        return moved.exp() + moved.contiguous().log()

    assert not found_contiguous(both, "exp")
    assert found_contiguous(both, "log")


def test_asking_puts_no_condition_on_a_dynamic_size() -> None:
    captured = capture(Module(lambda m, x: (x + x).transpose(0, 1).exp()), (torch.ones(2, 3, 4),))
    values = [node.meta.get("val") for node in captured.program.graph.nodes]
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    environment = tensors[-1].fake_mode.shape_env
    before = len(environment.guards)
    assert [is_contiguous(tensor) for tensor in tensors].count(False) == 2
    assert len(environment.guards) == before


def test_plain_tensors() -> None:
    assert is_contiguous(torch.ones(2, 3)) and is_contiguous(torch.ones(3, 1).t()) and is_contiguous(torch.tensor(1.0))
    assert not is_contiguous(torch.ones(2, 3).t())
