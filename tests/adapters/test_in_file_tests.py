"""Every test in adapters.d holds, one case each, and every adapter earns its place."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from spyre_dsl.evidence.math_check import Effort
from spyre_dsl.evidence.results import TestReport
from spyre_dsl.evidence.rule_tests import Options, adapter_findings, chosen_tests, run_test
from spyre_dsl.language.adapter import Adapter
from spyre_dsl.language.checks import check
from spyre_dsl.language.loader import load_paths

FOLDER = Path(__file__).parents[2] / "adapters.d"
LOADED = load_paths([FOLDER])
ADAPTERS = {result.adapter.name: result.adapter for result in LOADED if result.adapter is not None}
CASES = [(adapter.name, name) for adapter in ADAPTERS.values() for name, _ in chosen_tests(adapter)]
OPTIONS = Options(effort=Effort(trials=9))

FIRST = {
    "gelu-new-cube", "attention-head-padding", "finite-attention-mask", "fused-projection-split", "rms-norm-squares",
    "rope-as-matmul",
}  # fmt: skip


@cache
def report_of(adapter: str, test: str) -> TestReport:
    case = dict(chosen_tests(ADAPTERS[adapter]))[test]
    return run_test(ADAPTERS[adapter], case, test, OPTIONS)


def test_the_files_have_no_findings() -> None:
    assert [(found.code, found.message) for found in check(LOADED)] == []
    assert FIRST <= set(ADAPTERS)


@pytest.mark.parametrize(("adapter", "test"), CASES, ids=["/".join(case) for case in CASES])
def test_in_file(adapter: str, test: str) -> None:
    report = report_of(adapter, test)
    assert report.passed, [(f.summary, f.details) for f in (report.fires, report.math, report.gap)]


@pytest.mark.parametrize("adapter", ADAPTERS.values(), ids=ADAPTERS.keys())
def test_gap_is_shown_and_claims_are_tried(adapter: Adapter) -> None:
    reports = [report_of(adapter.name, name) for name, _ in chosen_tests(adapter)]
    assert adapter_findings(adapter, reports, OPTIONS) == ()
