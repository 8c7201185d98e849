"""Test reports as lines of text: one for a test that passes, and what went wrong below one that does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from spyre_dsl.evidence.results import AdapterReport, Finding, Outcome, TestReport
from spyre_dsl.language.counting import counted

_COLOURS: Final = {Outcome.OK: "32", Outcome.FAILED: "31;1", Outcome.SKIPPED: "2"}


def test_lines(report: TestReport, width: int, *, colour: bool) -> list[str]:
    """``gelu-new-cube/cubes  fires ok  math ok (48 trials)  gap ok (refused S51)``, and the details of failures."""
    name = f"{report.adapter}/{report.test}"
    checks = (("fires", report.fires), ("math", report.math), ("gap", report.gap))
    line = f"{name:<{width}}  " + "  ".join(_check(title, finding, colour) for title, finding in checks)
    lines = [line.rstrip()]
    for title, finding in checks:
        if finding.outcome is Outcome.FAILED:
            place = finding.place or f"{report.file}:{report.line}:{report.column}"
            lines += [f"    {place}: {title}: {finding.summary}"]
            lines += [f"        {detail}" for detail in finding.details]
    return lines


def _check(title: str, finding: Finding, colour: bool) -> str:
    if finding.outcome is Outcome.SKIPPED:
        return _painted(f"{title} {finding.brief or '-'}", finding.outcome, colour)
    if finding.outcome is Outcome.FAILED:
        return _painted(f"{title} FAILED ({finding.summary})", finding.outcome, colour)
    told = f" ({finding.summary})" if finding.summary not in ("", title) else ""
    return _painted(f"{title} ok{told}", finding.outcome, colour)


def verdict_lines(report: AdapterReport, *, colour: bool) -> list[str]:
    """What is wrong with an adapter as a whole; nothing if nothing is."""
    lines = []
    for finding in report.findings:
        lines += [_painted(f"{report.adapter}: {finding.summary}", finding.outcome, colour)]
        lines += [f"    {detail}" for detail in finding.details]
    return lines


def legend(reports: Sequence[AdapterReport]) -> str:
    """What a ``-`` in the lines stands for: the reasons of the checks that were not made. Empty where there is none."""
    tests = [test for report in reports for test in report.tests]
    checks = [finding for test in tests for finding in (test.fires, test.math, test.gap)]
    reasons = [check.summary for check in checks if check.outcome is Outcome.SKIPPED and not check.brief]
    return f"-: not checked ({'; '.join(dict.fromkeys(reasons))})" if reasons else ""


def totals(reports: Sequence[AdapterReport], seconds: float) -> str:
    """``38 tests of 9 adapters, 1824 trials, 131 s: 37 passed, 1 failed; exit code 1``."""
    tests = [test for report in reports for test in report.tests]
    passed = sum(test.passed for test in tests)
    failed = len(tests) - passed
    trials = sum(test.math.trials for test in tests)
    size = f"{counted(len(tests), 'test')} of {counted(len(reports), 'adapter')}, {counted(trials, 'trial')}"
    found = [(report.adapter, len(report.findings)) for report in reports if report.findings]
    if not failed and not found:
        return f"{size}, {seconds:.0f} s: {'all passed' if tests else 'nothing to run'}"
    parts = [f"{number} {word}" for number, word in ((passed, "passed"), (failed, "failed")) if number]
    if found:
        count = sum(number for _, number in found)
        parts.append(f"{counted(count, 'finding')} about {', '.join(name for name, _ in found)}")
    return f"{size}, {seconds:.0f} s: {', '.join(parts)}; exit code 1"


def _painted(text: str, outcome: Outcome, colour: bool) -> str:
    return f"\x1b[{_COLOURS[outcome]}m{text}\x1b[0m" if colour else text
