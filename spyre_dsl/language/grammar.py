"""From ``expressions.lark`` to ``expression_tables.py``: the LALR(1) tables that Lark computes, kept as a module.

Importing Lark and building the tables takes about 0.2 s, more than a whole run of ``lint`` may take. So they are
built once, when the grammar changes::

    python -m spyre_dsl.language.grammar

A test rebuilds them and fails when the module is not what the grammar says.
"""

from __future__ import annotations

import pprint
import re
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lark import Lark

GRAMMAR = Path(__file__).with_name("expressions.lark")
TABLES = Path(__file__).with_name("expression_tables.py")
STARTS = ("expression", "program", "binding", "result")
HEADER = '''"""Written by ``python -m spyre_dsl.language.grammar`` from ``expressions.lark``; not edited by hand."""

# ruff: noqa: E501
from __future__ import annotations

'''


def build_lark() -> Lark:
    """The grammar as a Lark parser: what the tables are taken from, and what tests compare the parser with."""
    from lark import Lark

    return Lark(
        GRAMMAR.read_text(encoding="utf-8"),
        parser="lalr",
        lexer="basic",
        start=list(STARTS),
        keep_all_tokens=True,
        maybe_placeholders=False,
    )


def build_tables() -> dict[str, Any]:
    """The tables as plain data: lexer pattern, words, rules, actions and gotos by state, start states.

    States are numbered in breadth-first order from the starts, so that equal grammars give equal tables.
    """
    lark = build_lark()
    table = lark.parser.parser._parse_table
    numbers = _number_states(table)
    rules = sorted({_rule_key(argument) for _, argument in _reductions(table)})
    rule_numbers = {key: number for number, key in enumerate(rules)}
    actions: list[dict[str, int]] = [{} for _ in numbers]
    gotos: list[dict[str, int]] = [{} for _ in numbers]
    nonterminals = {rule.origin.name for rule in lark.rules}
    for state, row in table.states.items():
        for symbol, (_, argument) in sorted(row.items(), key=lambda item: item[0]):
            number = numbers.get(argument) if isinstance(argument, int) else -1 - rule_numbers[_rule_key(argument)]
            assert number is not None
            (gotos if symbol in nonterminals else actions)[numbers[state]][str(symbol)] = number
    for state in table.end_states.values():  # 0 is a start state, which nothing goes to: as an action it means accept
        actions[numbers[state]]["$END"] = 0
    pattern, words = _lexer(lark)
    return {
        "PATTERN": pattern,
        "WORDS": words,
        "RULES": tuple(rules),
        "ACTIONS": tuple(actions),
        "GOTOS": tuple(gotos),
        "STARTS": {start: numbers[table.start_states[start]] for start in STARTS},
    }


def render(tables: dict[str, Any]) -> str:
    """The text of ``expression_tables.py``."""
    types = {
        "PATTERN": "str",
        "WORDS": "dict[str, str]",
        "RULES": "tuple[tuple[str, int, str], ...]",
        "ACTIONS": "tuple[dict[str, int], ...]",
        "GOTOS": "tuple[dict[str, int], ...]",
        "STARTS": "dict[str, int]",
    }
    parts = [f"{name}: {types[name]} = {_literal(value)}\n" for name, value in tables.items()]
    return HEADER + "\n".join(parts)


def _literal(value: Any) -> str:
    if isinstance(value, tuple) and value and isinstance(value[0], (dict, tuple)):
        return "(\n" + "".join(f"    {item!r},\n" for item in value) + ")"
    return pprint.pformat(value, width=10_000, sort_dicts=True)


def _reductions(table: Any) -> list[tuple[str, Any]]:
    return [
        (symbol, argument)
        for row in table.states.values()
        for symbol, (_, argument) in row.items()
        if not isinstance(argument, int)
    ]


def _rule_key(rule: Any) -> tuple[str, int, str]:
    """What a reduction needs: the nonterminal it makes, how many symbols it takes, the name of the action.

    The action is empty for a rule that only passes its one part on.
    """
    passes_on = rule.alias is None and len(rule.expansion) == 1
    return str(rule.origin.name), len(rule.expansion), "" if passes_on else str(rule.alias or rule.origin.name)


def _number_states(table: Any) -> dict[int, int]:
    queue = deque(table.start_states[start] for start in STARTS)
    numbers: dict[int, int] = {}
    while queue:
        state = queue.popleft()
        if state in numbers:
            continue
        numbers[state] = len(numbers)
        row = table.states.get(state, {})
        queue.extend(argument for _, (_, argument) in sorted(row.items()) if isinstance(argument, int))
    return numbers


def _lexer(lark: Lark) -> tuple[str, dict[str, str]]:
    """One pattern with a group for each terminal, and the words that NAME would swallow, by their text."""
    terminals = sorted(lark.terminals, key=lambda t: (-t.priority, -t.pattern.max_width, -len(t.pattern.value), t.name))
    name = re.compile(next(t.pattern.to_regexp() for t in terminals if t.name == "NAME"))
    words = {t.pattern.value: t.name for t in terminals if t.pattern.type == "str" and name.fullmatch(t.pattern.value)}
    kept = [t for t in terminals if t.name not in words.values() and t.name not in lark.ignore_tokens]
    ignored = "|".join(t.pattern.to_regexp() for t in terminals if t.name in lark.ignore_tokens)
    groups = "|".join(f"(?P<{t.name}>{t.pattern.to_regexp()})" for t in kept)
    return f"(?:{ignored})*+(?:{groups})", words  # possessive: blanks are never given back, so never tried twice


if __name__ == "__main__":
    TABLES.write_text(render(build_tables()), encoding="utf-8")
