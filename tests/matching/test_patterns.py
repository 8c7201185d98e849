"""What a pattern matches, and what it binds."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from spyre_dsl.graphs.capture import capture
from spyre_dsl.graphs.sizes import SymbolicSize
from spyre_dsl.language.parser import parse_expression
from spyre_dsl.matching.compile import PatternError, compile_pattern
from spyre_dsl.matching.no_match import NoMatch
from tests.captured import bert, gpt2, qwen3, traced
from tests.matching.rules import attempt, index, matches, rule

X = torch.ones(2, 6, 8)


class TestLiterals:
    CUBE = traced(lambda x: x.pow(3.0), X)

    @pytest.mark.parametrize(
        "pattern", ["pow($x, 3)", "pow($x, 3.0)", "$x ** 3", "$x ** 3.0", "pow(exponent=3, input=$x)", "pow($x, +3)"]
    )
    def test_match_by_value(self, pattern):
        assert matches(self.CUBE, pattern)

    @pytest.mark.parametrize(
        "pattern", ["pow($x, 2)", "pow($x, none)", "pow($x, true)", 'pow($x, "3")', "pow(3, $x)", "$x * 3"]
    )
    def test_and_nothing_else(self, pattern):
        assert not matches(self.CUBE, pattern)

    def test_negative_numbers(self):
        assert matches(traced(lambda x: x * -2, X), "$x * -2")

    def test_a_tensor_of_one_number_is_that_number(self):
        class Masked(torch.nn.Module):
            def forward(self, x, m):
                return torch.where(m, x, torch.tensor(-1e9)) * torch.full((), 2.0)

        graph = capture(Masked(), (X, X > 0)).graph
        found = list(index(rule("where($m, $x, -1e9) * 2")).matches(graph))
        assert len(found) == 1
        assert not matches(graph, "where($m, $x, -1e8) * 2") and not matches(graph, "where($m, $x, none) * 2")

    def test_true_is_not_one(self):
        graph = traced(lambda x: x.sum(-1, keepdim=True), X)
        assert matches(graph, "sum($x, -1, true)") and not matches(graph, "sum($x, -1, 1)")

    def test_strings_and_dtypes(self):
        assert matches(traced(lambda x: F.gelu(x, approximate="tanh"), X), 'gelu($x, approximate="tanh")')
        assert matches(traced(lambda x: x.half(), X), "to($x, float16)")
        assert matches(traced(lambda x: x.half(), X), 'to($x, "float16")')
        assert not matches(traced(lambda x: x.half(), X), "to($x, float32)")


class TestArguments:
    def test_a_missing_argument_matches_its_default_only(self):
        plain = traced(lambda q: F.scaled_dot_product_attention(q, q, q), X)
        masked = traced(lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m), X, torch.ones(6, 6))
        pattern = "scaled_dot_product_attention($q, $k, $v)"
        assert matches(plain, pattern)
        found = attempt(masked, pattern)
        assert isinstance(found, NoMatch) and "leaves out `attn_mask`, which means none" in found.reason

    def test_an_argument_may_be_bound_to_none(self):
        graph = traced(lambda x, w: F.linear(x, w), X, torch.ones(3, 8))
        assert attempt(graph, "linear($x, $w, $b)").bindings["b"] is None
        assert matches(graph, "linear($x, $w, none)") and matches(graph, "linear($x, $w)")

    def test_the_default_may_be_written_out(self):
        graph = traced(lambda x: x + x.exp(), X)
        assert matches(graph, "add($x, exp($x), alpha=1)")

    def test_keywords_go_by_the_documented_name(self):
        graph = traced(lambda x: F.softmax(x, dim=-1), X)
        assert matches(graph, "softmax(dim=-1, input=$x)")

    def test_dims_count_from_either_end(self):
        graph = traced(lambda x: x.mean(1, keepdim=True), X)
        assert (
            matches(graph, "mean($x, 1, true)")
            and matches(graph, "mean($x, -2, true)")
            and matches(graph, "mean($x, [-2], true)")
        )
        assert not matches(graph, "mean($x, -1, true)")

    def test_dims_of_a_wider_result(self):
        graph = traced(lambda x: x.unsqueeze(3), X)
        assert (
            matches(graph, "unsqueeze($x, -1)")
            and matches(graph, "unsqueeze($x, 3)")
            and not matches(graph, "unsqueeze($x, -2)")
        )

    def test_one_number_for_one_per_dimension(self):
        image, weight = torch.ones(1, 3, 8, 8), torch.ones(4, 3, 2, 2)
        graph = traced(lambda x, w: F.conv2d(x, w, stride=(2, 2)), image, weight)
        assert matches(graph, "conv2d($x, $w, stride=2)") and matches(graph, "conv2d($x, $w, stride=[2, 2])")
        assert not matches(graph, "conv2d($x, $w)")

    def test_anything(self):
        graph = traced(lambda x: x.softmax(-1), X)
        assert attempt(graph, "softmax(_, _)").bindings == {}

    def test_lists_match_item_by_item(self):
        graph = traced(lambda x: torch.cat([x.neg(), x], -1), X)
        assert matches(graph, "cat([neg($x), $x], -1)")
        assert not matches(graph, "cat([$x, neg($x)], -1)")
        assert not matches(graph, "cat([$x], -1)")
        assert len(attempt(graph, "cat($all, -1)").bindings["all"]) == 2

    def test_an_overload_by_its_exact_name(self):
        graph = traced(lambda x: x.pow(3), X)
        assert matches(graph, "aten.pow.Tensor_Scalar($x, 3)") and not matches(graph, "aten.pow.Tensor_Tensor($x, 3)")

    def test_an_op_without_a_documented_name(self):
        assert matches(traced(lambda x: torch.ops.aten.erfinv.default(x).exp(), X), "exp(aten.erfinv.default($x))")


class TestCaptures:
    def test_bind_the_value(self):
        graph = traced(lambda x: x.tanh() * 2, X)
        found = attempt(graph, "$t * $n")
        assert found.bindings["t"].op == "tanh" and found.bindings["n"] == 2

    def test_used_twice_must_be_the_same_value(self):
        same = traced(lambda x: x.sigmoid() * x, X)
        other = traced(lambda x, y: x.sigmoid() * y, X, X)
        assert matches(same, "sigmoid($x) * $x") and not matches(other, "sigmoid($x) * $x")

    def test_the_same_value_may_be_computed_twice(self):
        graph = traced(lambda x: x.view(2, 48).sigmoid() * x.reshape(2, -1), X)
        assert matches(graph, "sigmoid($x) * $x")

    def test_what_differs_is_named(self):
        found = attempt(traced(lambda x, y: x - y.exp(), X, X), "$x - exp($x)")
        assert "$x is `input` (x_1) elsewhere in the pattern and `input` (y_1) here" == found.reason

    def test_numbers_too(self):
        assert matches(traced(lambda x: x.clamp(-2, 2.0) * 2, X), "clamp($x, _, $n) * $n")
        assert not matches(traced(lambda x: x.clamp(-2, 2) * 3, X), "clamp($x, _, $n) * $n")

    def test_sizes_that_are_not_known_yet(self):
        graph = traced(
            lambda x: x.view(x.shape[0], x.shape[1], 2, 4).transpose(1, 2), torch.ones(3, 5, 8), dynamic=True
        )
        found = attempt(graph, "transpose(reshape($y, [$b, $s, $h, $d]), 1, 2)")
        assert [found.bindings[name] for name in "hd"] == [2, 4]
        assert isinstance(found.bindings["b"], SymbolicSize) and found.bindings["s"] == graph.inputs[0].shape[1]

    def test_the_same_size_that_is_not_known_yet(self):
        graph = traced(lambda x: x @ x.mT, torch.ones(3, 5, 8), dynamic=True)
        square = traced(lambda x: x.view(x.shape[0], x.shape[0]), torch.ones(3, 3), dynamic=True)
        assert matches(graph, "matmul($x, transpose($x, 1, 2))")
        assert square is not None


class TestOperandOrder:
    @pytest.mark.parametrize("pattern", ["$x * exp($y)", "exp($y) * $x", "mul($x, exp($y))", "mul(exp($y), $x)"])
    @pytest.mark.parametrize("write", [lambda x, y: x * y.exp(), lambda x, y: y.exp() * x])
    def test_does_not_matter_where_the_op_commutes(self, pattern, write):
        found = attempt(traced(write, X, X + 1), pattern)
        assert [found.bindings[name].name for name in "xy"] == ["x_1", "y_1"]

    def test_matters_where_it_does_not(self):
        graph = traced(lambda x, y: x - y.exp(), X, X)
        assert matches(graph, "$x - exp($y)") and not matches(graph, "exp($y) - $x")

    def test_a_choice_is_taken_back_if_it_leads_nowhere(self):
        graph = traced(lambda x, y: (x + y) * y, X, X + 1)
        found = attempt(graph, "($a + $b) * $a")
        assert found.bindings["a"].name == "y_1" and found.bindings["b"].name == "x_1"

    def test_scaled_addition_does_not_commute(self):
        graph = traced(lambda x, y: torch.add(x.exp(), y, alpha=2), X, X)
        assert matches(graph, "add(exp($x), $y, alpha=2)") and not matches(graph, "add($y, exp($x), alpha=2)")

    def test_numbers_may_stand_first(self):
        assert matches(traced(lambda x: 0.5 * x, X), "$x * 0.5") and matches(traced(lambda x: x * 0.5, X), "0.5 * $x")

    def test_too_many_orders_are_given_up(self):
        def balanced(leaves, add):
            while len(leaves) > 1:
                leaves = [add(left, right) for left, right in zip(leaves[::2], leaves[1::2], strict=True)]
            return leaves[0]

        graph = traced(lambda x, y: balanced(list(x.unbind()), torch.add) - y, torch.ones(32, 4), torch.ones(4))
        pattern = balanced([f"$c{n}" for n in range(32)], lambda left, right: f"({left} + {right})")
        assert matches(graph, f"{pattern} - $y")
        found = attempt(graph, f"{pattern} - $c0")
        assert isinstance(found, NoMatch) and "too many ways" in found.reason


class TestComputedArguments:
    ROTATE = "cat([neg(slice($x, -1, size($x, -1) // 2, end)), slice($x, -1, 0, size($x, -1) // 2)], -1)"

    @staticmethod
    def rotate_half(x):
        half = x.shape[-1] // 2
        return torch.cat([-x[..., half:], x[..., :half]], dim=-1)

    def test_are_compared_once_everything_is_bound(self):
        assert matches(traced(self.rotate_half, X), self.ROTATE)

    def test_and_must_be_right(self):
        third = traced(lambda x: torch.cat([-x[..., 3:], x[..., :3]], dim=-1), X)
        found = attempt(third, self.ROTATE)
        assert isinstance(found, NoMatch) and found.reason == "expected 4, found 3"

    def test_may_come_before_what_they_depend_on(self):
        graph = traced(lambda x: torch.full((2, 6, 8), 8.0) * x, X)
        assert matches(graph, "full([2, 6, 8], size($x, -1)) * $x")

    def test_with_sizes_that_are_not_known_yet(self):
        graph = traced(lambda x: x.view(x.shape[0], x.shape[1] * 2, 4), torch.ones(3, 5, 8), dynamic=True)
        assert matches(graph, "reshape($x, [size($x, 0), size($x, 1) * 2, 4])")
        assert not matches(graph, "reshape($x, [size($x, 0), size($x, 1) * 4, 4])")

    def test_arithmetic_on_captured_numbers(self):
        graph = traced(lambda x: F.scaled_dot_product_attention(x, x, x, scale=8**-0.5), X)
        assert matches(graph, "scaled_dot_product_attention($q, $k, $v, scale=size($q, -1) ** -0.5)")

    def test_dims_from_the_end(self):
        assert matches(traced(lambda x: x.softmax(-1), X), "softmax($x, rank($x) - 1)")
        assert matches(traced(lambda x: x.softmax(-1), X), "softmax($x, 1 - 2)")

    def test_what_cannot_be_computed_does_not_match(self):
        found = attempt(traced(lambda x: x * 2, X), "$x * size($x, 7)")
        assert isinstance(found, NoMatch) and "3 dimensions" in found.reason

    def test_an_operator_is_arithmetic_where_the_value_is_a_number(self):
        graph = traced(lambda x: (x * 2).clamp(0, 4), X)
        assert matches(graph, "clamp($x * $n, 0, $n + 2)")
        assert matches(traced(lambda x, y: torch.clamp(x, max=y * 2), X, X), "clamp($x, max=$y * 2)")


class TestShapes:
    def test_the_rest_of_a_reshape(self):
        assert attempt(traced(lambda x: x.view(-1, 8), X), "reshape($x, [-1, $k])").bindings["k"] == 8

    def test_end_is_the_end(self):
        assert matches(traced(lambda x: x[:, 2:], X), "slice($x, 1, 2, end)")
        assert not matches(traced(lambda x: x[:, 2:5], X), "slice($x, 1, 2, end)")
        assert matches(traced(lambda x: x[:, 2:], torch.ones(5, 6), dynamic=True), "slice($x, 1, 2, end)")

    def test_sections(self):
        graph = traced(lambda x: tuple(x.split(3, -1)), X)
        assert matches(graph, "split($x, 3, -1)[0]") and matches(graph, "split($x, [3, 3, 2], -1)[0]")
        assert matches(graph, "split($x, [$a, $a, $b], 2)[0]")
        assert not matches(graph, "split($x, 4, -1)[0]") and not matches(graph, "chunk($x, 2, -1)[0]")
        assert matches(graph, "chunk($x, 3, -1)[0]")
        assert matches(traced(lambda x: tuple(x.split(4, -1)), X), "chunk($x, 2, -1)[0]")

    @pytest.mark.parametrize(
        "pattern, write",
        [
            ("exp(view($x, [2, 48]))", lambda x: x.flatten(1)),
            ("exp(flatten($x, 1))", lambda x: x.view(2, 48)),
            ("exp(unflatten($x, -1, [2, $d]))", lambda x: x.view(2, 6, 2, 4)),
            ("exp(permute($x, [0, 2, 1]))", lambda x: x.mT),
            ("exp(transpose($x, -1, -2))", lambda x: x.permute(0, 2, 1)),
            ("exp(narrow($x, -1, 2, $n))", lambda x: x[..., 2:5]),
            ("exp(contiguous($x))", lambda x: x),
            ("exp(dropout($x, 0.1, false))", lambda x: x),
            ("exp(rsub($x, 1))", lambda x: 1 - x),
            ("exp(swapaxes($x, 1, 2))", lambda x: x.transpose(2, 1)),
            ("exp(narrow($x, -1, 2, 3))", lambda x: x[..., 2:5]),
        ],
    )
    def test_ops_that_the_graph_says_in_other_words(self, pattern, write):
        assert matches(traced(lambda x: write(x).exp(), X), pattern)

    @pytest.mark.parametrize(
        "pattern, write",
        [
            ("exp(flatten($x))", lambda x: x.view(2, 48)),
            ("exp(unflatten($x, 1, [2, $d]))", lambda x: x.view(2, 6, 2, 4)),
            ("exp(permute($x, [0, 2, 1]))", lambda x: x.permute(1, 0, 2)),
            ("exp(narrow($x, -1, 2, 4))", lambda x: x[..., 2:5]),
            ("exp(chunk($x, 2, -1)[0])", lambda x: x.chunk(4, -1)[0]),
        ],
    )
    def test_but_not_something_else(self, pattern, write):
        assert not matches(traced(lambda x: write(x).exp(), X), pattern)

    def test_type_as_and_expand_as(self):
        graph = traced(lambda x, y: (x.to(y.dtype), x[:, :1].expand(2, 6, 8) + x), X, X.half())
        assert matches(graph, "to($x, float16)") and matches(graph, "expand_as($part, $x) + $x", root=1)


class TestOutputs:
    def test_of_ops_that_have_several(self):
        graph = traced(lambda x: x.topk(2), X)
        assert matches(graph, "topk($x, 2)[0]") and not matches(graph, "topk($x, 2)[1]")
        assert attempt(graph, "topk($x, 2)[$i]", root=1).bindings["i"] == 1

    def test_of_whatever_op(self):
        found = attempt(traced(lambda x: x.topk(2), X), "exp(_)")
        assert isinstance(found, NoMatch) and found.reason == "expected `exp`, found `getitem`"


class TestPlaces:
    def test_a_pattern_may_span_modules(self):
        captured = gpt2()
        found = index(
            rule("split(reshape(addmm($b, reshape($x, [-1, $k]), $w), _), $sections, -1)[$i]"), model=captured.model
        )
        owners = {match.owner for match in found.matches(captured.graph)}
        assert owners == {"transformer.h.0.attn", "transformer.h.1.attn"}

    def test_and_belong_to_the_module_that_ran_all_of_it(self):
        captured = bert()
        found = index(rule("linear(gelu(linear($x, $w, $b)), $v, $c)"), model=captured.model)
        assert [match.owner for match in found.matches(captured.graph)] == ["encoder.layer.0", "encoder.layer.1"]

    def test_values_in_between_may_have_other_users(self):
        graph = traced(lambda x: (x.exp().neg(), x.exp().tanh()), X)
        shared = traced(lambda x: (lambda e: (e.neg(), e.tanh()))(x.exp()), X)
        assert matches(graph, "neg(exp($x))") and matches(shared, "neg(exp($x))")

    def test_the_whole_of_an_rms_norm(self):
        captured = qwen3()
        norm = "$w * to(to($x, float32) * rsqrt(mean(to($x, float32) ** 2, -1, true) + $eps), $d)"
        found = list(index(rule(norm), model=captured.model).matches(captured.graph))
        assert len(found) == 9
        assert {match.bindings["d"] for match in found} == {"float16"}
        assert all(len(match.nodes) == 8 for match in found)
        assert all(match.owner.endswith(("norm", "layernorm")) for match in found)

    def test_what_is_overwritten_before_the_root_does_not_match(self):
        def function(x):
            y = x * 2
            z = y.exp()
            y.add_(1)
            return z.neg(), y

        found = attempt(traced(function, X), "neg(exp($y))")
        assert isinstance(found, NoMatch) and found.reason == "`mul` is changed in place before `neg` is computed"


class TestWhatIsNoPattern:
    @pytest.mark.parametrize(
        "text, message",
        [
            ("$x", "starts with an op"),
            ("3", "starts with an op"),
            ("powr($x, 3)", "unknown op `powr`"),
            ("pow($x)", "the arguments do not fit"),
            ("exp(thing)", "nothing is called `thing`"),
            ("size($x, 0)", "starts with an op"),
            ("[$x]", "starts with an op"),
            ("$x and $y", "starts with an op"),
        ],
    )
    def test_is_refused(self, text, message):
        with pytest.raises(PatternError, match=message):
            compile_pattern(parse_expression(text))
