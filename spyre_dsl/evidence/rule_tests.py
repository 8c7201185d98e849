"""Run the in-file tests of an adapter: do its rules fire as stated, are their claims true, is the gap real?"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from spyre_dsl.evidence import graph_equality, not_firing
from spyre_dsl.evidence.expressions import EvaluationError, Scope, evaluate
from spyre_dsl.evidence.gap_check import check_gap
from spyre_dsl.evidence.math_check import Effort, check_math
from spyre_dsl.evidence.models_of_tests import TestModel, TestModelError, build, expression_module, floating_dtype
from spyre_dsl.evidence.results import AdapterReport, Finding, Outcome, TestReport, failed, ok, place_of, skipped
from spyre_dsl.evidence.tensors import LiftedTensors
from spyre_dsl.graphs.capture import capture
from spyre_dsl.language.adapter import Adapter, AdapterSet, TestCase
from spyre_dsl.language.diagnostics import SpyreDslError
from spyre_dsl.language.printing import show
from spyre_dsl.patching.errors import RewriteError
from spyre_dsl.patching.plan import Plan, plan
from spyre_dsl.targets.profiles import load_stack

DEFAULT_STACK = "2026-06"


@dataclass(frozen=True, slots=True)
class Options:
    """What to check and how hard: a stack for tests that name none, and whether the gap is shown."""

    stack: str = DEFAULT_STACK
    effort: Effort = Effort()
    gap: bool = True


def chosen_tests(adapter: Adapter, rule: str | None = None) -> tuple[tuple[str, TestCase], ...]:
    """An adapter's tests with their names (their place in the file, from 1, where they have none).

    With ``rule``, only those that concern it: a test that names no rule concerns all.
    """
    named = ((case.name or f"test {place}", case) for place, case in enumerate(adapter.tests, 1))
    return tuple((name, case) for name, case in named if rule is None or not case.fires or rule in case.fires)


def run_adapter(adapter: Adapter, options: Options, rule: str | None = None) -> AdapterReport:
    """All tests of an adapter (with ``rule``, those that concern it), and what is wrong with it as a whole."""
    tests = tuple(run_test(adapter, case, name, options) for name, case in chosen_tests(adapter, rule))
    return AdapterReport(adapter.name, tests, adapter_findings(adapter, tests, options, rule))


def adapter_findings(
    adapter: Adapter, tests: Sequence[TestReport], options: Options, rule: str | None = None
) -> tuple[Finding, ...]:
    """What no single test can tell: a gap that none of them shows, a claim that none of them tried.

    Empty while a test fails, which is to be mended first, and for a part of an adapter.
    """
    if rule is not None or not all(test.passed for test in tests):
        return ()
    found = []
    if options.gap and not any(test.gap.outcome is Outcome.OK for test in tests):
        seen = (f"{test.test}: {test.gap.summary}" for test in tests)
        found.append(failed(f"no test shows the gap on {options.stack}", *seen))
    tried = {name for test in tests for name in test.math.rules}
    untried = [each.name for each in adapter.rules if each.math is not None and each.name not in tried]
    if untried:
        found.append(failed(f"no test tries the math claim of {', '.join(untried)}"))
    return tuple(found)


def run_test(adapter: Adapter, case: TestCase, name: str, options: Options) -> TestReport:
    """All checks of one test. What cannot be built or planned is a failed check, never an exception."""
    started = time.perf_counter()
    stack = load_stack(case.stack or options.stack)
    fires, math, gap = _checks(adapter, case, stack, options)
    file, line, column = _place(adapter, case)
    return TestReport(adapter.name, name, file, line, fires, math, gap, time.perf_counter() - started, column)


def _checks(adapter: Adapter, case: TestCase, stack: Any, options: Options) -> tuple[Finding, Finding, Finding]:
    try:
        model = build(case, {"stack": stack})
        wrong = _uncomputable(adapter, case, model, stack)
        if wrong is not None:
            return wrong, _NOT_RUN, _NOT_RUN
        made = plan(model.module, AdapterSet((adapter,)), (), dict(model.inputs), stack=stack)
        fires = _check_fires(adapter, case, model, made, stack)
        if case.unchanged or fires.outcome is Outcome.FAILED:
            idle = skipped("nothing is rewritten" if case.unchanged else "the test already failed")
            return fires, idle, idle
        math = check_math(adapter, case, stack, options.effort)
        return fires, math, _check_gap(case, model, made, stack) if options.gap else skipped("not asked for")
    except (TestModelError, EvaluationError, SpyreDslError, RuntimeError) as problem:  # torch raises the last
        return _not_run(problem), _NOT_RUN, _NOT_RUN


_NOT_RUN = skipped("the test could not be run")
_AT_NO_MODEL = re.compile(r" at the model \(\w+\.py:\d+\)")
"""Where an expression stands in the code that evaluates it, which is none of the author's."""


def _not_run(problem: Exception) -> Finding:
    """What stopped a test; a place in the rule file that the message begins with is the place of the finding."""
    text = _AT_NO_MODEL.sub("", str(problem)) if isinstance(problem, RewriteError) else str(problem)
    place = re.match(r"(\S+:\d+:\d+): ", text)
    told = text[place.end() :] if place else text
    return failed("cannot be run", *told.splitlines()[:8], place=place[1] if place else "")


