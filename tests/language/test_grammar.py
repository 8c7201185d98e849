"""The tables that are shipped are those of the grammar, and the driver does what Lark's own does."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Lark, Token, Tree
from lark.exceptions import LarkError

from spyre_dsl.language import grammar
from spyre_dsl.language.automaton import BAD, tokenize
from spyre_dsl.language.parser import SyntaxProblem, parse_expression
from spyre_dsl.language.printing import show
from spyre_dsl.language.reductions import ACTIONS
from spyre_dsl.language.replay import take_apart
from spyre_dsl.language.syntax import Expression
from tests.language.trees import expressions

LARK = grammar.build_lark()
TEXTS = [
    "a",
    "f(x, y=1,)",
    "a < b <= c != d",
    "not a in b",
    "a not in b and not c",
    "-x ** -y ** z",
    "x if a else y if b else z",
    "[]",
    "[1, 2.5e3,]",
    "self.a.b[0][1]",
    "stack.supports(\"a\", 'b')",
    "$x @ _ // 3 % 4",
    "a +",
    "f(",
    "f(a b)",
    "a = b",
    "$",
    "let x = 1",
    "a == not b",
    "f(,)",
    "()",
    "x[]",
    "not",
    "a b",
    "1 2",
    "in",
    "f(x=)",
    "f(1=2)",
]


def test_the_tables_are_current() -> None:
    assert grammar.TABLES.read_text(encoding="utf-8") == grammar.render(grammar.build_tables()), (
        "run `python -m spyre_dsl.language.grammar`"
    )


def build(tree: Tree[Any] | Token) -> tuple[Any, int, int]:
    """The node that our reductions make of Lark's tree, with its start and end."""
    if isinstance(tree, Token):
        return (tree.type, str(tree), tree.start_pos, tree.end_pos), tree.start_pos or 0, tree.end_pos or 0
    parts = [build(child) for child in tree.children]
    start, end = parts[0][1], parts[-1][2]
    if str(tree.data) in ACTIONS:
        return ACTIONS[str(tree.data)]([part[0] for part in parts], start, end), start, end
    assert len(parts) == 1, tree.data
    return parts[0]


def with_lark(lark: Lark, text: str) -> Expression | None:
    try:
        tree = lark.parse(text, start="expression")
    except LarkError:
        return None
    node: Expression = build(tree)[0]
    return node


@pytest.mark.parametrize("text", TEXTS)
def test_both_drivers_agree(text: str) -> None:
    try:
        ours = parse_expression(text)
    except SyntaxProblem:
        ours = None
    theirs = with_lark(LARK, text)
    assert ours == theirs
    assert repr_with_spans(ours) == repr_with_spans(theirs)


@settings(max_examples=100, deadline=None)
@given(expressions)
def test_both_drivers_agree_on_any_tree(tree: Expression) -> None:
    text = show(tree)
    assert repr_with_spans(parse_expression(text)) == repr_with_spans(with_lark(LARK, text))


def repr_with_spans(node: Any) -> Any:
    """The tree as nested tuples, spans included (they take no part in equality)."""
    if isinstance(node, tuple):
        return tuple(map(repr_with_spans, node))
    names = getattr(type(node), "__dataclass_fields__", None)
    return node if names is None else (type(node).__name__, *(repr_with_spans(getattr(node, name)) for name in names))


@pytest.mark.parametrize("text", TEXTS)
def test_what_comes_again_is_parsed_as_the_first_time(text: str) -> None:
    first, second, third = (outcome(text) for _ in range(3))
    assert first == second == third


@settings(max_examples=100, deadline=None)
@given(expressions)
def test_a_remembered_sequence_of_tokens_gives_the_same_tree(tree: Expression) -> None:
    text = show(tree)
    outcomes = [outcome(text) for _ in range(3)]
    assert outcomes == [repr_with_spans(with_lark(LARK, text))] * 3


def test_a_remembered_sequence_of_tokens_takes_the_names_and_places_of_each_text() -> None:
    for text in ("f(a, b=[1, 2])", "gg( cc ,d = [ 30,4 ])", "h(x, y=[5, 6])"):
        assert repr_with_spans(parse_expression(text)) == repr_with_spans(with_lark(LARK, text))


def test_what_is_wrong_with_a_text_and_not_with_its_tokens_is_found_each_time() -> None:
    assert isinstance(outcome("f(a=1, b=2)"), tuple)
    assert isinstance(outcome("f(a=1, c=2)"), tuple)
    assert outcome("f(a=1, a=2)") == "argument `a` is given twice"


@settings(max_examples=500, deadline=None)
@given(st.text("aFe_.$019 \n+-*/%@<>=!(),[]\"'\\é", max_size=20) | st.text(max_size=20))
def test_a_text_is_taken_apart_where_the_grammar_does(text: str) -> None:
    pieces = take_apart(text)
    tokens = tokenize(text)[:-1]
    if tokens and tokens[-1][0] == BAD:
        assert pieces.kinds == (BAD,)
    else:
        assert list(zip(pieces.kinds, pieces.texts)) == [token[:2] for token in tokens]
        ends = list(accumulate(pieces.lengths))
        assert [(end, after) for end, after in zip(ends[::2], ends[1::2])] == [token[2:] for token in tokens]


def outcome(text: str) -> Any:
    """The tree with its spans, or what is wrong."""
    try:
        return repr_with_spans(parse_expression(text))
    except SyntaxProblem as problem:
        return problem.message
