"""Small sets of rules, written as one would say them."""

from __future__ import annotations

from collections.abc import Sequence

from spyre_dsl.language.adapter import Adapter
from spyre_dsl.language.loader import load_text
from spyre_dsl.language.rule_terms import RuleTerms, rule_terms

SPACE = " " * 4


def adapter(*rules: str, name: str = "adapter", head: str = "") -> Adapter:
    """An adapter whose rules are ``pattern -> result``, with ``; key: value`` lines of YAML for what else they say.

    ``where:``, ``config:``, ``module:`` and ``path:`` go under ``match``, ``let:`` under ``rewrite``, others beside.
    The rules are called r0, r1, ...
    """
    lines = [f"adapter: {name}", "summary: Rules of a test.", "gap: {kind: layout, evidence: [S5]}", head, "rules:"]
    for number, rule in enumerate(rules):
        body, *more = rule.split("; ")
        pattern, _, result = body.partition(" -> ")
        match = [entry for entry in more if entry.startswith(("where:", "config:", "module:", "path:"))]
        let = [entry for entry in more if entry.startswith("let:")]
        rest = [entry for entry in more if entry not in match and entry not in let]
        lines += [f"  - name: r{number}", f"{SPACE}match:"]
        lines += [f"{SPACE}  op: '{pattern}'"] if pattern else []
        lines += [f"{SPACE}  {entry}" for entry in match]
        lines += [f"{SPACE}rewrite:", *(f"{SPACE}  {entry}" for entry in let)]
        lines += [f"{SPACE}  {result[1:-1]}" if result.startswith("{") else f"{SPACE}  op: '{result}'"]
        lines += [f"{SPACE}{entry}" for entry in rest]
    loaded = load_text("\n".join(lines) + "\n", f"{name}.yaml")
    errors = [found.message for found in loaded.diagnostics if found.code not in ("SD102",)]
    assert loaded.adapter is not None and not errors, errors
    return loaded.adapter


def rules(*texts: str, **more: str) -> list[RuleTerms]:
    """The rules of one adapter, ready to be compared."""
    return rule_terms([adapter(*texts, **more)])


def names(found: Sequence[RuleTerms]) -> tuple[str, ...]:
    return tuple(rule.rule.name for rule in found)
