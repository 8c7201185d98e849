"""A report for people: the plan, the gaps that remain, the numbers, the verdict."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from spyre_dsl.assessment.dimensions import Names, dimensions
from spyre_dsl.assessment.gaps import Gap, grouped
from spyre_dsl.assessment.report import GAPS, PASS, PLANNED, UNPROVED, WRONG, Report
from spyre_dsl.language.counting import counted
from spyre_dsl.language.resources import resource
from spyre_dsl.patching.table import table
from spyre_dsl.targets.comparison import Comparison
from spyre_sim.errors import cited

_VERDICTS = {
    PASS: "PASS: the numbers agree with the float32 reference",
    GAPS: "GAPS: the stack refuses this model",
    WRONG: "WRONG NUMBERS: it ran, and is too far from the float32 reference",
    UNPROVED: "CLAIMS REFUTED: a rule changes what the model computes",
    PLANNED: "PLANNED: nothing was run",
}


def render(report: Report) -> str:
    """The whole report as lines of plain text."""
    parts = [section(report) for section in _SECTIONS]
    verdict = f"verdict: {_VERDICTS[report.verdict]} ({report.seconds:.1f} s)"
    return "\n\n".join([*(part for part in parts if part), verdict])


def _heading(report: Report) -> str:
    rows, width = (*report.batch, 0)[:2]
    lines = [
        f"model:   {report.model} ({report.source}, {report.parameters / 1e6:.1f} million parameters)",
        f"target:  {report.target}, stack {report.stack}, batch of {rows} x {width} tokens",
    ]
    if report.adapters_from:
        lines.append(f"rules:   {', '.join(map(_adapters_place, report.adapters_from))}")
    return "\n".join([*lines, *(f"note:    {note}" for note in report.notes)])


def _adapters_place(place: str) -> str:
    return f"{place} (those that come with spyre-dsl)" if place == str(resource("adapters.d")) else place


def _plan(report: Report) -> str:
    if report.plan is None:
        return "no adapters applied"
    patches = report.plan.patches
    warnings = [f"warning: {found}" for found in report.plan.unmatched]
    if not patches:
        return "\n".join(["plan: no rule applies to this model", *warnings])
    owners = len({patch.owner for patch in patches})
    size = f"plan: {counted(len(patches), 'patch', 'patches')} in {counted(owners, 'module')}"
    return "\n".join([size, *table(patches, report.plan.sizes), *warnings])


def _claims(report: Report) -> str:
    if not report.claims:
        return ""
    counts = Counter(claim.math.outcome.value for claim in report.claims)
    told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
    lines = [f"math claims checked inside the model: {told}"]
    for claim in report.claims:
        if claim.math.outcome == "failed":
            lines.append(f"  {claim.adapter}/{claim.rule} at {claim.module_path}: {claim.math.summary}")
            lines += [f"    {detail}" for detail in claim.math.details]
    unchecked = Counter((f"{c.adapter}/{c.rule}", c.math.summary) for c in report.claims if c.math.outcome == "skipped")
    lines += [f"  {rule} x {count}: not checked, {why}" for (rule, why), count in sorted(unchecked.items())]
    return "\n".join(lines)


def _defects(report: Report) -> str:
    if not report.defects:
        return ""
    lines = ["known defects of the stack that it runs into:"]
    for met in report.defects:
        lines += [f"  {met.id} {met.title}", f"    bridge: {', '.join(met.bridges) or 'no adapter'}"]
    return "\n".join(lines)


def _gaps(report: Report) -> str:
    if not report.gaps:
        return ""
    lines = [f"gaps that remain: {len(report.gaps)}"]
    for gap, count in grouped(report.gaps):
        lines += _gap(gap, count, report.summaries, report.sizes)
    return "\n".join([*lines, *_facts_behind(report.gaps)])


def _facts_behind(gaps: Sequence[Gap]) -> list[str]:
    """The command that tells what the facts say by which the stack refuses."""
    facts = dict.fromkeys(fact for gap in gaps for fact in re.split(r", *", gap.refused.fact) if fact)
    return [f"what the facts in brackets say: spyre-dsl explain {' '.join(facts)}"] if facts else []


def _gap(gap: Gap, count: int, summaries: Mapping[str, str], sizes: Names) -> list[str]:
    refused = gap.refused
    path = gap.group[1] if count > 1 else refused.module_path
    times = f"  x {count}" if count > 1 else ""
    place = ", ".join(part for part in (path or "the model itself", refused.source_line) if part)
    fact = f" [{cited(refused.fact)}]" if refused.fact else ""
    result = f" -> {list(refused.shape)}" if refused.shape else ""
    return [
        f"  {refused.op or 'compilation'}{result} in {place}{times}",
        *_sizes(refused.shape or (), sizes),
        *(f"    {line}" for line in f"{refused.text}{fact}".splitlines()),
        *(f"    bridge: {line}" for line in _bridges(gap, summaries)),
    ]


def _sizes(shape: Sequence[int], sizes: Names) -> list[str]:
    """What the sizes are called, where one of them is a setting of the model."""
    named = [(size, name) for size, name in zip(shape, dimensions(shape, sizes), strict=True) if name]
    if all(name in ("batch", "sequence") for _, name in named):
        return []
    return [f"    where {', '.join(f'{size} is {name}' for size, name in dict.fromkeys(named))}"]


def _bridges(gap: Gap, summaries: Mapping[str, str]) -> list[str]:
    """The adapters that bridge a gap, each with what it is for in its author's words."""
    if gap.bridges:
        return [f"{name}: {summaries[name]}" if name in summaries else name for name in gap.bridges]
    if gap.related:
        cite = "cites" if len(gap.related) == 1 else "cite"
        return [f"no adapter here ({', '.join(gap.related)} {cite} this fact: see spyre-dsl why)"]
    return ["no adapter"]


def _fallbacks(report: Report) -> str:
    if not report.host_fallbacks:
        return ""
    counts = Counter(fallback.op for fallback in report.host_fallbacks)
    return "on the host: " + ", ".join(f"{op} x {count}" if count > 1 else op for op, count in counts.most_common())


def _numbers(report: Report) -> str:
    compared = report.comparison
    if compared is None:
        return ""
    on_host = len(report.host_fallbacks)
    kernels = "" if report.kernels is None else f"\nkernels: {report.kernels}, host fallbacks: {on_host}"
    return (
        f"token cosine: min {_number(compared.min_token_cosine)}, mean {_number(compared.mean_token_cosine)}; "
        f"pooled {_number(compared.pooled_cosine)}\n"
        f"largest difference: {_difference(compared.max_abs_diff)}; not finite: {compared.nonfinite}"
        f"{_tokens(compared)}{kernels}"
    )


def _tokens(compared: Comparison) -> str:
    if compared.same_tokens is None:
        return ""
    return f"; greedy tokens: {'all the same' if compared.same_tokens else f'{compared.token_mismatches} differ'}"


def _number(value: float | None) -> str:
    return "none (not finite)" if value is None else f"{value:.6f}"


def _difference(value: float | None) -> str:
    return "none (not finite)" if value is None else f"{value:.2g}"


_SECTIONS = (_heading, _plan, _claims, _gaps, _defects, _fallbacks, _numbers)
