"""Every node knows its module and its source line; the owner is the deepest module that ran all of them."""

from __future__ import annotations

import torch
from torch import nn

from spyre_dsl.graphs.capture import capture
from spyre_dsl.graphs.provenance import owner_of
from tests.captured import bert, gpt2


def of(graph, op):
    return graph.by_op[op]


class TestWhere:
    def test_module_and_class(self):
        first = of(bert().graph, "scaled_dot_product_attention")[0]
        assert first.module_path == "encoder.layer.0.attention.self"
        assert first.class_path == "transformers.models.bert.modeling_bert.BertSelfAttention"

    def test_the_stack_goes_from_the_root_inwards(self):
        first = of(bert().graph, "scaled_dot_product_attention")[0]
        paths = [path for path, _ in first.module_stack]
        assert paths == [
            "",
            "encoder",
            "encoder.layer.0",
            "encoder.layer.0.attention",
            "encoder.layer.0.attention.self",
        ]

    def test_the_line_is_in_the_models_own_code(self):
        name, line = of(bert().graph, "scaled_dot_product_attention")[0].source_line.split(":")
        assert name == "modeling_bert.py" and int(line) > 0

    def test_never_in_torch(self):
        for node in of(bert().graph, "linear"):
            assert node.source_line.startswith("modeling_bert.py:")

    def test_an_activation_is_where_it_is_written(self):
        assert of(gpt2().graph, "pow")[0].source_line.startswith("activations.py:")

    def test_inputs_have_no_line(self):
        assert bert().graph.inputs[0].source_line == "" and bert().graph.inputs[0].module_path == ""


class TestOwner:
    def test_of_one_node_is_its_module(self):
        node = of(gpt2().graph, "pow")[1]
        assert owner_of([node.fx]) == "transformer.h.1.mlp.act"

    def test_of_nodes_in_two_modules_is_the_one_that_ran_both(self):
        graph = bert().graph
        query = of(graph, "linear")[0]
        attention = of(graph, "scaled_dot_product_attention")[0]
        assert owner_of([query.fx, attention.fx]) == "encoder.layer.0.attention.self"

    def test_of_nodes_in_two_layers_is_the_encoder_not_the_list(self):
        first, second = of(bert().graph, "scaled_dot_product_attention")
        assert owner_of([first.fx, second.fx]) == "encoder"

    def test_inputs_have_no_say(self):
        graph = bert().graph
        node = of(graph, "gelu")[0]
        assert owner_of([graph.inputs[0].fx, node.fx]) == node.module_path

    def test_of_two_calls_of_one_module_is_the_caller(self):
        class Twice(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Tanh()

            def forward(self, x):
                return self.inner(self.inner(x))

        graph = capture(Twice(), (torch.ones(2),)).graph
        assert owner_of([node.fx for node in of(graph, "tanh")]) == ""
        assert owner_of([of(graph, "tanh")[1].fx]) == "inner"

    def test_of_nothing_is_the_root(self):
        assert owner_of([]) == ""
