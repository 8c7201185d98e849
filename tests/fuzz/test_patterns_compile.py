"""What ``lint`` finds nothing wrong with can be matched: the matcher refuses no pattern that it was told is right."""

from __future__ import annotations

from random import Random

from spyre_dsl.language.checks import check
from spyre_dsl.language.diagnostics import Severity
from spyre_dsl.language.loader import load_text
from spyre_dsl.matching.compile import PatternError, compile_pattern
from tests.fuzz.expressions import expression

TRIED = 4_000


def test_every_pattern_without_a_finding_compiles() -> None:
    random = Random(20261201)
    clean, refused = 0, []
    for _ in range(TRIED):
        pattern = expression(random, random.randint(1, 3))
        loaded = load_text(rule_file(pattern), "a.yaml")
        if loaded.adapter is None or any(found.severity is Severity.ERROR for found in check([loaded], ignore=["SD5"])):
            continue
        clean += 1
        wanted = loaded.adapter.rules[0].match.op
        assert wanted is not None
        try:
            compile_pattern(wanted)
        except PatternError as problem:
            refused.append((pattern, str(problem)))
    assert refused == []
    assert clean > TRIED / 10


def rule_file(pattern: str) -> str:
    quoted = pattern.replace('"', '\\"')
    return (
        "adapter: a\nsummary: s\ngap: {kind: layout, evidence: [S5]}\n"
        f'rules:\n  - match: {{op: "{quoted}"}}\n    rewrite: {{place: host}}\n'
    )
