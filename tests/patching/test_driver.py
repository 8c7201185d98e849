"""Rewriting a graph to its fixed point: order, chains, loops, refusals."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from spyre_dsl.patching.errors import RewriteError, RewriteLoop
from spyre_dsl.patching.plan import plan
from tests.patching.rules import STACK, rules


class Function(nn.Module):
    """A module that computes a function of its arguments; ``inner`` is called as a module of its own."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


X = torch.randn(4, 6, generator=torch.Generator().manual_seed(0))


def planned(function, body, *args, **options):
    model = Function(function).eval()
    return model, plan(model, rules(body), args or (X,), stack=STACK, **options)


def code(made):
    return "\n".join(entry.code for entry in made.owners[0].table.all())


def rule(name, op, rewrite, extra="", where=""):
    guard = f", where: {where}" if where else ""
    return f"- name: {name}\n  match: {{op: '{op}'{guard}}}\n  rewrite: {{op: '{rewrite}'}}\n{extra}"


def same(model, made, *args):
    args = args or (X,)
    wanted = model(*args)
    with made.applied(model):
        found = model(*args)
    torch.testing.assert_close(found, wanted)
    return found


def test_a_value_that_others_read_too_keeps_its_op():
    model, made = planned(
        lambda x: (torch.sigmoid(x) * x, torch.sigmoid(x) + 1), rule("silu", "sigmoid($x) * $x", "silu($x)")
    )
    assert len(made.patches) == 1
    with made.applied(model):
        left, right = model(X)
    torch.testing.assert_close(left, torch.nn.functional.silu(X))
    torch.testing.assert_close(right, torch.sigmoid(X) + 1)


def test_the_more_specific_pattern_goes_first():
    general = rule("general", "exp($x)", "1 / exp(neg($x))".replace("exp(neg($x))", "pow(2.718281828459045, neg($x))"))
    special = rule("special", "exp(log($x))", "abs($x)")
    model, made = planned(lambda x: torch.exp(torch.log(x)), general + special, X.abs() + 1)
    assert [patch.rule for patch in made.patches] == ["special"]


def test_priority_goes_before_specificity():
    general = rule("general", "exp($x)", "expm1($x) + 1", "  priority: 1\n")
    special = rule("special", "exp(log($x))", "abs($x)")
    _, made = planned(lambda x: torch.exp(torch.log(x)), general + special, X.abs() + 1)
    assert [patch.rule for patch in made.patches] == ["general"]


def test_neighbouring_matches_of_one_round_see_each_others_results():
    body = rule("square", "pow($x, 2)", "$x * $x") + rule("cube", "pow($x, 3)", "$x * $x * $x")
    model, made = planned(lambda x: (x**2) ** 3 + (x**3) ** 2, body)
    assert len(made.patches) == 4 and "pow" not in code(made)
    same(model, made)


def test_a_rule_may_match_what_another_wrote():
    body = rule("one", "relu($x)", "clamp_min($x, 0)") + rule("two", "clamp_min($x, 0)", "maximum($x, zeros_like($x))")
    model, made = planned(torch.relu, body)
    assert [patch.rule for patch in made.patches] == ["one", "two"]
    same(model, made)


def test_rules_that_undo_each_other_are_named():
    body = rule("there", "relu($x)", "clamp_min($x, 0)") + rule("back", "clamp_min($x, 0)", "relu($x)")
    with pytest.raises(RewriteLoop, match="undo each other: test/there -> test/back") as caught:
        planned(torch.relu, body)
    assert caught.value.rules == ("test/there", "test/back")


def test_a_rule_that_feeds_itself_is_named():
    with pytest.raises(RewriteLoop, match="feed each other without an end: test/grow -> test/grow"):
        planned(torch.sin, rule("grow", "sin($x)", "sin($x) * 1.5 / 1.5"))


