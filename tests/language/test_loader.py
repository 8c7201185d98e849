"""Files to adapters, as far as they can be read."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from spyre_dsl.language.adapter import (
    AttributesRewrite,
    ConfigClause,
    ConfigRewrite,
    ForwardRewrite,
    Let,
    MathClaim,
    OpRewrite,
    ParametersRewrite,
    PlaceRewrite,
    TestInput,
    UseRewrite,
)
from spyre_dsl.language.checks import check
from spyre_dsl.language.loader import find_files, load_paths, load_text
from spyre_dsl.language.parser import parse_expression
from spyre_dsl.language.resources import resource
from spyre_dsl.language.syntax import Broken, Name, Number, String
from tests.language.golden_files import render
from tests.language.samples import FULL, SMALL

PAIR = re.compile(r"(\s*(?:- )?[\w-]+:)\s+\S")
"""A line of a rule file that has a key and its value."""


def test_an_approximate_claim_has_one_bound_or_both() -> None:
    def claim(bounds: str) -> MathClaim | None:
        result = load_text(SMALL.replace("math: exact", f"math: {{approximate: {{{bounds}}}}}"), "small.yaml")
        assert result.adapter is not None and result.diagnostics == ()
        return result.adapter.rules[0].math

    assert claim("max_relative: 1e-3") == MathClaim("approximate", 1e-3)
    assert claim("max_absolute: 1") == MathClaim("approximate", max_absolute=1.0)
    assert claim("max_absolute: 1e-4, max_relative: 0.5") == MathClaim("approximate", 0.5, max_absolute=1e-4)


def test_a_file_that_uses_every_key() -> None:
    result = load_text(FULL, "full.yaml")
    assert result.diagnostics == ()
    assert result.complete
    adapter = result.adapter
    assert adapter is not None
    assert adapter.name == "gelu-new-cube"
    assert (adapter.gap.kind, adapter.gap.evidence) == ("missing-lowering", ("S51", "A33"))
    assert adapter.requires is not None
    assert adapter.requires.packages == {"transformers": ">=5.24,<6", "torch": ">=2.9"}
    assert adapter.requires.stacks == ("2026-06",)
    assert adapter.expires == parse_expression('stack.supports("aten.pow", "float16")')
    op, forward, parameters, attributes, config, host, use = adapter.rules
    assert op.match.op == parse_expression("pow($x, 3)")
    assert (op.match.module, op.match.path) == ("*NewGELUActivation", "h.*.mlp")
    assert op.match.config == (
        ConfigClause("model_type", ("gpt2", "gpt_neo")),
        ConfigClause("n_embd", (), ("<", 4096.0)),
        ConfigClause("tie_word_embeddings", (True,)),
    )
    assert op.match.where == (parse_expression("is_float($x)"), parse_expression("rank($x) > 1"))
    assert op.rewrite == OpRewrite(parse_expression("y * $x"), (Let("y", parse_expression("$x * $x")),))
    assert (op.math, op.sites, op.priority) == (MathClaim("exact"), parse_expression("config.num_hidden_layers"), 1)
    assert isinstance(forward.rewrite, ForwardRewrite)
    assert forward.rewrite.program.results == (Name("y"),)
    assert forward.math == MathClaim("approximate", 1e-3, ("nonfinite",), 1e-4)
    assert isinstance(parameters.rewrite, ParametersRewrite)
    assert parameters.rewrite.output == parse_expression("narrow(output, -1, 0, 3)")
    assert attributes.rewrite == AttributesRewrite((Let("num_heads", Number(4)),))
    assert config.rewrite == ConfigRewrite((Let("attn", String("eager")),))
    assert host.rewrite == PlaceRewrite("host")
    assert use.rewrite == UseRewrite("static-kv-cache", (Let("length", Number(128)),))
    first, second, third = adapter.tests
    assert first.inputs == (TestInput("x", "float16", (4, 64)), TestInput("w", "float32", (64, 64), True))
    assert (first.name, first.fires, first.stack) == ("cubes", ("cube-as-products",), "2026-06")
    assert second.unchanged and second.after is None
    assert third.module == "torch.nn.Dropout"
    assert third.arguments == {"p": 0.1, "config": {"a": [1, None]}}


def test_the_only_rule_is_called_as_its_adapter() -> None:
    adapter = load_text(SMALL, "file").adapter
    assert adapter is not None
    assert [rule.name for rule in adapter.rules] == ["gelu-new-cube"]


def test_places_are_offsets_in_the_file() -> None:
    adapter = load_text(FULL, "file").adapter
    assert adapter is not None
    rule = adapter.rules[1]
    assert isinstance(rule.rewrite, ForwardRewrite)
    result = rule.rewrite.program.results[0].span
    assert FULL[result.start : result.end] == "y"
    assert FULL[: result.end].endswith("return y")
    assert FULL[rule.name_span.start : rule.name_span.end] == "whole-forward"
    clause = adapter.rules[0].match.config[1]
    assert FULL[clause.span.start : clause.span.end] == '"< 4096"'
    assert FULL[clause.key_span.start : clause.key_span.end] == "n_embd"


TEN_MISTAKES = """\
adapter: gelu-new-cube
sumary: Ten mistakes.
gap:
  kind: missing-lowring
  evidence: S51
