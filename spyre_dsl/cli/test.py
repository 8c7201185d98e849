"""``spyre-dsl test PATH...``: run the tests in adapter files, and check what their authors claim."""

from __future__ import annotations

import argparse
import json
import logging
import math
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spyre_dsl.cli.collecting import collect_seldom
from spyre_dsl.language.counting import counted
from spyre_dsl.language.diagnostics import SpyreDslError

if TYPE_CHECKING:
    from spyre_dsl.cli.progress import Progress
    from spyre_dsl.evidence.results import AdapterReport
    from spyre_dsl.evidence.rule_tests import Options
    from spyre_dsl.language.adapter import Adapter

PASSED, FAILED = 0, 1
DEFAULT_STACK: Final = "2026-06"
DEFAULT_TRIALS: Final = 48

_EXPLAINED = """\
For each test: does the rule fire as stated and make what the test says; is the rule's math claim true, on random
values in float64, edge values included, over shapes and dtypes within its guards; is the gap real: on the stack, the
code before is refused or wrong, and the code after right.

A test that shows no gap is no failure, but an adapter none of whose tests shows one has a finding, and so has one with
a claim that no test tries.

exit code: 0 all tests pass and there is no finding, 1 a test fails or there is a finding, 2 could not run
"""


def add_parser(subparsers: Any) -> None:
    """Declare the command and its options."""
    parser = subparsers.add_parser(
        "test",
        help="run the tests in adapter files and check their claims",
        description="Run the tests in adapter files, and check what their authors claim.",
        epilog=_EXPLAINED,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", help="an adapter file, or a folder of such files")
    parser.add_argument(
        "--stack", metavar="NAME", default=DEFAULT_STACK,
        help=f"the stack of tests that name none: a name, a day or a .yaml file ({DEFAULT_STACK})",
    )  # fmt: skip
    parser.add_argument("--rule", metavar="NAME", help="only the tests of this rule (NAME, or ADAPTER/NAME)")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="another seed tries other values and shapes")
    parser.add_argument(
        "--trials", metavar="N", type=_positive, default=DEFAULT_TRIALS, help=f"drawings a test ({DEFAULT_TRIALS})"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--no-gap", action="store_true", help="do not run the tests on the simulated stack")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from spyre_dsl.cli.adapter_files import complain, load_adapters, load_stack

    try:
        for path in arguments.paths:
            if not Path(path).exists():
                raise SpyreDslError(f"there is no `{path}`")
        adapters = _chosen(load_adapters(arguments.paths).adapters, arguments.rule)
        load_stack(arguments.stack)
    except (SpyreDslError, OSError) as problem:
        return complain(problem)
    quiet()
    started = time.perf_counter()
    reports = list(_reports(adapters, arguments))
    seconds = time.perf_counter() - started
    print(_json(reports, seconds) if arguments.json else _summary(reports, seconds))
    return PASSED if all(report.passed for report in reports) else FAILED


def quiet() -> None:
    """torch's exporter has much to say about dimensions; here it would stand between the results."""
    warnings.filterwarnings("ignore", category=FutureWarning)
    for name in ("torch._export", "torch.export", "torch.fx", "torch._dynamo"):
        logging.getLogger(name).setLevel(logging.ERROR)
    logging.getLogger("torch._subclasses").setLevel(logging.CRITICAL)  # what it logs is raised too, and told by a test


def _chosen(adapters: tuple[Adapter, ...], rule: str | None) -> tuple[tuple[Adapter, str | None], ...]:
    """The adapters to test, each with the one rule that was asked for, if any."""
    if rule is None:
        return tuple((adapter, None) for adapter in adapters)
    wanted, _, name = rule.rpartition("/")
    found = tuple(
        (adapter, name)
        for adapter in adapters
        if wanted in ("", adapter.name) and name in {each.name for each in adapter.rules}
    )
    if not found:
        from spyre_dsl.language.suggest import nearest

        known = [each.name for adapter in adapters for each in adapter.rules]
        near = nearest(name, known)
        hint = f"did you mean `{near}`?" if near else f"there are {', '.join(known)}"
        raise SpyreDslError(f"no rule is called `{rule}`\n  help: {hint}")
    return found


def _reports(
    adapters: tuple[tuple[Adapter, str | None], ...], arguments: argparse.Namespace
) -> Iterator[AdapterReport]:
    """Test one adapter after the other."""
    from spyre_dsl.cli.progress import Progress

    progress = Progress()
    collect_seldom()
    with progress.step("loading torch"):
        from spyre_dsl.evidence.math_check import Effort
        from spyre_dsl.evidence.results import AdapterReport
        from spyre_dsl.evidence.rule_tests import Options, adapter_findings, chosen_tests

    options = Options(arguments.stack, Effort(arguments.seed, arguments.trials), not arguments.no_gap)
    total = sum(len(chosen_tests(adapter, rule)) for adapter, rule in adapters)
    if not arguments.json:
        size = f"{counted(total, 'test')} of {counted(len(adapters), 'adapter')}"
        print(f"{size}, {counted(arguments.trials, 'trial')} each", file=sys.stderr, flush=True)
    counter = _Counter(progress, total)
    for adapter, rule in adapters:
        tests = tuple(_tests(adapter, rule, options, arguments.json, counter))
        report = AdapterReport(adapter.name, tests, adapter_findings(adapter, tests, options, rule))
        if not arguments.json:
            from spyre_dsl.cli.evidence_text import verdict_lines

            print(*verdict_lines(report, colour=sys.stdout.isatty()), "", sep="\n", flush=True)
        yield report


def _tests(adapter: Adapter, rule: str | None, options: Options, as_json: bool, counter: _Counter) -> Iterator[Any]:
    """One report after the other, printed as it comes."""
    from spyre_dsl.cli.evidence_text import test_lines
    from spyre_dsl.evidence.rule_tests import chosen_tests, run_test

    width = max((len(f"{adapter.name}/{name}") for name, _ in chosen_tests(adapter, rule)), default=0)
    for name, case in chosen_tests(adapter, rule):
        with nullcontext() if as_json else counter.step(f"{adapter.name}/{name}"):
            report = run_test(adapter, case, name, options)
        if not as_json:
            print(*test_lines(report, width, colour=sys.stdout.isatty()), sep="\n", flush=True)
        yield report


@dataclass
class _Counter:
    """Tells on standard error which test runs, and the how manieth of all it is."""

    progress: Progress
    total: int
    begun: int = 0

    def step(self, words: str) -> AbstractContextManager[None]:
        self.begun += 1
        return self.progress.step(f"[{self.begun}/{self.total}] {words}", passing=True)


def _summary(reports: list[AdapterReport], seconds: float) -> str:
    from spyre_dsl.cli.evidence_text import legend, totals

    return "\n".join(filter(None, [legend(reports), totals(reports, seconds)]))


def _json(reports: list[AdapterReport], seconds: float) -> str:
    shown = {
        "passed": all(report.passed for report in reports),
        "seconds": round(seconds, 3),
        "adapters": [_adapter(report) for report in reports],
    }
    return json.dumps(_strict(shown), indent=2, allow_nan=False)


def _adapter(report: AdapterReport) -> dict[str, Any]:
    tests = [asdict(test) | {"passed": test.passed} for test in report.tests]
    return asdict(report) | {"tests": tests, "passed": report.passed}


def _strict(value: Any) -> Any:
    """JSON has no infinity and no NaN; a counterexample may hold both. They become the words ``inf`` and ``nan``."""
    if isinstance(value, dict):
        return {name: _strict(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