def _uncomputable(adapter: Adapter, case: TestCase, model: TestModel, stack: Any) -> Finding | None:
    """The expression of a test that torch refuses on its inputs, in torch's own words, before anything is traced."""
    held = {**{name: value.detach() for name, value in model.module.named_parameters()}, **model.inputs}
    for key, expression in (("before", case.before), ("after", case.after)):
        if case.before is None or expression is None:
            continue
        try:
            with torch.no_grad():
                evaluate(
                    expression, Scope(names=held, roots={"stack": stack}, dtype=floating_dtype(model.inputs.values()))
                )
        except EvaluationError as problem:
            given = ", ".join(f"{name}: {_kind(value)}" for name, value in held.items())
            told = f"{show(expression)} has no value for {given}: {' '.join(str(problem).split())}"
            return failed(f"{key} cannot be computed", told, place=place_of(adapter.source, expression.span))
    return None


def _check_fires(adapter: Adapter, case: TestCase, model: TestModel, made: Plan, stack: Any) -> Finding:
    fired = sorted({patch.rule for patch in made.patches})
    if case.unchanged:
        return failed("fires", f"nothing was to fire, but {', '.join(fired)} did") if fired else ok("stays unchanged")
    missing = [rule for rule in case.fires if rule not in fired]
    if missing or not fired:
        wanted = ", ".join(missing) if missing else "a rule"
        told = f"{wanted} was to fire; what fired: {', '.join(fired) or 'nothing'}"
        return failed("does not fire", told, *not_firing.reasons(adapter, case, model, fired, stack))
    stock = model.run()
    with made.applied(model.module):
        patched = model.run()
        got = capture(model.module, (), dict(model.inputs)) if case.after is not None else None
    return _same_graph(adapter, case, model, got, stack) or _same_numbers(stock, patched) or ok("fires")


def _same_graph(adapter: Adapter, case: TestCase, model: TestModel, got: Any, stack: Any) -> Finding | None:
    if case.after is None:
        return None
    held = dict(model.module.named_parameters())
    wanted_module = expression_module(case, case.after, {n: p.detach() for n, p in held.items()}, {"stack": stack})
    wanted = capture(wanted_module, (), dict(model.inputs))
    found = graph_equality.mismatch(got, wanted)
    if found is None:
        return None
    told = f"the rules give {found.left}", f"the test says {found.right}"
    return failed("makes something else of it", *told, place=place_of(adapter.source, case.after.span))


def _same_numbers(stock: Any, patched: Any) -> Finding | None:
    """Both runs agree within the rounding of their dtype."""
    for left, right in zip(pytree.tree_leaves(stock), pytree.tree_leaves(patched), strict=True):
        if not isinstance(left, torch.Tensor):
            continue
        if left.shape != right.shape or left.dtype != right.dtype:
            return failed("changes the result", f"{_kind(left)} became {_kind(right)}")
        if left.is_floating_point():
            room = 32 * torch.finfo(left.dtype).eps
            scale = float(left.double().abs().nan_to_num(0.0, 0.0, 0.0).max()) if left.numel() else 0.0
            if not torch.allclose(left.double(), right.double(), rtol=room, atol=room * scale, equal_nan=True):
                apart = float((left.double() - right.double()).abs().max())
                return failed("changes the numbers", f"by up to {apart:.3g} where the largest is {scale:.3g}")
        elif not torch.equal(left, right):
            return failed("changes the result", "integers or truth values differ")
    return None


def _kind(value: torch.Tensor) -> str:
    return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"


def _check_gap(case: TestCase, model: TestModel, made: Plan, stack: Any) -> Finding:
    reference = _on_real_numbers(case, model, stack)
    twin = build(case, {"stack": stack})
    with made.applied(model.module):
        return check_gap(twin.module, model.module, model.inputs, reference, stack)


def _on_real_numbers(case: TestCase, model: TestModel, stack: Any) -> Any:
    """What the test's model computes where nothing is rounded."""
    if case.before is None:
        inputs = {name: v.double() if v.is_floating_point() else v for name, v in model.inputs.items()}
        return TestModel(build(case, {"stack": stack}).module.double(), inputs).run()
    tensors = LiftedTensors(torch.float64)
    held = {**dict(model.module.named_parameters()), **model.inputs}
    names = {given.name: tensors.lift(held[given.name].detach()) for given in case.inputs}
    dtype = floating_dtype(model.inputs.values())
    lifted = evaluate(case.before, Scope(names=names, roots={"stack": stack}, tensors=tensors, dtype=dtype))
    return pytree.tree_map(lambda leaf: leaf.value if tensors.owns(leaf) else leaf, lifted)


def _place(adapter: Adapter, case: TestCase) -> tuple[str, int, int]:
    if adapter.source is None:
        return "", 0, 0
    position = adapter.source.position(case.span.start)
    return adapter.source.name, position.line, position.column
