"""Text to syntax tree: expressions and ``forward`` programs.

The grammar is ``expressions.lark``. Spans of nodes are offsets in the file: the caller says with an
:class:`~spyre_dsl.language.scalars.OffsetMap` (or a plain offset) where the text stands in it.
"""

from __future__ import annotations

from typing import Any, NoReturn

from spyre_dsl.language.automaton import END, Token, Unexpected, run, tokenize
from spyre_dsl.language.reductions import ACTIONS, SyntaxProblem
from spyre_dsl.language.replay import parse
from spyre_dsl.language.scalars import OffsetMap
from spyre_dsl.language.syntax import Binding, Broken, Expression, Program, children

__all__ = ["MAX_DEPTH", "MAX_LENGTH", "SyntaxProblem", "parse_expression", "parse_program", "recover_program"]

MAX_LENGTH = 10_000
"""The longest expression or program, in characters."""

MAX_DEPTH = 100
"""How deep an expression may nest; everything behind the parser may recurse over a tree without a thought."""


def parse_expression(text: str, offsets: OffsetMap | int = 0) -> Expression:
    """The tree of one expression.

    Args:
        text: the expression, as the YAML scalar's value.
        offsets: where each character stands in the file; a number is the offset of a verbatim text.

    Raises:
        SyntaxProblem: the text is no expression, or too long (``MAX_LENGTH``), or too deep (``MAX_DEPTH``).
    """
    if len(text) > MAX_LENGTH:
        _refuse_long(text, _map(offsets))
    tree: Expression = _run(text, "expression", offsets)
    return tree


def parse_program(text: str, offsets: OffsetMap | int = 0) -> Program:
    """The tree of a ``forward`` program: ``let name = expression`` lines and one ``return``.

    Raises:
        SyntaxProblem: as :func:`parse_expression`, at the first mistake.
    """
    if len(text) > MAX_LENGTH:
        _refuse_long(text, _map(offsets))
    tree: Program = _run(text, "program", offsets)
    return tree


def recover_program(text: str, offsets: OffsetMap | int = 0) -> tuple[Program, list[SyntaxProblem]]:
    """The tree of a program as far as it can be read, and the first mistake of every statement.

    A statement that cannot be read is :class:`~spyre_dsl.language.syntax.Broken`, under its name if it has one.
    """
    where = _map(offsets)
    try:
        return parse_program(text, where), []
    except SyntaxProblem as problem:
        first = problem
        if problem.limit and len(text) > MAX_LENGTH:
            return Program((), (Broken(where.span(0, len(text))),), where.span(0, len(text))), [problem]
    problems: list[SyntaxProblem] = []
    bindings: list[Binding] = []
    results: tuple[Expression, ...] = ()
    for statement in _statements(tokenize(text)):
        kind = statement[0][0]
        span = where.span(statement[0][2], statement[-1][2])
        try:
            if kind == "RETURN":
                results = tuple(_run(text, "result", where, statement))
            else:
                bindings.append(_run(text, "binding" if kind == "LET" else "program", where, statement))
        except SyntaxProblem as problem:
            problems.append(problem)
            if kind == "RETURN":
                results = (Broken(span),)
            elif kind == "LET" and statement[1][0] == "NAME":
                _, name, start, end = statement[1]
                bindings.append(Binding(name, Broken(span), span, where.span(start, end)))
    if not problems:  # each statement is one, but not in this order
        problems.append(first)
    whole = where.span(0, len(text))
    return Program(tuple(bindings), results or (Broken(whole),), whole), problems


def _statements(tokens: list[Token]) -> list[list[Token]]:
    """The tokens of each statement, with an end token of its own where its last token ends."""
    statements: list[list[Token]] = []
    for token in tokens[:-1]:
        if token[0] in ("LET", "RETURN") or not statements:
            statements.append([])
        statements[-1].append(token)
    return [[*statement, (END, "", statement[-1][3], statement[-1][3])] for statement in statements]


def _map(offsets: OffsetMap | int) -> OffsetMap:
    return OffsetMap.shift(offsets) if isinstance(offsets, int) else offsets


def _refuse_long(text: str, where: OffsetMap) -> NoReturn:
    message = f"the expression has {len(text):,} characters; at most {MAX_LENGTH:,} are allowed"
    raise SyntaxProblem(where.span(0, 1), message, "starts here", limit=True)


def _placed(text: str, where: OffsetMap, tokens: list[Token] | None) -> list[Token]:
    """Tokens (those of the whole text if there are none yet) at their places in the file."""
    return [(kind, value, *_place(where, start, end)) for kind, value, start, end in tokens or tokenize(text)]


def _place(where: OffsetMap, start: int, end: int) -> tuple[int, int]:
    span = where.span(start, end)
    return span.start, span.end


def _run(text: str, start: str, offsets: OffsetMap | int, tokens: list[Token] | None = None) -> Any:
    """The tree of ``start`` over ``tokens`` (offsets in ``text``), or over the whole text."""
    base = offsets if isinstance(offsets, int) else offsets.base
    try:
        if base is not None and tokens is None:
            tree = parse(text, base, start)
        else:
            tree = run(_placed(text, _map(offsets), tokens), start, ACTIONS)
    except Unexpected as unexpected:
        from spyre_dsl.language.syntax_hints import explain  # only needed when something is wrong

        read = tokens or tokenize(text)
        slip = explain(text, read, unexpected.position, unexpected.expected(), start)
        span = _map(offsets).span(slip.start, slip.end)
        unfinished = read[unexpected.position][0] == END
        raise SyntaxProblem(span, slip.message, slip.label, slip.suggestion, unfinished=unfinished) from None
    if len(text) > MAX_DEPTH:
        _refuse_deep(tree)
    return tree


def _refuse_deep(tree: Any) -> None:
    if isinstance(tree, Program):
        level: list[Expression] = [*(binding.value for binding in tree.bindings), *tree.results]
    elif isinstance(tree, list):
        level = tree
    else:
        level = [tree.value if isinstance(tree, Binding) else tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in children(node)]
        if not level:
            return
    message = f"the expression nests deeper than {MAX_DEPTH} levels"
    raise SyntaxProblem(level[0].span, message, "too deep", limit=True)
