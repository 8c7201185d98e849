"""The result of an assessment as plain data; ``to_json`` gives the form of schema/report.schema.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from spyre_dsl.assessment.dimensions import Names, dimensions
from spyre_dsl.assessment.gaps import Gap, MetDefect
from spyre_dsl.assessment.profile import profile_json
from spyre_dsl.targets.comparison import Comparison
from spyre_dsl.targets.protocol import HostFallback

PASS = "pass"
GAPS = "gaps"
WRONG = "wrong-numbers"
UNPROVED = "claims-refuted"
PLANNED = "planned"


@dataclass(frozen=True)
class Report:
    """Everything that ``spyre-dsl apply`` says.

    ``verdict``: ``pass``; ``gaps`` (the stack refuses something, so there are no numbers); ``wrong-numbers``;
    ``claims-refuted`` (--verify found a rule whose ``math`` does not hold); ``planned`` (--dry-run).
    ``adapters_from`` are the files and folders that the adapters were read from, also those of a set that was not
    applied; ``summaries`` says of each adapter what it is for; ``sizes`` what a size is called in the config; ``plan``
    is None without adapters. ``kernels`` is None where the target counts none; ``cost`` is what one run would cost,
    None where the target does not know.
    """

    model: str
    source: str
    parameters: int
    stack: str
    target: str
    batch: tuple[int, ...]
    verdict: str
    adapters: tuple[str, ...] = ()
    adapters_from: tuple[str, ...] = ()
    summaries: Mapping[str, str] = field(default_factory=dict)
    plan: Any = None
    sizes: Names = field(default_factory=dict)
    comparison: Comparison | None = None
    gaps: tuple[Gap, ...] = ()
    kernels: int | None = None
    host_fallbacks: tuple[HostFallback, ...] = ()
    defects: tuple[MetDefect, ...] = ()
    claims: tuple[Any, ...] = ()
    notes: tuple[str, ...] = ()
    cost: Any = None
    seconds: float = 0.0
    timings: dict[str, float] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """0 when it passes (or was only planned), 1 otherwise."""
        return 0 if self.verdict in (PASS, PLANNED) else 1


def to_json(report: Report) -> dict[str, Any]:
    """The report as a JSON object; null stands where there is no number."""
    compared = report.comparison
    numbers = asdict(compared) if compared else dict.fromkeys(Comparison.__dataclass_fields__)
    return {
        "model": report.model,
        "source": report.source,
        "parameters": report.parameters,
        "stack": report.stack,
        "target": report.target,
        "batch": list(report.batch),
        "verdict": report.verdict,
        **numbers,
        "adapters": list(report.adapters),
        "adapters_from": list(report.adapters_from),
        "patches": [_patch(patch) for patch in report.plan.patches] if report.plan else [],
        "unmatched": [str(found) for found in report.plan.unmatched] if report.plan else [],
        "gaps": [_gap(gap, report.sizes) for gap in report.gaps],
        "kernels": report.kernels,
        "host_fallbacks": [asdict(fallback) for fallback in report.host_fallbacks],
        "defects": [{"id": met.id, "title": met.title, "bridges": list(met.bridges)} for met in report.defects],
        "claims": [_claim(claim) for claim in report.claims],
        "profile": profile_json(report.cost),
        "notes": list(report.notes),
        "seconds": round(report.seconds, 3),
        "timings": {name: round(seconds, 3) for name, seconds in report.timings.items()},
    }


def _patch(patch: Any) -> dict[str, Any]:
    names = ("adapter", "rule", "owner", "module_path", "source_line", "before", "after")
    return {name: getattr(patch, name) for name in names}


def _gap(gap: Gap, sizes: Names) -> dict[str, Any]:
    values = asdict(gap.refused)
    shape = values["shape"]
    return {
        **values,
        "shape": None if shape is None else list(shape),
        "dimensions": None if shape is None else dimensions(shape, sizes),
        "bridges": list(gap.bridges),
        "related": list(gap.related),
    }


def _claim(claim: Any) -> dict[str, Any]:
    """A site report of ``spyre_dsl.evidence``."""
    return {
        "adapter": claim.adapter,
        "rule": claim.rule,
        "module_path": claim.module_path,
        "source_line": claim.source_line,
        "outcome": str(claim.math.outcome.value),
        "detail": claim.math.summary,
    }
