"""Small adapters for tests, made from a rule and a test."""

from __future__ import annotations

import textwrap

from spyre_dsl.language.adapter import Adapter
from spyre_dsl.language.loader import load_text


def adapter(
    pattern: str,
    rewrite: str,
    *,
    inputs: str,
    before: str,
    after: str = "unchanged",
    where: str = "",
    math: str = "exact",
) -> Adapter:
    """An adapter with one rule and one test. ``inputs`` is the inside of a flow mapping."""
    guard = f"\n          where: {where}" if where else ""
    text = textwrap.dedent(f"""\
        adapter: example
        summary: an example
        gap: {{kind: numerics, evidence: [S51]}}
        rules:
          - name: only
            match:
              op: {pattern}GUARD
            rewrite:
              op: {rewrite}
            math: {math}
        tests:
          - name: the test
            inputs: {{{inputs}}}
            before: {before}
            after: {after}
        """).replace("GUARD", guard and "\n      " + guard.strip())
    result = load_text(text, "example.yaml")
    assert result.adapter is not None and not result.diagnostics, [d.message for d in result.diagnostics]
    return result.adapter
