"""Expressions and programs: what they mean, where their parts stand, and what is said when they are none."""

from __future__ import annotations

import math

import pytest

from spyre_dsl.language.codes import diagnose
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.parser import (
    MAX_DEPTH,
    MAX_LENGTH,
    SyntaxProblem,
    parse_expression,
    parse_program,
    recover_program,
)
from spyre_dsl.language.source import Source
from spyre_dsl.language.syntax import (
    Attribute,
    Binary,
    Boolean,
    Broken,
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
    String,
    Unary,
    Wildcard,
    walk,
)
from tests.language.golden_files import check, render

a, b, c, d = map(Name, "abcd")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("3", Number(3)),
        ("3.0", Number(3.0)),
        ("-1", Number(-1)),
        ("- 0.5", Number(-0.5)),
        (".5e-3", Number(0.0005)),
        ("'it'", String("it")),
        (r'"a\"\n"', String('a"\n')),
        ("-inf", Number(-math.inf)),
        ("true", Boolean(True)),
        ("False", Boolean(False)),
        ("None", NoneLiteral()),
        ("none", NoneLiteral()),
        ("$x", Capture("x")),
        ("_", Wildcard()),
        ("truest", Name("truest")),
        ("self.dense.weight", Attribute("self", ("dense", "weight"))),
        ("config", Name("config")),
        ("[a, [], b]", ListExpression((a, ListExpression(()), b))),
        ("a[0][b]", Index(Index(a, Number(0)), b)),
        ("pow($x, 3)", Call("pow", (Capture("x"), Number(3)))),
        ("f()", Call("f", ())),
        ("f(a, k=b,)", Call("f", (a,), (Keyword("k", b),))),
        ("aten.pow.Tensor_Scalar(a)", Call("aten.pow.Tensor_Scalar", (a,))),
        ('stack.supports("aten.pow")', Call("stack.supports", (String("aten.pow"),))),
    ],
)
def test_atoms_and_calls(text: str, tree: Expression) -> None:
    assert parse_expression(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a + b * c", Binary("+", a, Binary("*", b, c))),
        ("a - b - c", Binary("-", Binary("-", a, b), c)),
        ("a ** b ** c", Binary("**", a, Binary("**", b, c))),
        ("-a ** b", Unary("-", Binary("**", a, b))),
        ("-2 ** b", Unary("-", Binary("**", Number(2), b))),
        ("a ** -b", Binary("**", a, Unary("-", b))),
        ("a @ b // c % d", Binary("%", Binary("//", Binary("@", a, b), c), d)),
        ("not a == b", Unary("not", Compare("==", a, b))),
        ("a < b and b < c or d", Logical("or", Logical("and", Compare("<", a, b), Compare("<", b, c)), d)),
        ("a < b <= c", Logical("and", Compare("<", a, b), Compare("<=", b, c))),
        ("a < b < c < d", Logical("and", Logical("and", Compare("<", a, b), Compare("<", b, c)), Compare("<", c, d))),
        ("(a < b) < c", Compare("<", Compare("<", a, b), c)),
        ("a not in b", Compare("not in", a, b)),
        ("not a in b", Unary("not", Compare("in", a, b))),
        ("a if b else c if d else a", Conditional(b, a, Conditional(d, c, a))),
        ("a or b if c else d", Conditional(c, Logical("or", a, b), d)),
    ],
)
def test_precedence_is_that_of_python(text: str, tree: Expression) -> None:
    assert parse_expression(text) == tree


def test_every_node_stands_where_its_text_stands() -> None:
    text = "f(a + $x, k=[-1, 'it'])[0] if not self.x < 3 else (b or c)"
    for node in walk(parse_expression(text)):
        part = text[node.span.start : node.span.end]
        assert parse_expression(part) == node, part


def test_functions_and_keywords_have_places_of_their_own() -> None:
    call = parse_expression("aten.add(a, alpha = 2)", 100)
    assert isinstance(call, Call)
    assert (call.function_span.start, call.function_span.end) == (100, 108)
    assert (call.keywords[0].name_span.start, call.keywords[0].name_span.end) == (112, 117)
    assert (call.keywords[0].span.start, call.keywords[0].span.end) == (112, 121)


def test_parentheses_belong_to_what_is_around_them() -> None:
    product = parse_expression("(a + b) * c")
    assert (product.span.start, product.span.end) == (0, 11)


def test_programs() -> None:
    program = parse_program("let y = self.f(x)\nlet z = y +\n  1\nreturn y, z")
    assert [binding.name for binding in program.bindings] == ["y", "z"]
    assert program.results == (Name("y"), Name("z"))
    assert program.bindings[1].name_span.start == 22


def test_a_program_is_read_on_behind_a_broken_statement() -> None:
    program, problems = recover_program("let y = f(\nlet z = 3\nreturn z z")
    assert [problem.message for problem in problems] == [
        "this `(` is never closed",
        "a comma or an operator is missing before `z`",
    ]
    assert program.bindings[0].value == Broken()
    assert program.bindings[1].value == Number(3)
    assert program.results == (Broken(),)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000 + "a" + ")" * 4999,
        "-" * 200 + "a",
        "not " * 200 + "a",
        "a + " * 200 + "a",
        "a ** " * 200 + "a",
        "a if b else " * 200 + "a",
        "f(" * 200 + ")" * 200,
        "[" * 10_000,
        "a" + "[0]" * 200,
        "a < " * 200 + "a",
    ],
)
def test_nesting_is_limited(text: str) -> None:
    with pytest.raises(SyntaxProblem):
        parse_expression(text)


def test_brackets_alone_do_not_nest() -> None:
    assert parse_expression("(" * 4000 + "a" + ")" * 4000) == a


def test_what_is_just_deep_enough_is_read() -> None:
    assert parse_expression("-" * (MAX_DEPTH - 1) + "a")
    with pytest.raises(SyntaxProblem) as caught:
        parse_expression("-" * (MAX_DEPTH + 1) + "a")
    assert caught.value.limit


def test_length_is_limited() -> None:
    with pytest.raises(SyntaxProblem) as caught:
        parse_expression("a" * (MAX_LENGTH + 1))
    assert caught.value.limit


def judge(text: str) -> str:
    text = text.removesuffix("\n")
    try:
        parse_expression(text)
    except SyntaxProblem as problem:
        return render([as_diagnostic(text, problem)])
    return "fine"


def judge_program(text: str) -> str:
    text = text.removesuffix("\n")
    return render(as_diagnostic(text, problem) for problem in recover_program(text)[1]) or "fine"


def as_diagnostic(text: str, problem: SyntaxProblem) -> Diagnostic:
    source = Source("expression", text)
    return diagnose("SD201", problem.message, source, problem.span, label=problem.label, suggestion=problem.suggestion)


def test_slips_in_expressions() -> None:
    check("expressions.txt", judge)


def test_slips_in_programs() -> None:
    check("programs.txt", judge_program)
