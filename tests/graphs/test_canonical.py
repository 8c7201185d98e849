"""The canonical graph: one form for everything that means the same."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from spyre_dsl.graphs.canonical import canonicalize
from spyre_dsl.graphs.node import Node, same_value
from spyre_dsl.graphs.sizes import SymbolicSize
from tests.captured import bert, gpt2, ops, qwen3, traced

X = torch.ones(2, 6, 8)


def only(graph, op: str) -> Node:
    """The one node of an op."""
    (node,) = graph.by_op[op]
    return node


class TestOneFormForOneMeaning:
    def test_the_ways_of_cubing(self):
        graph = traced(lambda x: (x**3, x.pow(3), torch.pow(x, 3.0), torch.pow(x, exponent=3)), X)
        assert [node.op for node in graph.outputs] == ["pow"] * 4
        assert [node.arguments[1] for node in graph.outputs] == [3, 3, 3, 3]
        assert all(node.arguments[0] is graph.inputs[0] for node in graph.outputs)

    @pytest.mark.parametrize(
        "write",
        [
            lambda x: x.view(2, 48),
            lambda x: x.reshape(2, -1),
            lambda x: x.flatten(1),
            lambda x: x.flatten(-2, -1),
            lambda x: torch.reshape(x, (-1, 48)),
            lambda x: x.view(2, 48).contiguous(),
            lambda x: x.reshape_as(torch.ones(2, 48)),
        ],
    )
    def test_reshape_has_full_sizes(self, write):
        node = only(traced(write, X), "reshape")
        assert node.arguments[1] == (2, 48)

    @pytest.mark.parametrize(
        "write",
        [
            lambda x: x.transpose(1, 2),
            lambda x: x.transpose(-1, -2),
            lambda x: x.transpose(2, 1),
            lambda x: x.mT,
            lambda x: x.permute(0, 2, 1),
            lambda x: x.swapaxes(1, 2),
            lambda x: x.movedim(1, 2),
        ],
    )
    def test_transpose_names_the_smaller_dim_first(self, write):
        node = only(traced(write, X), "transpose")
        assert node.arguments[1:] == (1, 2)

    def test_a_permutation_of_three_dims_stays_one(self):
        assert only(traced(lambda x: x.permute(2, 0, 1), X), "permute").arguments[1] == (2, 0, 1)

    @pytest.mark.parametrize(
        "write, sections",
        [
            (lambda x: x.chunk(2, -1), (4, 4)),
            (lambda x: x.split(3, dim=2), (3, 3, 2)),
            (lambda x: x.split([1, 7], dim=-1), (1, 7)),
            (lambda x: torch.split(x, [1, 7], 2), (1, 7)),
        ],
    )
    def test_split_lists_its_sections(self, write, sections):
        graph = traced(lambda x: tuple(write(x)), X)
        node = only(graph, "split")
        assert node.arguments[1:] == (sections, 2)
        assert [item.arguments for item in graph.outputs] == [(node, place) for place in range(len(sections))]

    def test_one_section_is_the_whole(self):
        assert ops(traced(lambda x: x.split(8, -1)[0] * 2, X)) == ["mul"]

    @pytest.mark.parametrize(
        "write", [lambda x: x.to(torch.float16), lambda x: x.half(), lambda x: x.type_as(torch.ones(1).half())]
    )
    def test_casts(self, write):
        assert only(traced(write, X), "to").arguments[1] == "float16"

    def test_reversed_subtraction(self):
        node = only(traced(lambda x: 1 - x, X), "sub")
        assert node.arguments == (1, traced_input(node), 1)

    def test_operators_of_masks(self):
        graph = traced(lambda x: (x > 0) & (x < 1), X)
        assert ops(graph) == ["gt", "lt", "bitwise_and"]

    @pytest.mark.parametrize(
        "write", [lambda x: x.mean(-1, True), lambda x: x.mean(2, keepdim=True), lambda x: torch.mean(x, [-1], True)]
    )
    def test_dims_are_lists_counted_from_the_front(self, write):
        assert only(traced(write, X), "mean").arguments[1:] == ((2,), True, None)

    def test_unsqueeze_counts_the_dims_of_its_result(self):
        assert only(traced(lambda x: x.unsqueeze(-1), X), "unsqueeze").arguments[1] == 3

    def test_a_slice_is_within_its_size(self):
        graph = traced(lambda x: (x[..., 4:], x[..., -4:], x[..., :-4], x.narrow(-1, 4, 4)), X)
        assert [node.arguments[1:] for node in graph.outputs] == [
            (2, 4, 8, 1),
            (2, 4, 8, 1),
            (2, 0, 4, 1),
            (2, 4, 8, 1),
        ]

    def test_select_counts_from_the_front(self):
        assert only(traced(lambda x: x[:, -1], X), "select").arguments[1:] == (1, 5)

    def test_an_op_without_a_documented_name_keeps_its_overload(self):
        node = traced(lambda x: torch.ops.aten.erfinv.default(x), X).outputs[0]
        assert node.op == node.overload == "aten.erfinv.default"


def traced_input(node: Node) -> Node:
    return next(used for used in node.inputs() if used.op == "input")


class TestNoOpsAreGone:
    @pytest.mark.parametrize(
        "write",
        [
            lambda x: x.contiguous(),
            lambda x: x.clone(),
            lambda x: x.detach(),
            lambda x: x + 0,
            lambda x: x * 1,
            lambda x: x[:, :, :],
            lambda x: x[..., 0:8],
            lambda x: x.to(torch.float32),
            lambda x: x.float(),
            lambda x: x.expand(2, 6, 8),
            lambda x: x.expand(2, -1, -1),
            lambda x: x.view(2, 6, 8),
            lambda x: x.transpose(1, 1),
            lambda x: x.permute(0, 1, 2),
            lambda x: F.dropout(x, 0.5, training=False),
            lambda x: F.dropout(x, 0.0),
            lambda x: x.repeat(1, 1, 1),
            lambda x: x.squeeze(),
            lambda x: x / 1,
            lambda x: x - 0,
        ],
    )
    def test_they_are_their_argument(self, write):
        graph = traced(lambda x: write(x).exp(), X)
        assert ops(graph) == ["exp"]
        assert graph.outputs[0].arguments[0] is graph.inputs[0]

    @pytest.mark.parametrize(
        "write",
        [
            lambda x: F.dropout(x, 0.5, training=True),
            lambda x: x[:, :5],
            lambda x: x.to(torch.float64),
            lambda x: x[:, ::2],
            lambda x: x.unsqueeze(0).expand(3, 2, 6, 8)[0],
            lambda x: x + 1,
            lambda x: x.repeat(1, 1, 2),
        ],
    )
    def test_what_does_something_stays(self, write):
        assert len(ops(traced(lambda x: write(x).exp(), X))) > 1

    def test_adding_nothing_that_widens_the_dtype_stays(self):
        assert ops(traced(lambda x: x + 0.0, torch.ones(3, dtype=torch.int64))) == ["add"]

    def test_adding_nothing_that_broadcasts_stays(self):
        graph = traced(lambda x, y: torch.where(y > 0, x, 0) + 0, torch.ones(3), torch.ones(2, 3))
        assert ops(graph) == ["gt", "where"]
        assert ops(traced(lambda x: x * torch.ones(2, 3), torch.ones(3)))[-1] == "mul"

    def test_asking_for_the_dtype_that_is_there_says_nothing(self):
        assert only(traced(lambda x: x.softmax(-1, dtype=torch.float32), X), "softmax").arguments[1:] == (2, None)
        assert only(traced(lambda x: x.softmax(-1, dtype=torch.float64), X), "softmax").arguments[1:] == (2, "float64")

    def test_dead_nodes_are_no_part_of_the_graph(self):
        def function(x):
            x.exp()
            return x.tanh()

        assert ops(traced(function, X)) == ["tanh"]


class TestNodes:
    def test_name_the_fx_node_that_computes_their_value(self):
        graph = traced(lambda x: x.contiguous().pow(2).clone() + 1, X)
        power = only(graph, "pow")
        assert str(power.fx.target) == "aten.pow.Tensor_Scalar"
        assert graph.value_of(power.fx) is power
        clone = next(fx for fx in graph.fx_graph.nodes if "clone" in str(fx.target))
        assert graph.value_of(clone) is power

    def test_know_shape_dtype_and_users(self):
        graph = traced(lambda x: (x.half() * 2, x.sum()), X)
        cast = only(graph, "to")
        assert (cast.shape, cast.dtype, [user.op for user in cast.users]) == ((2, 6, 8), "float16", ["mul"])
        assert [user.op for user in graph.inputs[0].users] == ["to", "sum"]

    def test_that_compute_the_same_share_a_number(self):
        graph = traced(lambda x: x.view(2, 48).tanh() * x.reshape(2, 48).tanh(), X)
        left, right = graph.outputs[0].arguments[:2]
        assert left is not right and same_value(left, right)

    def test_that_draw_random_numbers_share_none(self):
        graph = traced(lambda x: F.dropout(x, 0.5, True) * F.dropout(x, 0.5, True), X)
        left, right = graph.outputs[0].arguments[:2]
        assert not same_value(left, right)

    def test_one_is_not_one_point_zero_where_the_dtype_follows_from_it(self):
        graph = traced(lambda x: (x * 2).sum() + (x * 2.0).sum(), torch.ones(3, dtype=torch.int64))
        left, right = graph.outputs[0].arguments[:2]
        assert not same_value(left, right)

    def test_know_whether_they_depend_on_inputs(self):
        module = nn.Linear(8, 8)
        program = torch.export.export(module, (X,))
        by_name = {node.op: node for node in canonicalize(program).nodes}
        assert by_name["parameter"].is_constant and by_name["parameter"].is_parameter
        assert not by_name["linear"].is_constant

    def test_that_depend_on_parameters_only_are_constant(self):
        class Folded(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(4))
                self.register_buffer("shift", torch.ones(4))

            def forward(self, x):
                return x + (self.weight * self.shift).exp()

        graph = canonicalize(torch.export.export(Folded(), (torch.ones(4),)))
        assert {node.op: node.is_constant for node in graph.nodes} == {
            "parameter": True,
            "buffer": True,
            "mul": True,
            "exp": True,
            "input": False,
            "add": False,
        }
        assert {node.target for node in graph.nodes if node.is_parameter} == {"weight", "shift"}


class TestDynamicSizes:
    def test_are_equal_by_expression(self):
        graph = traced(
            lambda x: (x.view(x.shape[0] * x.shape[1], 8), x.flatten(0, 1)), torch.ones(3, 5, 8), dynamic=True
        )
        left, right = graph.outputs
        assert left.arguments[1][0] == right.arguments[1][0]
        assert isinstance(left.arguments[1][0], SymbolicSize)
        assert left.number == right.number

    def test_know_the_fx_node_that_computes_them(self):
        graph = traced(lambda x: x.view(x.shape[0] * x.shape[1], -1), torch.ones(3, 5, 8), dynamic=True)
        rows = only(graph, "reshape").arguments[1][0]
        assert rows.fx is not None and rows.fx.target.__name__ == "mul"

    def test_of_inputs_know_the_placeholder_that_has_them(self):
        graph = traced(lambda x: x.flatten(0, 1), torch.ones(3, 5, 8), dynamic=True)
        placeholder = graph.inputs[0]
        first = placeholder.shape[0]
        assert first.origin == (placeholder.fx, 0)
        assert graph.sizes.of_symbol(first.expression) is first

    def test_minus_one_is_resolved(self):
        graph = traced(lambda x: x.view(x.shape[0], -1, 4), torch.ones(3, 5, 8), dynamic=True)
        shape = only(graph, "reshape").arguments[1]
        assert -1 not in shape and shape[2] == 4

    def test_a_whole_dynamic_dim_is_no_slice(self):
        assert ops(traced(lambda x: x[:, : x.shape[1]].exp(), torch.ones(3, 5), dynamic=True)) == ["exp"]

    def test_a_size_that_is_known_after_all_is_an_int(self):
        shapes = {"input": {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}}
        program = torch.export.export(nn.Linear(8, 4), (torch.ones(3, 8),), dynamic_shapes=shapes)
        graph = canonicalize(program)
        rows, width = graph.inputs[0].shape
        assert isinstance(rows, SymbolicSize) and width == 8


class TestRealModels:
    def test_bert_is_made_of_documented_ops(self):
        graph = bert().graph
        assert not [node.op for node in graph.nodes if "." in node.op]
        assert len(graph.by_op["scaled_dot_product_attention"]) == 2
        assert len(graph.by_op["linear"]) == 13

    def test_bert_has_heads_of_known_sizes(self):
        shapes = {node.arguments[1][2:] for node in bert().graph.by_op["reshape"] if node.rank == 4}
        assert shapes == {(2, 32)}

    def test_gpt2_cubes_and_splits(self):
        graph = gpt2().graph
        assert [node.arguments[1] for node in graph.by_op["pow"]] == [3, 3]
        assert {node.arguments[1:] for node in graph.by_op["split"]} == {((64, 64, 64), 2)}

    def test_qwen3_rotates_by_slices(self):
        graph = qwen3().graph
        x = graph.by_op["slice"][0].arguments[0]
        assert {node.arguments[2:] for node in x.users if node.op == "slice"} == {(0, 16, 1), (16, 32, 1)}

    def test_a_cast_that_does_nothing_is_there_in_half_precision_only(self):
        assert "float32" in {node.arguments[1] for node in qwen3().graph.by_op["to"]}
        assert "float32" not in {
            n.arguments[1] for n in qwen3(torch.float32).graph.by_op["to"] if n.arguments[0].dtype == "float32"
        }

    def test_canonicalizing_leaves_the_program_alone(self):
        program = bert().program
        before = program.graph_module.code
        canonicalize(program)
        assert program.graph_module.code == before

    def test_twice_gives_the_same(self):
        first, second = canonicalize(gpt2().program), canonicalize(gpt2().program)
        assert [(n.op, n.name, n.number) for n in first.nodes] == [(n.op, n.name, n.number) for n in second.nodes]


UNARY = {"tanh": torch.tanh, "exp": torch.exp, "neg": torch.neg, "relu": torch.relu, "abs": torch.abs}


@given(st.lists(st.sampled_from(sorted(UNARY)), min_size=1, max_size=6), st.data())
@settings(max_examples=15, deadline=None)
def test_no_ops_anywhere_change_nothing(names, data):
    nothing = [lambda x: x.clone(), lambda x: x[:], lambda x: x + 0, lambda x: x.view(4), lambda x: x.detach()]
    between = [data.draw(st.sampled_from(nothing)) for _ in names]

    def plain(x):
        for name in names:
            x = UNARY[name](x)
        return x

    def padded(x):
        for name, no_op in zip(names, between, strict=True):
            x = UNARY[name](no_op(x))
        return x

    x = torch.ones(4)
    assert ops(traced(plain, x)) == ops(traced(padded, x)) == names
