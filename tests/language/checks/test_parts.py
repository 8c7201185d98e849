"""However many processes look at the files, what is said of them is the same to the letter."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from spyre_dsl.cli.reporters import FORMATS, Findings, find_reporter
from spyre_dsl.language.checks import checks, compare, parts
from spyre_dsl.language.checks.examined import Examined
from spyre_dsl.language.checks.parts import FILES_FOR_EACH, examine_all, processes_for
from spyre_dsl.language.loader import load_file, load_text
from spyre_dsl.language.processes import PartFailed
from tests.bench.bench_lint import adapter
from tests.language.checks.test_golden import cases, yaml_of
from tests.language.golden_files import read_cases
from tests.language.pages import completed
from tests.language.test_schema_faults import edited

PLANTED = (
    ("", ""),
    ("summary: Number", "sumary: Number"),
    ("pad_last($x, to)", "pad_lst($x, to)"),
    ("[S51, E10]", "[S51, E1000]"),
    ("  - name: it fires", "  - name: it fires\n    # spyre-dsl: ignore[SD503] there is none"),
    ("math: exact", "math: exactly"),
    ("rank($x) >=", "rank($y) >="),
    ("float16[4, 96]", "float16[4, 96"),
    ("      op: narrow(", "      op: narrow(("),
    ("    math: exact\n", "    priority: {third}\n"),
    ("adapter: generated-", "adapter: generated-{seventh}0"),
)
"""Mistakes, and what makes of two files one problem: a text of a generated file and what stands there instead."""


def generated(number: int) -> str:
    """One of many files: each pattern comes several times, so that rules overlap, undo and repeat one another."""
    old, new = PLANTED[number % len(PLANTED)]
    text = adapter(number % 60).replace(f"generated-{number % 60}", f"generated-{number}", 1)
    text = text.replace(old, new.format(third=number % 3, seventh=number % 7)) if old else text
    if number % 5 == 0:  # the next file of the same pattern says the opposite
        text = text.replace("stack.stick != 0", "stack.stick == 0")
    if number % 13 == 0:
        text = text.replace("    math: exact", "    # spyre-dsl: ignore[SD402] known\n    math: exact")
    return text


SIMPLE = """\
adapter: simple-{number}
summary: A rule in one line, and one of modules.
gap: {{kind: layout, evidence: [S5]}}
rules:
  - name: ops  # spyre-dsl: ignore[SD401] on no line of it
    match: {{op: "{pattern}", config: {{model_type: [{kind}], head_dim: "< 64"}}}}
    rewrite: {{op: "{result}"}}
    priority: {priority}
  - name: modules
    match: {{module: "{glob}"}}
    rewrite: {{attributes: {{eps: {number}}}}}
  - name: host
    match: {{op: "softmax($x, -1)", where: rank($x) == {priority}}}
    rewrite: {{place: host}}
"""
PAIRS = (
    ("exp(log($x))", "log(exp($x))"),
    ("log(exp($x))", "exp(log($x))"),
    ("$x + exp($y)", "exp($y) + $x"),
    ("exp($x)", "log($x) * exp(neg($x))"),
    ("cos(_)", "sin(_)"),
)


def simple(number: int) -> str:
    pattern, result = PAIRS[number % len(PAIRS)]
    glob = ("*RMSNorm", "*Norm", "torch.nn.LayerNorm")[number % 3]
    kind = ("bert", "gpt2")[number % 2]
    priority = number % 4 // 3
    return SIMPLE.format(number=number, pattern=pattern, result=result, glob=glob, kind=kind, priority=priority)


def deep() -> str:
    """Expressions as deep as they may be, one in the other."""
    pattern = "neg(" * 98 + "$x" + ")" * 98
    lines = SIMPLE.format(number=0, pattern=pattern, result="@", glob="*", kind="bert", priority=0)
    inner, outer = "sin(" * 98 + "$x" + ")" * 98, "cos(" * 98 + "a" + ")" * 98
    return lines.replace('rewrite: {op: "@"}', f'rewrite: {{let: {{a: "{inner}"}}, op: "{outer}"}}')


GOLDEN, RELATED, GENERATED = "golden files", "rules that have to do with one another", "many generated files"


@cache
def texts(corpus: str) -> Sequence[str]:
    if corpus == GOLDEN:
        mistakes = [completed(f"{case.title}.yaml", case.text) for case in read_cases("mistakes.txt")]
        schema = [edited(case.text) for case in read_cases("schema.txt")]
        yaml = [case.text for case in read_cases("yaml.txt")]
        return [*map(yaml_of, cases().values()), *mistakes, *schema, *yaml]
    if corpus == RELATED:
        return [deep(), *map(simple, range(40)), deep()]
    return [generated(number) for number in range(300)]


def reported(corpus: str, processes: int) -> dict[str, str]:
    """What every format says."""
    registered = checks()
    numbered = list(enumerate(texts(corpus)))
    files = examine_all(numbered, lambda file: load_text(file[1], f"{file[0]}.yaml"), registered, processes)
    examined = [file for file in files if isinstance(file, Examined)]
    assert len(examined) == len(numbered)
    findings = Findings(compare(examined, registered), len(examined))
    return {name: find_reporter(name)(findings, colour=False) for name in FORMATS}


serially = cache(lambda corpus: reported(corpus, 1))


@pytest.mark.parametrize("processes", [2, 3])
@pytest.mark.parametrize("corpus", [GOLDEN, RELATED, GENERATED])
def test_what_is_said(corpus: str, processes: int) -> None:
    assert reported(corpus, processes) == serially(corpus)


def test_there_is_much_to_be_said() -> None:
    """The files above do hold what they are there for: findings within a file and between files of different parts."""
    said = serially(RELATED)["json"] + serially(GENERATED)["json"]
    assert [code for code in ("SD401", "SD402", "SD403", "SD404", "SD501", "SD601") if code not in said] == []


def test_files_that_cannot_be_read_keep_their_places(tmp_path: Path) -> None:
    files = [str(tmp_path / f"{number}.yaml") for number in range(7)]
    for file in files[::2]:
        Path(file).write_text(adapter(1), encoding="utf-8")
    found = examine_all(files, load_file, checks(), 3)
    assert [str(file) if isinstance(file, OSError) else file.source.name for file in found] == [
        file if number % 2 == 0 else f"[Errno 2] No such file or directory: '{file}'"
        for number, file in enumerate(files)
    ]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is one process only")
def test_a_mistake_of_ours_in_another_process_is_no_silence() -> None:
    def fail(number: int) -> object:
        if number == 3:
            raise AssertionError("a check went wrong")
        return load_text(adapter(number), f"{number}.yaml")

    with pytest.raises(PartFailed, match="a check went wrong"):
        examine_all(range(4), fail, checks(), 2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("files", "cores", "processes"),
    [(1, 8, 1), (13, 8, 1), (FILES_FOR_EACH, 8, 1), (2 * FILES_FOR_EACH, 8, 2), (1000, 1, 1), (1000, 4, 4)],
)
def test_few_files_are_for_one_process(files: int, cores: int, processes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_usable_cores", lambda: cores)
    assert processes_for(files) == processes
