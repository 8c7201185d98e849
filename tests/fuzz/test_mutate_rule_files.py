"""A few hundred mutated files; ``python -m tests.fuzz.mutate_rule_files`` lints as many as one likes."""

from __future__ import annotations

from tests.fuzz.mutate_rule_files import run


def test_mutated_files_end_in_diagnostics_or_success() -> None:
    outcome = run(range(300))
    assert outcome.failures == []
    assert outcome.clean < outcome.files
    assert len(outcome.codes) > 15
