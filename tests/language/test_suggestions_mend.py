"""A suggestion is the text to write in place of what the finding covers: written there, the finding is gone.

Services that read SARIF apply it as it stands, so it must leave a file that is still YAML.
"""

from __future__ import annotations

import pytest

from spyre_dsl.language.checks import check
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.loader import load_text
from tests.language.test_typos import TYPOS, typed

HEAD = "adapter: a\nsummary: s\ngap: {kind: layout, evidence: [S5]}\nrules:\n  - match:\n      op: exp($x)\n"
IN_DEEP_MODE = [
    'module: "*RMSNrom"',
    "module: BertSelfAtention",
    'module: "*.BertSelfAtention"',
    "config: {num_atention_heads: 12}",
    "config: {modle_type: bert}",
    'config: {model_type: "gptt2"}',
    "where: config.num_hiden_layers == 2",
    "where: 'config.text_config.hiden_size > 2'",
    "where: self.wieght == none",
]


def findings(text: str, deep: bool) -> tuple[Diagnostic, ...]:
    return check([load_text(text, "a.yaml")], deep=deep, ignore=["SD302", "SD504", "SD507"])


def assert_mended(text: str, *, deep: bool = False) -> None:
    found = findings(text, deep)
    assert len(found) == 1 and found[0].suggestion is not None, found
    span = found[0].span
    assert findings(text[: span.start] + found[0].suggestion + text[span.end :], deep) == ()


@pytest.mark.parametrize(("place", "typo", "meant"), TYPOS, ids=[typo for _, typo, _ in TYPOS])
def test_a_mended_typo_leaves_a_clean_file(place: str, typo: str, meant: str) -> None:
    assert_mended(typed(place, typo, meant))


@pytest.mark.parametrize("line", IN_DEEP_MODE)
def test_names_of_installed_packages_are_mended_as_they_are_written(line: str) -> None:
    assert_mended(f"{HEAD}      {line}\n    rewrite: {{op: abs($x)}}\n", deep=True)