rules:
  - name: cube
    match:
      op: pow($x 3)
      where: size($x, -1) = 64
    rewrite:
      op: $x * * $x
    math: exat
    priority: high
tests:
  - inputs: {x: "flaot16[4, 64]"}
    before: pow(x, 3)
    after: x * x * x)
"""


def test_a_file_with_ten_mistakes_reports_ten() -> None:
    found = check([load_text(TEN_MISTAKES, "file")])
    assert [(entry.code, entry.source.position(entry.span.start).line) for entry in found] == [
        ("SD101", 2),
        ("SD104", 4),
        ("SD103", 5),
        ("SD201", 9),
        ("SD201", 10),
        ("SD201", 12),
        ("SD104", 13),
        ("SD103", 14),
        ("SD104", 16),
        ("SD201", 18),
    ]


def test_mistakes_behind_a_syntax_error_of_yaml_are_found() -> None:
    text = SMALL.replace("summary: gelu_new cubes", "summary: why: gelu_new cubes").replace("* $x\n", "* * $x\n")
    assert [entry.code for entry in check([load_text(text, "file")])] == ["SD001", "SD201"]


def test_an_expression_that_is_none_is_broken_and_the_rest_is_there() -> None:
    result = load_text(SMALL.replace("pow($x, 3)", "pow($x, 3"), "file")
    assert result.adapter is not None
    assert not result.complete
    assert result.adapter.rules[0].match.op == Broken()
    assert result.adapter.rules[0].rewrite == OpRewrite(parse_expression("$x * $x * $x"))


def test_a_mistake_in_an_aliased_value_is_reported_once() -> None:
    text = SMALL.replace("op: $x * $x * $x", "op: &a $x * * $x").replace("after: x * x * x", "after: *a")
    assert render(load_text(text, "file").diagnostics).count("SD201") == 1


def test_a_file_of_another_kind() -> None:
    result = load_text("- a\n", "file")
    assert result.adapter is None
    assert [entry.code for entry in result.diagnostics] == ["SD103"]


def test_a_directory_stands_for_its_yaml_files(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yml", "c.txt"):
        (tmp_path / name).write_text(SMALL, encoding="utf-8")
    (tmp_path / "deeper.yaml").mkdir()
    files = find_files([tmp_path, tmp_path / "b.yaml", tmp_path / "c.txt"])
    assert [Path(file).name for file in files] == ["a.yml", "b.yaml", "c.txt"]
    assert [result.source.name for result in load_paths([tmp_path])] == [
        str(tmp_path / "a.yml"),
        str(tmp_path / "b.yaml"),
    ]


def test_a_path_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load_paths([tmp_path / "nowhere.yaml"])


def test_our_own_adapters_load() -> None:
    results = load_paths([resource("adapters.d")])
    assert results
    for result in results:
        assert render(result.diagnostics) == "", result.source.name


def test_a_resource_that_is_missing_says_where_it_was_looked_for() -> None:
    with pytest.raises(FileNotFoundError, match="looked for .*_data"):
        resource("nothing/of/this/name")


DEEPEST = (
    "-" * 98 + "$x",
    "not " * 98 + "$x",
    "neg(" * 98 + "$x" + ")" * 98,
    "$x" + " + $x" * 98,
    "$x ** " * 98 + "$x",
    "1 if $x else " * 98 + "1",
    "$x" + "[0]" * 98,
    "$x" + " < 3" * 60,
    "add(" * 97 + "$x, $y" + ", $x)" * 97,
)


@pytest.mark.parametrize("place", ["op: pow($x, 3)", "op: $x * $x * $x"])
@pytest.mark.parametrize("text", DEEPEST, ids=lambda text: text[:12])
def test_the_deepest_expression_that_is_read_can_be_checked(text: str, place: str) -> None:
    start = time.process_time()
    found = check([load_text(SMALL.replace(place, f"op: {text}"), "file")])
    assert time.process_time() - start < 1.0
    assert not {entry.code for entry in found} & {"SD001", "SD003", "SD201"}


@pytest.mark.parametrize("value", ["1e-", "abc", '""', "[1]", "{a: 1}", "true", "null"])
@pytest.mark.parametrize("line", [n for n, text in enumerate(FULL.splitlines()) if PAIR.match(text)])
def test_a_value_of_the_wrong_type_behind_more_faults_than_are_told_ends_nothing(line: int, value: str) -> None:
    lines = FULL.splitlines()
    lines[line] = f"{PAIR.match(lines[line])[1]} {value}"
    rules = lines.index("rules:") + 1
    faulty = ["  - match: {op: exp($x)}", "    rewrit: {op: $x}"] * 200
    assert load_text("\n".join([*lines[:rules], *faulty, *lines[rules:]]), "many.yaml").diagnostics
