"""Test reports as lines of text: one for a test that passes, and what went wrong below one that does not."""

from __future__ import annotations

from typing import Final

from spyre_dsl.evidence.results import AdapterReport, Finding, Outcome, TestReport

_COLOURS: Final = {Outcome.OK: "32", Outcome.FAILED: "31;1", Outcome.SKIPPED: "2"}


def test_lines(report: TestReport, width: int, *, colour: bool) -> list[str]:
    """``gelu-new-cube/cubes  fires ok  math ok (48 trials)  gap ok (refused S51)``, and the details of failures."""
    name = f"{report.adapter}/{report.test}"
    checks = (("fires", report.fires), ("math", report.math), ("gap", report.gap))
    line = f"{name:<{width}}  " + "  ".join(_check(title, finding, colour) for title, finding in checks)
    lines = [line.rstrip()]
    for title, finding in checks:
        if finding.outcome is Outcome.FAILED:
            lines += [f"    {report.file}:{report.line}: {title}: {finding.summary}"]
            lines += [f"        {detail}" for detail in finding.details]
    return lines


def _check(title: str, finding: Finding, colour: bool) -> str:
    if finding.outcome is Outcome.SKIPPED:
        return _painted(f"{title} -", finding.outcome, colour)
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


def _painted(text: str, outcome: Outcome, colour: bool) -> str:
    return f"\x1b[{_COLOURS[outcome]}m{text}\x1b[0m" if colour else text
