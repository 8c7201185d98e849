"""Is the gap real? On the adapter's stack the code before must be refused or wrong, and the code after right.

A run is *right* when every row's cosine with the reference is at least ``RIGHT_COSINE``, no element is further off than
``RIGHT_ERROR`` of the reference's largest, and every number is finite where the reference is: that much 16-bit
arithmetic leaves of honest code. Anything else is *wrong*. (The floor for whole models, cosine 0.99 in facts V3 and V4,
is lower: errors of many layers add up there.) The reference is the same model on real numbers (float64).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import torch
import torch.nn.functional as functional
from torch.utils import _pytree as pytree

from spyre_dsl.evidence.results import Finding, failed, ok, skipped

RIGHT_COSINE: Final = 0.999
RIGHT_ERROR: Final = 0.02


@dataclass(frozen=True, slots=True)
class Run:
    """What the stack made of one model: ``refused`` names the refusals, else the numbers say how good it was.

    ``defects`` are the ids of the stack's known defects that the model met.
    """

    refused: tuple[str, ...] = ()
    cosine: float = 1.0
    error: float = 0.0
    finite: bool = True
    defects: tuple[str, ...] = ()

    @property
    def right(self) -> bool:
        return not self.refused and self.finite and self.cosine >= RIGHT_COSINE and self.error <= RIGHT_ERROR

    @property
    def wrong(self) -> bool:
        return not self.refused and not self.right

    def __str__(self) -> str:
        if self.refused:
            return "refused " + ", ".join(self.refused)
        known = f" {', '.join(self.defects)}" if self.defects and self.wrong else ""
        measured = f"cosine {self.cosine:.4f}, error {self.error:.2%}" if self.finite else "not finite"
        return f"{'right' if self.right else 'wrong'}{known} ({measured})"


def check_gap(
    before: torch.nn.Module, after: torch.nn.Module, inputs: Mapping[str, Any], reference: Any, stack: Any
) -> Finding:
    """Run both on ``stack`` and judge them against ``reference`` (what the model computes on real numbers).

    A test that shows no gap is skipped, with what was seen: rules that only prepare others' work have such tests.
    It fails where what comes out is wrong, or refused though the original was right.
    """
    left, right = run(before, inputs, reference, stack), run(after, inputs, reference, stack)
    seen = f"before: {left}; after: {right}"
    if right.wrong or (right.refused and left.right):
        return failed("after is wrong" if right.wrong else "after is refused", seen, *_texts(after, inputs, stack))
    if right.refused:
        return skipped(f"no gap bridged here ({seen})", "not shown here (the code after is refused too)")
    if left.right:
        return skipped(f"no gap here ({seen})", "not shown here (the code before is right)")
    return ok(str(left))


def run(model: torch.nn.Module, inputs: Mapping[str, Any], reference: Any, stack: Any) -> Run:
    """What ``stack`` makes of ``model``, judged against ``reference``."""
    import spyre_sim

    try:
        compiled = spyre_sim.compile(model, (), dict(inputs), stack=stack)
        got = compiled(**inputs)
    except (spyre_sim.CompileError, spyre_sim.RunError) as refusal:
        return Run(refused=_facts(model, inputs, stack) or (str(refusal.fact),))
    return replace(_judge(got, reference), defects=tuple(compiled.report.defects))


def _facts(model: torch.nn.Module, inputs: Mapping[str, Any], stack: Any) -> tuple[str, ...]:
    import spyre_sim

    refusals = spyre_sim.check(model, (), dict(inputs), stack=stack)
    return tuple(dict.fromkeys(str(refusal.fact or refusal.op) for refusal in refusals))


def _texts(model: torch.nn.Module, inputs: Mapping[str, Any], stack: Any) -> tuple[str, ...]:
    import spyre_sim

    refusals = spyre_sim.check(model, (), dict(inputs), stack=stack)
    return tuple(f"{refusal.op}: {refusal.text}" for refusal in refusals)


def _judge(got: Any, reference: Any) -> Run:
    pairs = list(zip(_floats(got), _floats(reference), strict=True))
    runs = [_judge_tensor(mine.double(), wanted.double()) for mine, wanted in pairs]
    if not runs:
        return Run()
    return Run((), min(r.cosine for r in runs), max(r.error for r in runs), all(r.finite for r in runs))


def _floats(outputs: Any) -> list[torch.Tensor]:
    leaves = pytree.tree_leaves(outputs)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()]


def _judge_tensor(mine: torch.Tensor, wanted: torch.Tensor) -> Run:
    if bool((~mine.isfinite() & wanted.isfinite()).any()):
        return Run(finite=False)
    mine, wanted = (torch.where(wanted.isfinite(), side, 0.0) for side in (mine, wanted))
    rows = (side.reshape(-1, side.shape[-1] if side.dim() else 1) for side in (mine, wanted))
    left, right = rows
    cosines = functional.cosine_similarity(left, right, dim=-1, eps=1e-300)
    both_zero = (left == 0).all(-1) & (right == 0).all(-1)
    scale = wanted.abs().max().clamp(min=1e-30)
    return Run((), float(cosines.where(~both_zero, 1.0).min()), float((mine - wanted).abs().max() / scale))

