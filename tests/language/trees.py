"""Hypothesis strategies for syntax trees, as the parser makes them."""

from __future__ import annotations

from hypothesis import strategies as st

from spyre_dsl.language.syntax import (
    Attribute,
    Binary,
    Binding,
    Boolean,
    Call,
    Capture,
    Compare,
    Conditional,
    Expression,
    Index,
    Keyword,
    ListExpression,
    Logical,
    Name,
    NoneLiteral,
    Number,
    Program,
    String,
    Unary,
    Wildcard,
)  # fmt: skip

WORDS = {
    "let",
    "return",
    "if",
    "else",
    "or",
    "and",
    "not",
    "in",
    "true",
    "false",
    "none",
    "True",
    "False",
    "None",
    "_",
    "inf",
}
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True).filter(lambda name: name not in WORDS)
functions = st.lists(names, min_size=1, max_size=3).map(".".join)
attributes = st.builds(
    Attribute, st.sampled_from(["self", "config", "stack"]), st.lists(names, min_size=1, max_size=3).map(tuple)
)
numbers = st.one_of(st.integers(-(10**12), 10**12), st.floats(allow_nan=False, allow_infinity=True)).map(Number)
strings = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=8)
atoms = st.one_of(
    numbers,
    st.builds(String, st.one_of(strings, st.text(st.sampled_from("\"'\\\n\tab"), max_size=6))),
    st.builds(Boolean, st.booleans()),
    st.just(NoneLiteral()),
    st.builds(Capture, st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True)),
    st.just(Wildcard()),
    st.builds(Name, names),
    attributes,
)


def unary(operator: str, operand: Expression) -> Expression:
    """As the parser makes it: a minus before a positive literal is part of it."""
    if operator == "-" and isinstance(operand, Number) and operand.value >= 0:
        return Number(-operand.value)
    return Unary(operator, operand)


def unique_keywords(keywords: list[Keyword]) -> tuple[Keyword, ...]:
    return tuple({keyword.name: keyword for keyword in keywords}.values())


def compound(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    lists = st.lists(inner, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Call, functions, lists, st.lists(st.builds(Keyword, names, inner), max_size=2).map(unique_keywords)),
        st.builds(ListExpression, lists),
        st.builds(Index, inner, inner),
        st.builds(unary, st.sampled_from(["-", "+", "not"]), inner),
        st.builds(Binary, st.sampled_from(["+", "-", "*", "/", "//", "%", "**", "@"]), inner, inner),
        st.builds(Compare, st.sampled_from(["<", "<=", ">", ">=", "==", "!=", "in", "not in"]), inner, inner),
        st.builds(Logical, st.sampled_from(["and", "or"]), inner, inner),
        st.builds(Conditional, inner, inner, inner),
    )


expressions: st.SearchStrategy[Expression] = st.recursive(atoms, compound, max_leaves=12)
programs = st.builds(
    Program,
    st.lists(st.builds(Binding, names, expressions), max_size=3).map(tuple),
    st.lists(expressions, min_size=1, max_size=3).map(tuple),
)
