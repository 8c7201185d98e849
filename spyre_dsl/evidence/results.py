"""What checking evidence gives: frozen data, for reporters to print and for callers to read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Outcome(str, Enum):
    """``ok``, ``failed``, or ``skipped`` (with a reason: not asked for, or nothing to check)."""

    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class CapturedValue:
    """What one capture held in a counterexample: ``dtype`` and ``shape`` of a tensor, and its text."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Inputs on which a claim does not hold, made as simple as it was still false on.

    ``kind`` names how the values were drawn; ``before`` and ``after`` are the two numbers at ``index`` and
    ``allowed`` how far rounding may take them apart. ``reason`` is set instead where there are no two numbers
    (another shape or dtype, a rewrite that has no value).
    """

    captures: tuple[CapturedValue, ...]
    kind: str
    seed: int
    index: tuple[int, ...] = ()
    before: float = 0.0
    after: float = 0.0
    allowed: float = 0.0
    reason: str = ""


def describe(wrong: Counterexample) -> tuple[str, ...]:
    """The lines that show a counterexample to a person."""
    lines = [
        f"${value.name} = " + (f"{value.dtype}{list(value.shape)} {value.text}" if value.dtype else value.text)
        for value in wrong.captures
    ]
    if wrong.reason:
        return (*lines, wrong.reason)
    where = f" at {list(wrong.index)}" if wrong.index else ""
    return (
        *lines,
        f"before{where}: {wrong.before:.17g}",
        f"after{where}:  {wrong.after:.17g}",
        f"rounding explains {wrong.allowed:.2g}; values: {wrong.kind}, seed {wrong.seed}",
    )


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check of one test: a few words for the line, more for the failure report."""

    outcome: Outcome
    summary: str
    details: tuple[str, ...] = ()
    counterexample: Counterexample | None = None
    trials: int = 0
    shapes: int = 0
    rules: tuple[str, ...] = ()


def ok(summary: str, *, trials: int = 0, shapes: int = 0, rules: tuple[str, ...] = ()) -> Finding:
    """A check that holds; ``rules`` are those that it was about."""
    return Finding(Outcome.OK, summary, trials=trials, shapes=shapes, rules=rules)


def failed(summary: str, *details: str, counterexample: Counterexample | None = None, trials: int = 0) -> Finding:
    """A check that does not hold."""
    return Finding(Outcome.FAILED, summary, details, counterexample, trials)


def skipped(reason: str) -> Finding:
    """A check that was not made."""
    return Finding(Outcome.SKIPPED, reason)


@dataclass(frozen=True, slots=True)
class TestReport:
    """All checks of one in-file test."""

    __test__ = False

    adapter: str
    test: str
    file: str
    line: int
    fires: Finding
    math: Finding
    gap: Finding
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(finding.outcome is not Outcome.FAILED for finding in (self.fires, self.math, self.gap))


@dataclass(frozen=True, slots=True)
class AdapterReport:
    """An adapter's tests, and what is wrong with it as a whole (``findings``, all failures)."""

    adapter: str
    tests: tuple[TestReport, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every test passed and nothing else was found."""
        return not self.findings and all(test.passed for test in self.tests)


@dataclass(frozen=True, slots=True)
class SiteReport:
    """The claim of one rule at one place of a real model (``apply --verify``)."""

    adapter: str
    rule: str
    module_path: str
    source_line: str
    math: Finding
