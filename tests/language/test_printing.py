"""Trees to text and back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from spyre_dsl.language.parser import parse_expression, parse_program
from spyre_dsl.language.printing import show
from spyre_dsl.language.syntax import Expression, Program
from tests.language.trees import expressions, programs


@settings(max_examples=200, deadline=None)
@given(expressions)
def test_what_is_shown_parses_to_the_same_tree(tree: Expression) -> None:
    assert parse_expression(show(tree)) == tree


@settings(max_examples=60, deadline=None)
@given(programs)
def test_so_do_programs(tree: Program) -> None:
    assert parse_program(show(tree)) == tree


@settings(max_examples=60, deadline=None)
@given(expressions)
def test_the_text_is_canonical(tree: Expression) -> None:
    text = show(tree)
    assert show(parse_expression(text)) == text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("((a+b))*c", "(a + b) * c"),
        ("a-(b-c)", "a - (b - c)"),
        ("(a-b)-c", "a - b - c"),
        ("(-a)**2", "(-a) ** 2"),
        ("-(a**2)", "-a ** 2"),
        ("(a**b)**c", "(a ** b) ** c"),
        ("a**(b**c)", "a ** b ** c"),
        ("d ** - 0.5", "d ** -0.5"),
        ("not (a and b)", "not (a and b)"),
        ("1 < x < 3", "1 < x and x < 3"),
        ("f ( x , y = 'it' )", 'f(x, y="it")'),
        ("(a if b else c) if d else e", "(a if b else c) if d else e"),
        ("a if b else (c if d else e)", "a if b else c if d else e"),
        ("True", "true"),
        ("[ 1,2 ,]", "[1, 2]"),
        ("(x)[0]", "x[0]"),
    ],
)
def test_parentheses_and_blanks(text: str, shown: str) -> None:
    assert show(parse_expression(text)) == shown
