"""Evaluation is total: a value, or a problem with the part of the expression that has none."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from spyre_dsl.graphs.node import Node
from spyre_dsl.language.parser import SyntaxProblem, parse_expression
from spyre_dsl.matching.environment import Environment
from spyre_dsl.matching.evaluate import evaluate, first_failure
from spyre_dsl.matching.no_match import EvaluationProblem
from tests.captured import traced
from tests.matching.rules import FakeStack

FIXED = traced(lambda x, w: (x.half() @ w, w), torch.ones(2, 6, 32), torch.ones(32, 4).half())
OPEN = traced(lambda x: x * 2, torch.ones(3, 5, 8), dynamic=True)


class Module(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4, 6))
        self.eps = 1e-6
        self.sizes = [4, 6]
        self.kind = torch.float16
        self.inner = nn.Linear(6, 2)

    @property
    def broken(self):
        raise RuntimeError("not today")

    def method(self):
        return 1


CONFIG = SimpleNamespace(hidden_size=64, layers=[1, 2], rope={"theta": 1e4}, text_config=SimpleNamespace(head_dim=32))
ENVIRONMENT = Environment(
    config=CONFIG,
    stack=FakeStack(supported=("aten.pow",)),
    module=Module(),
    bindings={"x": FIXED.outputs[0], "w": FIXED.inputs[1], "n": 3, "none": None, "dims": (1, 2)},
    names={"d": 32},
    sizes=FIXED.sizes,
)


def value(text: str, environment: Environment = ENVIRONMENT):
    return evaluate(parse_expression(text), environment)


def problem(text: str, environment: Environment = ENVIRONMENT) -> EvaluationProblem:
    found = value(text, environment)
    assert isinstance(found, EvaluationProblem), found
    return found


@pytest.mark.parametrize(
    "text, expected",
    [
        ("1 + 2 * 3", 7),
        ("7 // 2", 3),
        ("7 / 2", 3.5),
        ("-7 % 4", 1),
        ("2 ** 10", 1024),
        ("d ** -0.5", 32**-0.5),
        ("-$n", -3),
        ("[1, 2] + [3]", (1, 2, 3)),
        ("[4, 5][1]", 5),
        ("$dims[0]", 1),
        ("1 < 2 < 3", True),
        ("1 == 1.0", True),
        ("1 == true", False),
        ("2 in [1, 2.0]", True),
        ("2 not in [1]", True),
        ("not false", True),
        ("true and false", False),
        ("true or $unbound", True),
        ("false and $unbound", False),
        ("1 if true else $unbound", 1),
        ("none == $none", True),
        ('"a" != "b"', True),
        ("dtype($x) == float16", True),
        ('dtype($x) == "float16"', True),
        ('"float32" == dtype($x)', False),
        ('dtype($x) in ["float16", float32]', True),
        ('finfo_max("float16")', 65504.0),
        ("size($x, -1)", 4),
        ("size($x, 1)", 6),
        ("rank($x)", 3),
        ("shape($x)", (2, 6, 4)),
        ("numel($x)", 48),
        ("users($w)", 2),
        ("is_parameter($x)", False),
        ("is_constant(3)", True),
        ("is_float($x)", True),
        ("is_float(3)", False),
        ("default($none, 7)", 7),
        ("default($n, 7)", 3),
        ("same($x, $x)", True),
        ("same($x, $w)", False),
        ("same(self.weight, self.weight)", True),
        ("same(1, self.weight)", False),
        ("round_up(33, 64)", 64),
        ("round_up(64, 64)", 64),
        ("min_of(3, 1, 2)", 1),
        ("max_of(3, 1.5)", 3),
        ("len($dims)", 2),
        ("finfo_min(float16)", -65504.0),
        ("finfo_max(bfloat16) > 1e38", True),
        ("stack.stick", 64),
        ("stack.name", "2026-06"),
        ('stack.supports("aten.pow", "float16")', True),
        ('stack.supports("aten.exp", float16)', False),
        ("config.hidden_size", 64),
        ("config.rope.theta", 1e4),
        ("config.head_dim", 32),
        ("config.layers", (1, 2)),
        ("self.eps", 1e-6),
        ("self.sizes", (4, 6)),
        ("self.kind == float16", True),
        ("size(self.weight, 0)", 4),
        ("dtype(self.weight)", "float32"),
        ("is_parameter(self.weight)", True),
        ("self.inner.in_features", 6),
        ("d", 32),
        ("float32", "float32"),
    ],
)
def test_values(text, expected):
    assert value(text) == expected


@pytest.mark.parametrize(
    "text, part, message",
    [
        ("1 + $missing", "$missing", "$missing is not bound"),
        ("1 / 0", "1 / 0", "division by zero: 1 / 0"),
        ("3 + 1 % 0", "1 % 0", "division by zero"),
        ("size($x, 3)", "size($x, 3)", "has 3 dimensions, so no dim 3"),
        ("size($n, 0)", "size($n, 0)", "3 has no sizes"),
        ("$x + 1", "$x + 1", "`+` needs numbers; the tensor `matmul` is none"),
        ("$x == 1", "$x == 1", "use same(x, y)"),
        ("config.nothing", "config.nothing", "the config has no key `nothing`"),
        ("self.nothing", "self.nothing", "`self` has no `nothing`"),
        ("self.method", "self.method", "is a method"),
        ("self.broken", "self.broken", "cannot be read: not today"),
        ("exp($x)", "exp($x)", "`exp` makes a tensor"),
        ("pad_last($x, 64)", "pad_last($x, 64)", "makes a tensor"),
        ("2 ** 100000", "2 ** 100000", "too large"),
        ("(-8) ** 0.5", "(-8) ** 0.5", "no real number"),
        ("1e300 ** 3", "1e300 ** 3", "too large"),
        ("[1][1]", "[1][1]", "no item 1"),
        ("true and 3", "3", "must be true or false; it is 3"),
        ("nobody", "nobody", "nothing is called `nobody`"),
        ("finfo_min(int64)", "finfo_min(int64)", "no floating-point dtype"),
        ('"a" < 1', '"a" < 1', "`<` needs numbers"),
        ("1 in 2", "1 in 2", "needs a list"),
        ("len(3)", "len(3)", "needs a list"),
        ("$x[0]", "$x[0]", "items of a tensor"),
        ("[1] * 3", "[1] * 3", "needs numbers"),
        ("$x @ $w", "$x @ $w", "needs numbers"),
        ("2 @ 3", "2 @ 3", "works on tensors only"),
    ],
)
def test_problems_name_the_part_that_has_no_value(text, part, message):
    found = problem(text)
    assert text[found.span.start : found.span.end] == part
    assert message in found.text


def test_private_attributes_stay_private():
    assert "private" in problem("self._parameters").text


def test_what_is_not_there_is_not_known():
    empty = Environment()
    assert "no config is known" in problem("config.a", empty).text
    assert "`stack` is not known" in problem("stack.stick", empty).text
    assert "`self` is not known" in problem("self.a", empty).text
    assert "no stack is known" in problem('stack.supports("a", float16)', empty).text


class TestSizesThatAreNotKnownYet:
    def environment(self) -> Environment:
        return Environment(bindings={"x": OPEN.inputs[0]}, sizes=OPEN.sizes, stack=FakeStack())

    def test_arithmetic_gives_sizes(self):
        found = value("size($x, 0) * size($x, 1)", self.environment())
        batch, sequence, _ = OPEN.inputs[0].shape
        assert found.expression == batch.expression * sequence.expression

    def test_arithmetic_that_ends_in_a_number_gives_one(self):
        assert value("size($x, 0) - size($x, 0)", self.environment()) == 0
        assert value("round_up(size($x, 0), 1) == size($x, 0)", self.environment()) is True

    def test_what_is_true_of_any_size_is_true(self):
        assert value("size($x, 0) == size($x, 0)", self.environment()) is True
        assert value("size($x, 0) >= 0", self.environment()) is True
        assert value("size($x, 0) + 1 > size($x, 0)", self.environment()) is True
        assert value("size($x, 0) < 0", self.environment()) is False

    @pytest.mark.parametrize(
        "guard", ["size($x, 1) % stack.stick != 0", "size($x, 0) == 3", "size($x, 0) < 100", "size($x, 0) != 5"]
    )
    def test_what_depends_on_the_size_is_not_known(self, guard):
        assert "only known when the model runs" in problem(guard, self.environment()).text

    def test_asking_adds_no_guard_to_the_graph(self):
        shape_env = OPEN.inputs[0].shape[0].value.node.shape_env
        before = len(shape_env.guards)
        value("size($x, 0) % 64 == 0 or size($x, 1) < 7", self.environment())
        assert len(shape_env.guards) == before


class TestGuards:
    def failure(self, text):
        return first_failure(parse_expression(text), ENVIRONMENT)

    def test_that_hold_fail_nowhere(self):
        assert self.failure("size($x, -1) == 4 and rank($x) == 3") is None

    def test_of_a_conjunction_the_first_false_part_is_named(self):
        text = "rank($x) == 3 and size($x, -1) % stack.stick == 0 and $unbound"
        found = self.failure(text)
        assert text[found.span.start : found.span.end] == "size($x, -1) % stack.stick == 0"
        assert found.actual == 4
        assert found.reason == "the guard needs a value == 0; it is 4"

    def test_of_a_disjunction_the_whole_is_named(self):
        found = self.failure("rank($x) == 2 or rank($x) == 4")
        assert found.span.start == 0 and "needs this to be true" in found.reason

    def test_a_guard_is_true_or_false(self):
        assert self.failure("size($x, -1)").reason == "a guard is true or false; this is 4"

    def test_two_words(self):
        assert self.failure("dtype($x) == float32").reason == "the guard needs `float16` == `float32`"

    def test_a_guard_without_a_value_does_not_hold(self):
        assert self.failure("size($x, 9) == 1").reason.endswith("has 3 dimensions, so no dim 9")


ATOMS = st.sampled_from(
    [
        "1",
        "0",
        "2.5",
        "-3",
        "$x",
        "$n",
        "$none",
        "$dims",
        "true",
        "none",
        '"s"',
        "float16",
        "config.rope",
        "self.weight",
        "[1, 2]",
        "$u",
        "d",
    ]
)
OPERATORS = st.sampled_from(["+", "-", "*", "/", "//", "%", "**", "@", "<", "==", "!=", "in", "and", "or"])
CALLS = st.sampled_from(
    [
        "size({}, {})",
        "round_up({}, {})",
        "default({}, {})",
        "same({}, {})",
        "min_of({}, {})",
        "{} if {} else 1",
        "len([{}, {}])",
    ]
)
TEXTS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, OPERATORS, inner),
        st.builds(lambda call, a, b: call.format(f"({a})", f"({b})"), CALLS, inner, inner),
    ),
    max_leaves=12,
)


@given(TEXTS)
@settings(max_examples=300, deadline=None)
def test_no_expression_ends_in_an_exception(text):
    try:
        expression = parse_expression(text)
    except SyntaxProblem:
        return
    found = evaluate(expression, ENVIRONMENT)
    if isinstance(found, EvaluationProblem):
        assert 0 <= found.span.start <= found.span.end <= len(text) and found.text
    else:
        assert (
            found is None
            or isinstance(found, (bool, int, float, str, tuple, dict, Node, torch.Tensor))
            or hasattr(found, "expression")
        )


def test_a_tensor_that_always_holds_one_number_counts_as_that_number():
    graph = traced(lambda x: torch.where(x > 0, x, torch.full((), -1e9)), torch.ones(4, 8))
    environment = Environment(bindings={"low": graph.outputs[0].arguments[2]}, sizes=graph.sizes)
    assert value("$low < -1e4", environment) is True
    assert value("$low / 2", environment) == -5e8
