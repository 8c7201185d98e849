"""The steps of ``spyre-dsl apply`` after the model is loaded: reference, plan, patch, run, compare."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from spyre_dsl.assessment.dimensions import names_of_sizes
from spyre_dsl.assessment.gaps import MetDefect, find_gaps, met_defects
from spyre_dsl.assessment.report import GAPS, PASS, PLANNED, UNPROVED, WRONG, Report
from spyre_dsl.assessment.set_aside import set_aside
from spyre_dsl.language.adapter import AdapterSet
from spyre_dsl.models.configuration import DECODER
from spyre_dsl.models.inputs import ModelInputs
from spyre_dsl.models.loading import LoadedModel
from spyre_dsl.patching.plan import Plan
from spyre_dsl.patching.plan import plan as make_plan
from spyre_dsl.targets.call import cast_inputs
from spyre_dsl.targets.comparison import MIN_TOKEN_COSINE, Comparison, compare
from spyre_dsl.targets.protocol import Outcome, Target

if TYPE_CHECKING:
    from spyre_dsl.evidence.results import SiteReport

# Fact V3: on the CPU the patched model must be closer than what the device's rounding leaves.
CPU_MIN_TOKEN_COSINE = 0.999

Step = Callable[[str], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Request:
    """What to do with a model: ``apply`` false leaves it unpatched (and still says what could bridge its gaps).

    ``places`` are the files and folders that the adapters were read from, for the report.
    """

    adapters: AdapterSet
    stack: Any
    apply: bool = True
    dry_run: bool = False
    verify: bool = False
    places: tuple[str, ...] = ()


@dataclass
class _Clock:
    """Runs the steps, telling the user of each, and keeps how long they took."""

    step: Step
    timings: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, name: str, words: str) -> Iterator[None]:
        started = time.perf_counter()
        with self.step(words):
            yield
        self.timings[name] = time.perf_counter() - started


def _silent(words: str) -> AbstractContextManager[None]:
    return nullcontext()


def assess(loaded: LoadedModel, inputs: ModelInputs, target: Target, request: Request, step: Step = _silent) -> Report:
    """Plan, patch and run ``loaded`` on ``target`` and compare it with itself in float32 on the CPU.

    The loaded model is left untouched. ``step`` is entered for each step with words for the user. Raises PatchError
    when the adapters cannot be applied, CaptureError when the model cannot be captured.
    """
    clock = _Clock(step)
    started = time.perf_counter()
    with clock("prepare", f"preparing the model for {target.name}"):
        prepared = target.prepare(loaded.model)
    plan = _plan(prepared, inputs, target, request, clock)
    shown = plan if request.apply else None
    aside = set_aside(request.adapters, prepared, request.stack, patched=bool(shown.patches)) if shown else ()
    if request.dry_run:
        return _report(loaded, inputs, target, request, shown, PLANNED, clock, started, aside=aside)
    with clock("reference", "running the float32 reference on the CPU"), torch.no_grad():
        reference = loaded.model(**inputs.arguments)
    claims = _verify(prepared, inputs, target, request, plan, clock) if request.verify and plan and shown else ()
    if plan is not None and request.apply:
        with clock("apply", "applying the patches"):
            plan.apply(prepared)
    with clock("run", f"running on {target.name}"):
        outcome = target.run(prepared, inputs.arguments, request.stack)
    compared = _compare(outcome, reference, inputs, loaded)
    gaps = find_gaps(outcome.refusals, request.adapters, plan.patches if plan and not request.apply else ())
    verdict = _verdict(outcome, compared, claims, target)
    return _report(
        loaded, inputs, target, request, shown, verdict, clock, started,
        comparison=compared, gaps=gaps, kernels=outcome.kernels, host_fallbacks=outcome.host_fallbacks,
        defects=_defects(outcome, request), claims=tuple(claims), cost=outcome.cost, aside=aside,
    )  # fmt: skip


def _plan(
    prepared: torch.nn.Module, inputs: ModelInputs, target: Target, request: Request, clock: _Clock
) -> Plan | None:
    """The plan in the target's own dtype, since guards may look at it; None for an empty set."""
    if not request.adapters.adapters:
        return None
    args, kwargs = cast_inputs(inputs.arguments, target.dtype)
    with clock("plan", "planning the patches"):
        return make_plan(prepared, request.adapters, args, kwargs, stack=request.stack)


def _verify(
    prepared: torch.nn.Module, inputs: ModelInputs, target: Target, request: Request, plan: Plan, clock: _Clock
) -> tuple[SiteReport, ...]:
    from spyre_dsl.evidence.verify import verify

    args, kwargs = cast_inputs(inputs.arguments, target.dtype)
    with clock("verify", "checking the math of every match"):
        tried = verify(prepared, request.adapters, args, kwargs, stack=request.stack)
    return tried + _untried(plan, request.adapters, {(claim.adapter, claim.rule) for claim in tried})


def _untried(plan: Plan, adapters: AdapterSet, tried: set[tuple[str, str]]) -> tuple[SiteReport, ...]:
    """The patches of rules that nothing was tried of, so that silence about them is not taken for a check."""
    from spyre_dsl.evidence.results import SiteReport, skipped

    claiming = {(made.name, rule.name) for made in adapters.adapters for rule in made.rules if rule.math is not None}
    unclaimed = skipped("the rule makes no math claim")
    whole = skipped("only expressions are tried inside a model; `spyre-dsl test` tries the other rewrites")
    return tuple(
        SiteReport(
            patch.adapter, patch.rule, patch.module_path, patch.source_line,
            whole if (patch.adapter, patch.rule) in claiming else unclaimed,
        )
        for patch in plan.patches
        if (patch.adapter, patch.rule) not in tried
    )  # fmt: skip


def _compare(outcome: Outcome, reference: Any, inputs: ModelInputs, loaded: LoadedModel) -> Comparison | None:
    if outcome.outputs is None:
        return None
    return compare(outcome.outputs, reference, inputs.mask, causal=loaded.kind.family == DECODER)


def _defects(outcome: Outcome, request: Request) -> tuple[MetDefect, ...]:
    titles = {name: defect.title for name, defect in request.stack.defects.items()} if outcome.defects else {}
    return met_defects(outcome.defects, titles, request.adapters)


def _verdict(outcome: Outcome, compared: Comparison | None, claims: Any, target: Target) -> str:
    if outcome.refusals or compared is None:
        return GAPS
    if not compared.passes(CPU_MIN_TOKEN_COSINE if target.name == "cpu" else MIN_TOKEN_COSINE):
        return WRONG
    return UNPROVED if any(claim.math.outcome == "failed" for claim in claims) else PASS


def _report(
    loaded: LoadedModel, inputs: ModelInputs, target: Target, request: Request, plan: Plan | None, verdict: str,
    clock: _Clock, started: float, aside: tuple[str, ...], **findings: Any,
) -> Report:  # fmt: skip
    return Report(
        model=loaded.name,
        source=loaded.source,
        parameters=sum(parameter.numel() for parameter in loaded.model.parameters()),
        stack=request.stack.name,
        target=target.name,
        batch=tuple(inputs.mask.shape),
        verdict=verdict,
        adapters=tuple(adapter.name for adapter in request.adapters.adapters) if request.apply else (),
        adapters_from=request.places,
        summaries={adapter.name: adapter.summary for adapter in request.adapters.adapters},
        plan=plan,
        sizes=names_of_sizes(loaded.model.config, tuple(inputs.mask.shape)),
        notes=loaded.notes + inputs.notes + aside,
        seconds=time.perf_counter() - started,
        timings=clock.timings,
        **findings,
    )
