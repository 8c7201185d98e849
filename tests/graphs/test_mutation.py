"""Graphs that write in place are seen as functions, and nothing stale can be read."""

from __future__ import annotations

import torch

from tests.captured import ops, traced


def test_a_value_written_in_place_is_a_new_one_from_there_on():
    def function(x):
        y = x * 2
        y.add_(1)
        return y.pow(3)

    graph = traced(function, torch.ones(3))
    assert ops(graph) == ["mul", "add", "pow"]
    power = graph.outputs[0]
    assert power.arguments[0].op == "add"


def test_the_old_value_knows_when_it_was_overwritten():
    def function(x):
        y = x * 2
        z = y.exp()
        y.add_(1)
        return y + z

    graph = traced(function, torch.ones(3))
    (product,), (_, total) = graph.by_op["mul"], graph.by_op["add"]
    assert product.changed_at is not None
    assert graph.by_op["exp"][0].position < product.changed_at < total.position


def test_what_shares_memory_with_it_is_changed_beyond_recognition():
    def function(x):
        y = x * 2
        y[:, 0].mul_(3)
        return y.pow(3)

    graph = traced(function, torch.ones(3, 3))
    base = graph.outputs[0].arguments[0]
    assert base.op == "changed"
    assert [node.op for node in base.arguments] == ["mul", "mul"]


def test_a_view_of_what_was_written_is_changed_too():
    def function(x):
        y = x * 2
        view = y.view(9)
        y.add_(1)
        return view.exp(), y

    graph = traced(function, torch.ones(3, 3))
    assert graph.outputs[0].arguments[0].op == "changed"
    assert graph.outputs[1].op == "add"


def test_a_write_nobody_reads_is_kept():
    def function(x, buffer):
        buffer.copy_(x)
        return x * 2

    assert "copy" in ops(traced(function, torch.ones(3), torch.zeros(3)))


def test_a_graph_that_does_not_write_pays_nothing():
    graph = traced(lambda x: x.view(9).exp(), torch.ones(3, 3))
    assert all(node.changed_at is None for node in graph.nodes)
