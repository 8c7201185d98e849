"""A measure that a rule lowers is lower after it, whatever is matched; so rewriting that lint lets through ends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spyre_dsl.language.measures import Measures, least_weight, weights
from spyre_dsl.language.polynomials import TooComplex
from spyre_dsl.language.rule_terms import RuleTerms
from spyre_dsl.language.termination import cycles
from spyre_dsl.language.terms import App, Sym, Term, Var, size_of, substitute, variables
from tests.language.rule_files import names, rules

NUMBERS = ("2", "0.5", "7.0")
OPS = ("exp", "neg", "relu", "add", "mul", "clamp")


def calls(leaf: st.SearchStrategy[str], number: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Expressions of small ops; ``number`` is what may stand in the place of a number."""

    def around(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.builds("{}({})".format, st.sampled_from(("exp", "neg", "relu")), inner),
            st.builds("{}({}, {})".format, st.sampled_from(("add", "mul")), inner, st.one_of(inner, number)),
            st.builds("clamp({}, {}, {})".format, inner, number, number),
        )

    return around(st.recursive(leaf, around, max_leaves=3))


CAPTURED = st.sampled_from(("$a", "$b"))
PATTERNS = calls(CAPTURED, st.sampled_from((*NUMBERS, "$c", "$d")))


@st.composite
def a_rule(draw: st.DrawFn) -> str:
    pattern = draw(PATTERNS)
    tensors = [name for name in ("$a", "$b") if name in pattern]
    numbers = [name for name in ("$c", "$d") if name in pattern]
    leaf = st.sampled_from(tensors)
    result = draw(st.one_of(leaf, calls(leaf, st.sampled_from((*NUMBERS, *numbers)))))
    return f"{pattern} -> {result}"


HEAVY = st.frozensets(st.sampled_from(OPS))


@settings(max_examples=200, deadline=None)
@given(a_rule(), HEAVY, st.booleans(), st.data())
def test_a_rule_that_lowers_a_measure_does_so_whatever_its_captures_weigh(
    text: str, heavy: frozenset[str], scaling: bool, data: st.DataObject
) -> None:
    (rule,) = rules(text)
    change = Measures().change(rule, heavy, scaling)
    assume(change is not None)
    before, after = weights(rule, heavy, scaling)
    weigh = st.integers(least_weight(scaling), 50)
    held = {name: data.draw(weigh) for name in variables(rule.pattern)}
    assert before.value(held) > after.value(held) if change else before.value(held) >= after.value(held)


@settings(max_examples=100, deadline=None)
@given(PATTERNS, HEAVY, st.booleans(), st.data())
def test_a_measure_rises_with_every_part_and_never_gives_less_than_the_least(
    text: str, heavy: frozenset[str], scaling: bool, data: st.DataObject
) -> None:
    (rule,) = rules(f"{text} -> {text}")
    try:
        weight, _ = weights(rule, heavy, scaling)
    except TooComplex:
        assume(False)
    least = least_weight(scaling)
    held = {name: data.draw(st.integers(least, 20)) for name in variables(rule.pattern)}
    assert weight.value(held) >= least
    for name in held:
        assert weight.value({**held, name: held[name] + 1}) > weight.value(held)


def matched(pattern: Term, term: Term, held: dict[str, Term]) -> bool:
    """Whether a pattern matches a term as it is written; fills in what its captures stand for."""
    if isinstance(pattern, Var):
        return held.setdefault(pattern.name, term) == term
    if isinstance(pattern, App):
        if not isinstance(term, App) or pattern.op != term.op:
            return False
        return all(matched(one, other, held) for one, other in zip(pattern.args, term.args, strict=True))
    return pattern == term


def rewritten(term: Term, told: list[RuleTerms]) -> Iterator[Term]:
    """What a term may become in one step."""
    for rule in told:
        held: dict[str, Term] = {}
        if matched(rule.pattern, term, held):
            assert rule.result is not None
            yield substitute(rule.result, held)
    for place, part in enumerate(term.args if isinstance(term, App) else ()):
        for made in rewritten(part, told):
            yield App(term.op, (*term.args[:place], made, *term.args[place + 1 :]))


MAX_STEPS = 2000
MAX_SIZE = 150


@settings(max_examples=150, deadline=None)
@given(st.lists(a_rule(), min_size=1, max_size=3), calls(st.just("$a"), st.sampled_from(NUMBERS)), st.randoms())
def test_rewriting_by_rules_that_lint_lets_through_ends(texts: list[str], start: str, random: object) -> None:
    told = rules(*texts)
    assume(not cycles(told))
    (holder,) = rules(f"{start} -> $a")
    term = substitute(holder.pattern, {variables(holder.pattern)[0]: Sym("x")})
    seen = {term}
    for _ in range(MAX_STEPS):
        choices = list(rewritten(term, told))
        if not choices or size_of(term) > MAX_SIZE:
            return
        term = random.choice(choices)  # type: ignore[attr-defined]
        assert term not in seen, "rewriting came back to where it was"
        seen.add(term)
    raise AssertionError(f"still going on after {MAX_STEPS} steps")


def found(*texts: str) -> list[tuple[str, ...]]:
    return [names(cycle) for cycle in cycles(rules(*texts))]


@pytest.mark.parametrize(
    "texts",
    [
        ("neg($a + $b) -> neg($a) + neg($b)",),
        ("($a + $b) * $c -> $a * $c + $b * $c",),
        ("$c * ($a - $b) -> $c * $a - $c * $b", "($a + $b) * $c -> $a * $c + $b * $c"),
        ("neg($a + $b) -> neg($a) + neg($b)", "($a + $b) * $c -> $a * $c + $b * $c", "neg(neg($a)) -> $a"),
        ("matmul($a + $b, $c) -> matmul($a, $c) + matmul($b, $c)",),
        ("linear($a + $b, $w) -> linear($a, $w) + linear($b, $w)",),
        ("sqrt($a * $b) -> sqrt($a) * sqrt($b)",),
    ],
)
def test_moving_an_op_inwards_through_sums_and_products_ends(texts: tuple[str, ...]) -> None:
    assert found(*texts) == []


@pytest.mark.parametrize(
    "texts",
    [
        ("relu($x) -> clamp($x, 0.0, 7.0)", "clamp($x, 0.0, $hi) -> relu($x); where: $hi > 5"),
        ("square($x) -> pow($x, 2)", "pow($x, $n) -> square($x); where: $n == 2"),
        ("exp($x) -> mul($x, 2)", "mul($x, $n) -> exp($x)"),
        ("linear($x, $w, $b) -> exp($x)", "exp($x) -> linear($x, $x)"),
    ],
)
def test_a_number_weighs_the_same_written_as_captured(texts: tuple[str, ...]) -> None:
    assert found(*texts) == [("r0", "r1")]


@pytest.mark.parametrize(
    "texts",
    [
        ("relu(exp(exp($x))) -> pad_heads($x, 4, 64)", "reshape(pad(reshape($x, _), _), _) -> relu(exp(exp($x)))"),
        ("exp(exp($x)) -> default($x, 0.0)", "exp($x) -> exp(exp(exp($x)))"),
        ("exp(exp($w)) -> log($w); where: is_constant($w)", "log($w) -> exp(exp($w)); where: is_constant($w)"),
        (
            "relu(exp(index($x, [$i]))) -> index($x, [relu(exp($i)), relu(exp($i))])",
            "index($x, [$i, $i]) -> relu(exp(index($x, [$i])))",
        ),
    ],
)
def test_all_that_becomes_an_op_of_the_graph_is_counted(texts: tuple[str, ...]) -> None:
    assert found(*texts) != []
