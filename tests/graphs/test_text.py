"""Values as text: what a rule file would write."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from spyre_dsl.graphs.text import show_node, show_value
from tests.captured import bert, traced

X = torch.ones(2, 6, 8)


def shown(function, *inputs, depth=0):
    return show_node(traced(function, *inputs).outputs[0], depth)


def test_calls_leave_out_defaults():
    assert shown(lambda x: x + 1, X) == "add(x_1, 1)"
    assert shown(lambda x: x.softmax(-1), X) == "softmax(x_1, 2)"


def test_what_follows_a_default_is_named():
    assert shown(lambda q: F.scaled_dot_product_attention(q, q, q, scale=0.5), X) == (
        "scaled_dot_product_attention(q_1, q_1, q_1, scale=0.5)"
    )


def test_depth_says_how_many_levels_are_calls():
    def function(x):
        return x.neg().exp().tanh()

    assert [shown(function, X, depth=depth) for depth in range(4)] == [
        "tanh(exp)",
        "tanh(exp(neg))",
        "tanh(exp(neg(x_1)))",
        "tanh(exp(neg(x_1)))",
    ]


def test_outputs_lists_words_and_sizes():
    assert shown(lambda x: tuple(x.split(3, -1)), X) == "split[0]"
    assert shown(lambda x: x.view(2, 48), X) == "reshape(x_1, [2, 48])"
    assert shown(lambda x: x.half(), X) == "to(x_1, float16)"
    assert show_value((True, None, 1.5, "none")) == "[true, none, 1.5, none]"
    dynamic = traced(lambda x: x.flatten(), torch.ones(3, 5), dynamic=True).outputs[0]
    assert "*" in show_node(dynamic)


def test_parameters_go_by_their_name_in_the_model():
    assert show_node(bert().graph.by_op["parameter"][0]) == "embeddings.word_embeddings.weight"


def test_ops_without_a_documented_name_show_their_overload():
    assert shown(lambda x: torch.ops.aten.erfinv.default(x), X) == "aten.erfinv.default(x_1)"
