"""What is matched and what takes its place go together."""

from __future__ import annotations

import pytest

from spyre_dsl.language.checks import check
from spyre_dsl.language.loader import load_text

HEAD = "adapter: a\nsummary: s\ngap: {kind: layout, evidence: [S5]}\nrules:\n"
OF_MODULES = (
    "forward: return x", "parameters: {weight: self.weight * 2}", "attributes: {scale: 2}",
    "config: {use_cache: false}", "{use: linear-in-column-blocks, arguments: {parts: 4}}",
)  # fmt: skip


def found(match: str, rewrite: str) -> list[tuple[str, str]]:
    body = rewrite if rewrite.startswith("{") else f"{{{rewrite}}}"
    text = f"{HEAD}  - match: {{{match}}}\n    rewrite: {body}\n"
    errors = check([load_text(text, "a.yaml")], ignore=["SD5"])
    return [(entry.code, text[entry.span.start : entry.span.end]) for entry in errors]


def test_a_rewrite_of_ops_needs_a_pattern() -> None:
    rewrite = "op: relu(self.weight)"
    assert found('module: "*RMSNorm"', rewrite) == [("SD106", "op")]
    assert found("path: encoder", rewrite) == [("SD106", "op")]
    assert found("op: exp(_)", rewrite) == []


@pytest.mark.parametrize("match", ["op: exp(_)", 'module: "*RMSNorm"', "path: encoder"])
def test_ops_and_modules_are_placed_on_the_host(match: str) -> None:
    assert found(match, "place: host") == []


@pytest.mark.parametrize("rewrite", OF_MODULES)
def test_a_rewrite_of_modules_goes_with_no_pattern(rewrite: str) -> None:
    key = rewrite.strip("{").partition(":")[0]
    assert found("op: exp($x)", rewrite) == [("SD105", key)]
    assert found('module: "*RMSNorm", op: exp($x)', rewrite) == [("SD105", key)]
    assert found('module: "*RMSNorm"', rewrite) == []


def test_captures_of_a_rule_without_a_pattern_are_no_further_mistake() -> None:
    assert found('module: "*RMSNorm"', "op: exp($x)") == [("SD106", "op")]


@pytest.mark.parametrize("match", ["opp: exp($x)", 'op: ""', "op: [exp($x)]"])
def test_a_pattern_that_could_not_be_read_may_have_been_one(match: str) -> None:
    assert "SD106" not in [code for code, _ in found(match, "op: relu(self.weight)")]


def test_a_rewrite_that_could_not_be_read_may_be_of_another_kind() -> None:
    assert "SD105" not in [code for code, _ in found("op: exp($x)", "forward: return x, let: {y: 2}")]
