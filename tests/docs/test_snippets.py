"""What the pages show can be copied: rule files and parts of them lint, profiles are usable, the simulator runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from spyre_dsl.language.checks import check
from spyre_dsl.language.diagnostics import Diagnostic, Severity
from spyre_dsl.language.loader import load_text
from spyre_dsl.models.packages import read_registry
from spyre_sim.stacks import problems_of
from tests.docs.test_readme import PAGES, ROOT, blocks

SIMULATOR = ROOT / "docs" / "how-to" / "simulator.md"

# What a page leaves out around the part that it shows.
WHOLE = {
    "adapter": "snippet",
    "summary": "A snippet of a page.",
    "gap": {"kind": "missing-lowering", "evidence": ["S51"]},
    "rules": [],
    "tests": [{"inputs": {"x": "float16[4, 64]"}, "before": "pow(x, 3)", "after": "x * x * x"}],
}
WITHOUT_GUARD = "SD401"  # a rewrite shown alone matches its own result: the guard against that is in the match
ATTENTION = {"op": "scaled_dot_product_attention($q, $k, $v, scale=_)"}
RULE = {"match": ATTENTION, "rewrite": {"place": "host"}, "math": "exact"}
CUBE = {"match": {"op": "pow($x, 3)"}, "rewrite": {"op": "$x * $x * $x"}, "math": "exact"}


def snippets() -> list[Any]:
    """Every YAML block outside docs/diagnostics, whose examples have a test of their own."""
    pages = [page for page in PAGES if page.parent.name != "diagnostics"]
    return [
        pytest.param(text, id=f"{page.relative_to(ROOT)}-{number}")
        for page in pages
        for number, text in enumerate(blocks(page, "yaml"), 1)
    ]


def completed(text: str) -> str:
    """A rule file with the snippet where its keys belong."""
    shown = yaml.safe_load(text)
    rules = [RULE | shown] if {"match", "rewrite"} & set(shown) else [CUBE]
    whole = WHOLE | {"rules": rules} | (shown if rules == [CUBE] else {})
    return str(yaml.safe_dump(whole, sort_keys=False, width=1000))


def errors(text: str) -> list[Diagnostic]:
    """The mistakes in a snippet; warnings too where it is a whole file (a part leaves captures unused)."""
    whole = "adapter" in yaml.safe_load(text)
    found = check([load_text(text if whole else completed(text), "snippet.yaml")])
    if whole:
        return list(found)
    return [item for item in found if item.severity is Severity.ERROR and item.code != WITHOUT_GUARD]


@pytest.mark.parametrize("text", snippets())
def test_a_yaml_snippet_is_free_of_mistakes(text: str, tmp_path: Path) -> None:
    file = tmp_path / "snippet.yaml"
    file.write_text(text, encoding="utf-8")
    shown = yaml.safe_load(text)
    if "extends" in shown:
        assert problems_of(file) == ()
    elif "models" in shown:
        assert read_registry(file)
    else:
        assert errors(text) == []


def test_a_mistake_in_a_snippet_is_found() -> None:
    assert errors('expires: stack.suports("aten.pow")')
    assert errors("match: {op: 'powr($x, 3)'}")
    assert errors("rewrite: {op: 'powr($q, 3)'}")


def test_the_simulators_page_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And what it says of its results is so."""
    (profile,) = blocks(SIMULATOR, "yaml")
    (tmp_path / "our-branch.yaml").write_text(profile, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SPYRE_SIM_STACK", raising=False)
    names: dict[str, Any] = {}
    for number, text in enumerate(blocks(SIMULATOR, "python"), 1):
        exec(compile(text, f"block {number} of simulator.md", "exec"), names)
    printed = capsys.readouterr().out
    assert f"\n{names['compiled'].report}\n" in printed and "10 kernels in 1 bundle" in printed
    assert "\nO14\nunsupported compile\n1\n" in printed
    assert [int(word) for word in names["words"]] == [0x3733, 0x3E00, 0x5E23]
    assert (names["held"].sticks, names["held"].nbytes) == (672, 672 * 128)
    assert names["spyre_sim"].compile(names["cube"], (names["x"],)).report.defects == ("S51",)
