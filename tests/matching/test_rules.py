"""The rule index: which rules are tried where, and in which order their matches come."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spyre_dsl.language.adapter import AdapterSet
from spyre_dsl.matching.rules import Match, compile_rules, match_at
from spyre_dsl.matching.scope import MatchContext
from tests.captured import bert, gpt2, qwen3, traced
from tests.matching.rules import adapter, index, matches, rule

X = torch.ones(2, 6, 8)


class TestOrder:
    GRAPH = traced(lambda x: (x.pow(2).mean(-1, True) + 1e-6).rsqrt() * x.pow(3), X)

    def order(self, *rules):
        return [match.rule.name for match in index(*rules).matches(self.GRAPH)]

    def test_the_more_specific_pattern_first(self):
        general = rule("pow($x, $n)", name="general")
        cube = rule("pow($x, 3)", name="cube")
        norm = rule("rsqrt(mean(pow($x, 2), -1, true) + $eps)", name="norm")
        assert self.order(general, cube, norm) == ["norm", "cube", "general", "general"]
        assert self.order(norm, cube, general) == ["norm", "cube", "general", "general"]

    def test_priority_before_that(self):
        assert self.order(rule("pow($x, 3)", name="cube"), rule("pow($x, $n)", name="general", priority=1)) == [
            "general",
            "general",
            "cube",
        ]

    def test_file_order_after_that(self):
        assert self.order(rule("pow($y, 3)", name="one"), rule("pow($x, 3)", name="two")) == ["one", "two"]

    def test_a_guard_makes_a_rule_more_specific(self):
        assert self.order(rule("pow($x, 3)", name="plain"), rule("pow($x, 3)", "rank($x) == 3", name="guarded")) == [
            "guarded",
            "plain",
        ]

    def test_graph_order_within_a_rule(self):
        found = list(index(rule("pow($x, $n)")).matches(self.GRAPH))
        assert [match.bindings["n"] for match in found] == [2, 3]


class TestMatches:
    def test_say_what_they_cover(self):
        (found,) = index(rule("exp(neg($x))")).matches(traced(lambda x: x.abs().neg().exp(), X))
        assert found.root.op == "exp" and {node.op for node in found.nodes} == {"exp", "neg"}
        assert found.bindings["x"].op == "abs"

    def test_may_overlap(self):
        graph = traced(lambda x: x.exp().exp().exp(), X)
        assert len(list(index(rule("exp(exp($x))")).matches(graph))) == 2

    def test_at_given_roots_only(self):
        graph = traced(lambda x: x.exp().exp(), X)
        assert len(list(index(rule("exp($x)")).matches(graph, [graph.outputs[0]]))) == 1

    def test_rules_that_name_a_module_match_no_node(self):
        found = index(rule(None, module="*Attention"), model=bert().model)
        assert list(found.matches(bert().graph)) == []


class TestTheIndex:
    PATTERNS = (
        "pow($x, 3)",
        "$x * 0.5",
        "$x + 1",
        "tanh($x * $n)",
        "linear(gelu($x), $w, $b)",
        "layer_norm($x + $y, _, $w, $b, eps=$e)",
        "cat([neg($a), $b], -1)",
        "split($x, 64, 2)[1]",
        "transpose(reshape($x, [_, _, $h, $d]), 1, 2)",
        "mean($x ** 2, -1, true)",
        "$w * to(to($x, float32) * rsqrt($m), float16)",
        "reshape(transpose(scaled_dot_product_attention($q, $k, $v, $m, scale=$s), 1, 2), $n)",
        "addmm($b, $x, $w)",
        "embedding($i, $w)",
        "bitwise_and($x, _)",
        "unsqueeze(arange(0, $n), 0)",
        "sub($x, $y)",
        "rsqrt($x + 1e-6)",
    )

    def test_rejects_nothing_that_would_match(self):
        for captured in (bert(), gpt2(), qwen3()):
            found = index(*(rule(text, name=text) for text in self.PATTERNS), model=captured.model)
            quick = {(match.rule.name, match.root) for match in found.matches(captured.graph)}
            slow = {
                (one.rule.name, node)
                for one in found.rules
                for node in captured.graph.nodes
                if isinstance(match_at(one, node, captured.graph, found.context), Match)
            }
            assert quick == slow

    def test_rejects_by_op_of_arguments_and_by_literals(self):
        graph = traced(lambda x: x.exp() * 2, X)
        root = graph.outputs[0]
        texts = ["$x * 2", "exp($x) * $y", "exp($x) * 2.0", "$x * 3", "neg($x) * $y", "exp(neg($x)) * $y"]
        found = index(*(rule(text, name=text) for text in texts))
        assert {one.rule.name for _, one in found.candidates(root)} == set(texts[:3])

    def test_tries_only_what_could_match(self):
        captured = bert()
        many = [rule(f"pow($x, {n})", name=f"p{n}") for n in range(500)] + [
            rule(f"gelu($x) * {n}", name=f"g{n}") for n in range(500)
        ]
        found = index(*many, model=captured.model)
        assert sum(len(found.candidates(node)) for node in captured.graph.nodes) == 0


class TestSeveralAdapters:
    def test_are_one_set(self):
        first, second = (
            adapter(rule("exp($x)", name="one"), name="first"),
            adapter(rule("neg($x)", name="two"), name="second"),
        )
        found = compile_rules(AdapterSet((first, second)), MatchContext())
        assert [one.name for one in found.rules] == ["first/one", "second/two"]
        graph = traced(lambda x: x.neg().exp(), X)
        assert [match.adapter.name for match in found.matches(graph)] == ["first", "second"]


UNARY = ["tanh", "exp", "neg", "abs", "sigmoid", "relu"]
BINARY = ["add", "mul", "sub", "div", "maximum"]
COMMUTATIVE = {"add", "mul", "maximum"}

TREES = st.recursive(
    st.sampled_from(["x", "y", "z"]),
    lambda inner: st.one_of(st.tuples(st.sampled_from(UNARY), inner), st.tuples(st.sampled_from(BINARY), inner, inner)),
    max_leaves=8,
).filter(lambda tree: isinstance(tree, tuple))


def run(tree, inputs):
    if isinstance(tree, str):
        return inputs[tree]
    return getattr(torch, tree[0])(*(run(part, inputs) for part in tree[1:]))


def written(tree, swap=lambda: False):
    if isinstance(tree, str):
        return f"${tree}"
    parts = [written(part, swap) for part in tree[1:]]
    if tree[0] in COMMUTATIVE and swap():
        parts.reverse()
    return f"{tree[0]}({', '.join(parts)})"


def graph_of(tree):
    return traced(
        lambda x, y, z: run(tree, {"x": x, "y": y, "z": z}), torch.ones(4), torch.ones(4) * 2, torch.ones(4) * 3
    )


class TestProperties:
    @given(TREES)
    @settings(max_examples=40, deadline=None)
    def test_every_expression_matches_itself(self, tree):
        assert matches(graph_of(tree), written(tree))

    @given(TREES, st.randoms(use_true_random=False))
    @settings(max_examples=40, deadline=None)
    def test_operand_order_does_not_matter(self, tree, random):
        assert matches(graph_of(tree), written(tree, lambda: random.random() < 0.5))

    @given(TREES)
    @settings(max_examples=20, deadline=None)
    def test_what_is_bound_is_what_was_there(self, tree):
        graph = graph_of(tree)
        (first, *_) = list(index(rule(written(tree))).matches(graph, [graph.outputs[0]]))
        names = {value.name.removesuffix("_1") for value in first.bindings.values()}
        assert names <= {"x", "y", "z"}

    @given(TREES, st.sampled_from(UNARY))
    @settings(max_examples=20, deadline=None)
    def test_a_deeper_pattern_matches_no_shallower_graph(self, tree, extra):
        assert not matches(graph_of(tree), f"{extra}({written(tree)})") or tree[0] == extra
