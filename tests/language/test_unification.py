"""Two patterns unify exactly if some graph matches both, as far as the patterns tell."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spyre_dsl.language.parser import parse_expression
from spyre_dsl.language.printing import show
from spyre_dsl.language.term_builder import MAX_TERMS, Terms, TooLarge
from spyre_dsl.language.terms import App, Composite, Host, Lit, Seq, Term, Var, substitute
from spyre_dsl.language.unification import generalizes, unifier
from spyre_dsl.language.witness import expression_of


def term(text: str, prefix: str = "") -> Term:
    return Terms(prefix).build(parse_expression(text))


def unify(a: str, b: str) -> bool:
    found = unifier(term(a, "1:"), term(b, "2:"))
    assert (found is None) == (unifier(term(b, "2:"), term(a, "1:")) is None)
    return found is not None


# Terms: what means the same is the same.


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("$x ** 3", "pow($x, 3)"),
        ("$x * 2", "mul($x, 2)"),
        ("-$x", "neg($x)"),
        ("multiply($x, $y)", "mul($x, $y)"),
        ("aten.pow.Tensor_Scalar($x, 3)", "pow($x, exponent=3)"),
        ("cat([$x, $y])", "cat([$x, $y], dim=0)"),
        ("mean($x, -1)", "mean($x, [-1])"),
        ("contiguous(exp($x))", "exp($x)"),
        ("t($x)", "transpose($x, -2, -1)"),
        ("rsub($x, 1)", "1 - $x"),
    ],
)
def test_what_means_the_same_is_the_same_term(one: str, other: str) -> None:
    assert term(one) == term(other)


def test_arithmetic_of_plain_values_is_no_op() -> None:
    found = term("slice($x, -1, size($x, -1) // 2, end)")
    assert isinstance(found, App) and isinstance(found.args[2], Host) and found.args[2].function == "//"


def test_a_capture_that_is_first_a_number_stays_one() -> None:
    terms = Terms()
    terms.build(parse_expression("transpose($x, $d, 0)"))
    assert isinstance(terms.build(parse_expression("$d + 1")), Host)
    assert isinstance(terms.build(parse_expression("$x + 1")), App)


def test_each_wildcard_is_a_variable_of_its_own() -> None:
    found = term("add(_, _)")
    assert isinstance(found, App) and found.args[0] != found.args[1]


def test_composites_are_not_ops() -> None:
    assert term("pad_last($x, 64)") == Composite("pad_last", (Var("x"), Lit(64)))


def test_terms_that_explode_are_refused() -> None:
    terms = Terms()
    terms.lets["a0"] = terms.build(parse_expression("$x * $x"))
    with pytest.raises(TooLarge):
        for number in range(1, MAX_TERMS):
            terms.lets[f"a{number}"] = terms.build(parse_expression(f"a{number - 1} * a{number - 1}"))


def test_terms_that_nest_too_deep_are_refused() -> None:
    terms = Terms()
    terms.lets["a"] = terms.build(parse_expression("exp(" * 90 + "$x" + ")" * 90))
    terms.lets["b"] = terms.build(parse_expression("exp(" * 90 + "a" + ")" * 90))
    with pytest.raises(TooLarge):
        terms.build(parse_expression("exp(b)"))


# Unification.


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("pow($x, 3)", "pow($x, $n)"),
        ("pow($x, 3)", "pow($x, 3.0)"),
        ("add($x, exp($y))", "add(exp($a), $b)"),
        ("add(exp($x), 1)", "add(1, exp($x))"),
        ("add($x, $x)", "add($a, $b)"),
        ("mul(add($x, $y), $x)", "mul($a, add($b, 1))"),
        ("softmax($x, -1)", "softmax($x, 3)"),
        ("softmax($x, size($x, 0))", "softmax($x, 3)"),
        ("slice($x, -1, 0, end)", "slice($x, -1, 0, 32)"),
        ("split($x, $s, -1)[0]", "split($x, [1, 2], -1)[$i]"),
        ("_", "exp($x)"),
        ("exp(_)", "exp(log(_))"),
        ("linear($x, $w)", "linear($x, $w, bias=$b)"),
    ],
)
def test_patterns_with_a_common_match_unify(a: str, b: str) -> None:
    assert unify(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("pow($x, 3)", "pow($x, 2)"),
        ("exp($x)", "log($x)"),
        ("sub($x, 1)", "sub(1, $x)"),
        ("add($x, $x)", "add(exp($y), log($z))"),
        ("softmax($x, -1)", "softmax($x, -2)"),
        ("softmax($x, size($x, 0))", "softmax($x, none)"),
        ("eq($x, 1)", "eq($x, true)"),
        ("cat([$x])", "cat([$x, $y])"),
        ("gelu($x)", "gelu($x, approximate='tanh')"),
        ("linear($x, $w)", "linear($x, $w, bias=exp($b))"),
        ("exp($x + 1)", "exp(size($x, 0))"),
        ("add(exp($x), log($y), alpha=2)", "add(log($a), exp($b), alpha=2)"),
    ],
)
def test_patterns_without_a_common_match_do_not_unify(a: str, b: str) -> None:
    assert not unify(a, b)


def test_a_capture_is_never_part_of_itself() -> None:
    assert unifier(term("add($x, $x)"), term("add($y, exp($y))")) is None


def test_a_composite_unifies_with_the_op_that_it_is_made_of() -> None:
    assert unifier(term("pad($a, $p)", "1:"), term("pad_last($x, 64)", "2:")) is not None
    assert unifier(term("slice($a, -1, $s, $e)", "1:"), term("narrow($x, -1, 0, 32)", "2:")) is not None
    assert unifier(term("exp($a)", "1:"), term("pad_last($x, 64)", "2:")) is None


def test_a_search_that_explodes_ends_without_an_answer() -> None:
    deep = "$x{}"
    a = b = "1"
    for number in range(14):
        a, b = f"add({a}, {deep.format(number)})", f"add({b}, {deep.format(number)})"
    assert unifier(term(f"sub({a}, exp($y))", "1:"), term(f"sub({b}, log($y))", "2:")) is None


@pytest.mark.parametrize(
    ("general", "special", "answer"),
    [
        ("pow($x, $n)", "pow($x, 3)", True),
        ("pow($x, 3)", "pow($x, $n)", False),
        ("mul($x, $y)", "mul($x, $x)", True),
        ("mul($x, $x)", "mul($x, $y)", False),
        ("add(exp($x), $y)", "add($a, exp($b))", True),
        ("softmax($x, -1)", "softmax($x, 3)", False),
        ("softmax($x, size($x, 0))", "softmax($x, 3)", False),
        ("softmax($x, size($x, 0))", "softmax(exp($y), size(exp($y), 0))", True),
        ("exp($x)", "exp($y)", True),
    ],
)
def test_one_pattern_is_more_general(general: str, special: str, answer: bool) -> None:
    assert (generalizes(term(general, "1:"), term(special, "2:")) is not None) == answer


# Properties over random terms.

LEAVES = st.sampled_from([Var("x"), Var("y"), Var("z")])
RANDOM_TERMS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda a: App("exp", (a,)), inner),
        st.builds(lambda a, b: App("add", (a, b, Lit(1))), inner, inner),
        st.builds(lambda a, b, n: App("sub", (a, b, Lit(n))), inner, inner, st.sampled_from([1, 2])),
        st.builds(lambda a, b: App("cat", (Seq((a, b)), Lit(0))), inner, inner),
    ),
    max_leaves=8,
)


def apart(found: Term, mark: str) -> Term:
    return substitute(found, {name: Var(name + mark) for name in "xyz"})


def ordered_operands(found: Term) -> Term:
    """The term with the operands of additions in a fixed order."""
    match found:
        case App(op="add", args=(a, b, alpha)):
            pair = sorted((ordered_operands(a), ordered_operands(b)), key=repr)
            return App("add", (*pair, alpha))
        case App(op=op, args=parts):
            return App(op, tuple(map(ordered_operands, parts)))
        case Seq(items=parts):
            return Seq(tuple(map(ordered_operands, parts)))
        case _:
            return found


@settings(max_examples=300, deadline=None)
@given(RANDOM_TERMS, RANDOM_TERMS)
def test_a_unifier_makes_both_the_same(a: Term, b: Term) -> None:
    a, b = apart(a, "1"), apart(b, "2")
    found = unifier(a, b)
    if found is not None:
        assert ordered_operands(substitute(a, found)) == ordered_operands(substitute(b, found))


@settings(max_examples=300, deadline=None)
@given(RANDOM_TERMS, RANDOM_TERMS)
def test_an_instance_unifies_with_what_it_is_an_instance_of(a: Term, b: Term) -> None:
    a = apart(a, "1")
    instance = substitute(a, {name + "1": apart(b, "2") for name in "xyz"})
    assert generalizes(a, instance) is not None
    assert unifier(a, instance) is not None


@settings(max_examples=200, deadline=None)
@given(RANDOM_TERMS)
def test_a_witness_reads_back_as_the_term_it_was(found: Term) -> None:
    if isinstance(found, App):
        assert term(show(expression_of(found))) == found
