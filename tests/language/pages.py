"""The examples on the pages of ``docs/diagnostics``, made into whole files and linted.

An example shows only what matters; the keys that it leaves out are filled in behind it, so that its lines keep their
numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from spyre_dsl.cli.reporters import Findings, find_reporter
from spyre_dsl.language.checks import check, rule_set
from spyre_dsl.language.codes import pages_directory
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.loader import load_text

DEFAULTS = {
    "adapter": "adapter: {stem}",
    "summary": "summary: An example.",
    "gap": "gap: {{kind: missing-lowering, evidence: [S51]}}",
    "rules": "rules: [{{match: {{op: 'pow($x, 3)'}}, rewrite: {{op: '$x * $x * $x'}}, math: exact}}]",
    "tests": "tests: [{{inputs: {{x: 'float16[4, 64]'}}, before: 'pow(x, 3)', after: 'x * x * x'}}]",
}
"""What stands in for a key that an example leaves out."""

Example = tuple[str, str]
"""The name of a file and its text."""


def examples(code: str, section: str) -> list[Example]:
    """The files in one section of a page."""
    text = (pages_directory() / f"{code}.md").read_text(encoding="utf-8")
    part = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^```yaml ?(\S*)\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)
    return [(name or "adapter.yaml", body) for name, body in found]


def expected(code: str) -> str:
    """What a page says that lint prints for its wrong example."""
    text = (pages_directory() / f"{code}.md").read_text(encoding="utf-8")
    found = re.search(r"^```text\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"the page of {code} shows no output"
    return found[1]


def completed(name: str, text: str) -> str:
    """An example with the keys that it leaves out."""
    stem = name.rpartition(".")[0]
    missing = [
        line.format(stem=stem) for key, line in DEFAULTS.items() if not re.search(rf"^{key}\b", text, re.MULTILINE)
    ]
    return text.rstrip("\n") + "\n" + "\n".join(missing) + "\n"


def lint(files: Sequence[Example], *, deep: bool = False) -> tuple[Diagnostic, ...]:
    """All findings in the completed examples."""
    return check([load_text(completed(name, text), name) for name, text in files], deep=deep)


def findings_text(code: str, files: Sequence[Example]) -> str:
    """What lint prints for the examples, without the summary line."""
    findings = Findings(lint_for(code, files), len(files))
    text = find_reporter("text")(findings, colour=False)
    return text.rpartition("\n\n")[0]


def lint_for(code: str, files: Sequence[Example]) -> tuple[Diagnostic, ...]:
    """All findings in the examples of a page, with what it takes to bring its code about."""
    with pytest.MonkeyPatch.context() as patch:
        if code == "SD405":
            patch.setattr(rule_set, "STEPS", 1)
            patch.setattr(rule_set, "STEPS_PER_RULE", 1)
        return lint(files, deep=code in DEEP)


DEEP = frozenset({"SD213", "SD214", "SD216", "SD218"})
"""Codes that are found in deep mode only."""