def test_two_rules_that_feed_each_other_are_named():
    body = rule("a", "sin($x)", "cos($x - 1.5) * 1.0") + rule("b", "cos($x)", "sin($x + 1.5) * 1.0")
    with pytest.raises(RewriteLoop) as caught:
        planned(torch.sin, body)
    assert set(caught.value.rules) == {"test/a", "test/b"}


def test_a_changed_shape_is_refused_with_both_shown():
    message = r"test/short at the model \(.*\): the rewrite changes float32\[s\d+, s\d+\] into float32\[s\d+, 3\]"
    with pytest.raises(RewriteError, match=message):
        planned(torch.tanh, rule("short", "tanh($x)", "narrow(tanh($x), -1, 0, 3)"))


def test_a_changed_dtype_is_refused_with_both_shown():
    with pytest.raises(
        RewriteError, match=r"changes float32\[.*\] into float16\[.*\]; a rewrite must keep shape and dtype"
    ):
        planned(torch.tanh, rule("narrower", "tanh($x)", "to(tanh($x), float16)"))


def test_a_number_in_place_of_a_tensor_is_refused():
    with pytest.raises(RewriteError, match="the rewrite is 3, which is no tensor"):
        planned(torch.tanh, rule("number", "tanh($x)", "3"))


def test_arguments_that_no_overload_takes_are_refused_with_their_types():
    with pytest.raises(
        RewriteError, match=r"matmul\(input=float32\[.*\], other=float32\[.*\]\) fits none of its overloads"
    ):
        planned(torch.tanh, rule("wrong", "tanh($x)", "matmul($x, $x)"))


def test_outputs_of_a_multi_output_op_are_replaced_together():
    body = rule("halves", "split($x, [2, 4], 1)", "[narrow($x, 1, 0, 2), narrow($x, 1, 2, 4)]")
    model, made = planned(lambda x: torch.split(x, [2, 4], 1), body)
    assert "split" not in code(made)
    found = same(model, made)
    assert [tuple(part.shape) for part in found] == [(4, 2), (4, 4)]


def test_one_output_of_a_multi_output_op_is_replaced_alone():
    body = rule("first", "split($x, [2, 4], 1)[0]", "slice($x, 1, 0, 2)")
    model, made = planned(lambda x: torch.split(x, [2, 4], 1), body)
    assert "split" in code(made) and "slice" in code(made)
    same(model, made)


def test_a_graph_that_writes_in_place_is_rewritten_as_if_it_did_not():
    def function(x):
        y = x * 2
        y.add_(torch.relu(y))
        return y * 1.5

    model, made = planned(function, rule("relu", "relu($x)", "clamp_min($x, 0)"))
    assert len(made.patches) == 1
    same(model, made)


def test_dynamic_sizes_in_a_rewrite_stay_dynamic():
    body = rule("flat", "tanh($x)", "reshape(tanh(reshape($x, [size($x, 0) * size($x, 1)])), shape($x))",
                where="rank($x) == 2")  # fmt: skip
    model, made = planned(torch.tanh, body)
    same(model, made)
    with made.applied(model):
        torch.testing.assert_close(model(torch.ones(7, 3)), torch.tanh(torch.ones(7, 3)))
    assert len(made.owners[0].table.all()) == 1


def test_random_ops_that_a_rewrite_replaced_are_gone():
    def function(x):
        return torch.nn.functional.scaled_dot_product_attention(x, x, x)

    body = rule("by-hand", "scaled_dot_product_attention($q, $k, $v)",
                "matmul(softmax(matmul($q, transpose($k, -2, -1)) * (8 ** -0.5), -1), $v)")  # fmt: skip
    model, made = planned(function, body, torch.randn(2, 3, 5, 8))
    assert "scaled_dot_product_attention" not in code(made)
    same(model, made, torch.randn(2, 3, 4, 8))


def test_a_model_that_no_rule_fits_has_an_empty_plan():
    model, made = planned(torch.tanh, rule("none", "erf($x)", "tanh($x)"))
    assert made.patches == () and made.owners == ()
    assert str(made) == "no rule applies to this Function"
    with made.applied(model):
        assert torch.equal(model(X), torch.tanh(X))
