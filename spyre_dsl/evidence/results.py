"""What checking evidence gives: frozen data, for reporters to print and for callers to read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from spyre_dsl.language.source import Source
from spyre_dsl.language.syntax import NO_SPAN, Span


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
    ``allowed`` how far rounding, and the claim's bound, may take them apart; ``broken`` sets the measured error beside
    the bound of an approximate claim, and ``broken_as_drawn`` does so for the values before they were made simple, on
    which the error can be larger. ``reason`` is set instead where there are no two numbers (another shape or dtype, a
    rewrite that has no value).
    """

    captures: tuple[CapturedValue, ...]
    kind: str
    seed: int
    index: tuple[int, ...] = ()
    before: float = 0.0
    after: float = 0.0
    allowed: float = 0.0
    reason: str = ""
    broken: str = ""
    broken_as_drawn: str = ""


def describe(wrong: Counterexample) -> tuple[str, ...]:
    """The lines that show a counterexample to a person."""
    lines = [
        f"${value.name} = " + (f"{value.dtype}{list(value.shape)} {value.text}" if value.dtype else value.text)
        for value in wrong.captures
    ]
    if wrong.reason:
        return (*lines, wrong.reason)
    where = f" at {list(wrong.index)}" if wrong.index else ""
    explained = "the bound and rounding allow" if wrong.broken else "rounding explains"
    other = wrong.broken_as_drawn not in ("", wrong.broken)
    return (
        *lines,
        f"before{where}: {wrong.before:.17g}",
        f"after{where}:  {wrong.after:.17g}",
        f"{explained} {wrong.allowed:.2g}; values: {wrong.kind}, seed {wrong.seed}",
        *([f"before the values were made simple: {wrong.broken_as_drawn}"] if other else []),
    )


def refuted(claim: str, wrong: Counterexample) -> str:
    """The few words that say how a claim failed: ``not exact``, or with the error and the bound."""
    return f"not {claim}: {wrong.broken}" if wrong.broken else f"not {claim}"


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check of one test: a few words for the line, more for the failure report.

    ``place`` (``file:line:column``) is what a failure is about, where that is not the test itself; ``brief`` is what
    the test's line says of a check that was skipped and still has something to tell.
    """

    outcome: Outcome
    summary: str
    details: tuple[str, ...] = ()
    counterexample: Counterexample | None = None
    trials: int = 0
    shapes: int = 0
    rules: tuple[str, ...] = ()
    place: str = ""
    brief: str = ""


def ok(summary: str, *, trials: int = 0, shapes: int = 0, rules: tuple[str, ...] = ()) -> Finding:
    """A check that holds; ``rules`` are those that it was about."""
    return Finding(Outcome.OK, summary, trials=trials, shapes=shapes, rules=rules)


def failed(
    summary: str, *details: str, counterexample: Counterexample | None = None, trials: int = 0, place: str = ""
) -> Finding:
    """A check that does not hold, and the ``place`` in the file to look at."""
    return Finding(Outcome.FAILED, summary, details, counterexample, trials, place=place)


def skipped(reason: str, brief: str = "") -> Finding:
    """A check that was not made, or (with a ``brief`` word on it) that showed nothing."""
    return Finding(Outcome.SKIPPED, reason, brief=brief)


def place_of(source: Source | None, span: Span) -> str:
    """``file:line:column`` of a part of an adapter; empty for one that was not read from a file."""
    return "" if source is None or span == NO_SPAN else source.place(span.start)


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
    column: int = 0

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
