"""Reasoning on guards: never wrong, and right where a person would see it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spyre_dsl.language.guards import always, satisfiable
from spyre_dsl.language.parser import parse_expression
from spyre_dsl.language.term_builder import Terms
from spyre_dsl.language.terms import Term


def guard(text: str) -> Term:
    return Terms().build(parse_expression(text), "any")


def guards(*texts: str) -> list[Term]:
    return [guard(text) for text in texts]


@pytest.mark.parametrize(
    "texts",
    [
        ("size($x, -1) < 0",),
        ("rank($x) == 2 and rank($x) == 3",),
        ("64 % stack.stick != 0",),
        ("size($x, -1) > 3 and size($x, -1) < 4",),
        ("size($x, -1) % 64 == 0", "size($x, -1) % 32 != 0"),
        ("size($x, -1) % 64 == 1", "size($x, -1) % 128 == 66"),
        ("size($x, -1) == 65", "size($x, -1) % 64 == 0"),
        ("size($x, -1) % 64 == 64",),
        ("size($x, 0) < size($x, 1)", "size($x, 1) < size($x, 0)"),
        ("2 * size($x, 0) + 1 == 4",),
        ("dtype($x) == float16", "dtype($x) == float32"),
        ('dtype($x) == "float16"', "dtype($x) == float32"),
        ('dtype($x) in ["float16", float32]', 'dtype($x) == "int64"'),
        ('dtype($x) != "float16"', "dtype($x) == float16"),
        ("dtype($x) in [float16, float32]", "dtype($x) == int64"),
        ("dtype($x) not in [float16]", "dtype($x) == float16"),
        ("is_float($x)", "dtype($x) == int64"),
        ("is_parameter($x) and not is_parameter($x)",),
        ("$scale == none", "$scale > 3"),
        ("$mode == 'a'", "$mode == 'b'"),
        ("config.head_dim < 64", "config.head_dim >= 64"),
        ("round_up($n, 64) % 32 != 0",),
        ("not (rank($x) >= 0)",),
        ("size(pad_last($x, 128), -1) != 128",),
        ("rank(rotate_half_matrix($n)) == 3",),
        ("dtype(to($x, float16)) == bool",),
        ("finfo_min($d) / 2 < finfo_min($d)",),
        ("'a' == 'b'",),
        ("default(none, 3) != 3",),
        ("len([1, 2]) == 3",),
        ("false",),
    ],
)
def test_what_never_holds_is_known(texts: tuple[str, ...]) -> None:
    assert not satisfiable(guards(*texts))


@pytest.mark.parametrize(
    "text",
    [
        "stack.stick == 64",
        "rank($x) >= 0",
        "$x == $x",
        "rank($x) > 1 or rank($x) <= 1",
        "is_parameter($x) or not is_parameter($x)",
        "size($x, -1) * 64 % 64 == 0",
        "size($x, -1) % 64 < 64",
        "size(narrow($x, -1, 0, 32), -1) == 32",
        "dtype(eq($x, $y)) == bool",
        "1 < 2",
        "true",
    ],
)
def test_what_always_holds_is_known(text: str) -> None:
    assert always(guard(text))


@pytest.mark.parametrize(
    "text",
    [
        "size($x, -1) % stack.stick != 0",
        "rank($x) == 2 or rank($x) == 3",
        "dtype($x) == float16",
        "stack.supports('aten.pow', float16)",
        "config.model_type == 'bert'",
        "size($x, -1) == size($y, -1)",
        "$n / 2 == 1.5",
        "self.eps < 1",
        "2 ** 1000000 > 3",
        "1 // 0 == 1",
        "$a if $b else $c",
        "size($x, $d) % $m == 1",
    ],
)
def test_what_a_model_decides_is_left_open(text: str) -> None:
    assert satisfiable([guard(text)])
    assert not always(guard(text))


def test_a_guard_with_too_many_alternatives_is_left_open() -> None:
    text = " and ".join(f"(rank($x) == {n} or size($x, {n}) == 1)" for n in range(12))
    assert satisfiable([guard(text)])


# Against brute force: two sizes, small numbers.

NUMBERS = st.integers(-3, 9)
UNKNOWNS = st.sampled_from(
    ["size($x, 0)", "size($x, 1)", "size($x, 0) % 4", "size($x, 0) // 2", "size($x, 0) - size($x, 1)"]
)
ATOMS = st.builds(
    lambda unknown, operator, number: f"{unknown} {operator} {number}",
    UNKNOWNS, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), NUMBERS,
)  # fmt: skip
CLAUSES = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds("({} and {})".format, inner, inner),
        st.builds("({} or {})".format, inner, inner),
        st.builds("not ({})".format, inner),
    ),
    max_leaves=5,
)


def holds(text: str, first: int, second: int) -> bool:
    values = {"size($x, 0)": str(first), "size($x, 1)": str(second)}
    for name, value in values.items():
        text = text.replace(name, value)
    return bool(eval(text, {"__builtins__": {}}))  # the text is made above, of numbers and operators only


@settings(max_examples=300, deadline=None)
@given(CLAUSES)
def test_no_answer_contradicts_brute_force(text: str) -> None:
    outcomes = {holds(text, first, second) for first in range(16) for second in range(16)}
    if True in outcomes:
        assert satisfiable([guard(text)])
    if False in outcomes:
        assert not always(guard(text))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.builds("size($x, 0) {} {}".format, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), NUMBERS), max_size=5
    )
)
def test_conjunctions_over_one_size_are_decided(texts: list[str]) -> None:
    possible = any(all(holds(text, size, 0) for text in texts) for size in range(16))
    assert satisfiable(guards(*texts)) == possible
