"""Is the gap real? On the adapter's stack the code before must be refused or wrong, and the code after right.

A run is *right* when every row's cosine with the reference is at least ``RIGHT_COSINE``, no element is further off than
``RIGHT_ERROR`` of the reference's largest, every number is finite where the reference is, and what cannot be rounded is
equal (whole numbers, infinities by sign and place): that much 16-bit arithmetic leaves of honest code. Anything else is
*wrong*. (The floor for whole models, cosine 0.99 in facts V3 and V4,
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

    ``cosine`` is None where the reference has no finite number to compare; ``unequal`` counts the elements that must be
    equal and are not: whole numbers, truth values, infinities and NaN of the reference. ``defects`` are the ids of the
    stack's known defects that the model met.
    """

    refused: tuple[str, ...] = ()
    cosine: float | None = None
    error: float = 0.0
    finite: bool = True
    unequal: int = 0
    defects: tuple[str, ...] = ()

    @property
    def right(self) -> bool:
        close = self.cosine is None or (self.cosine >= RIGHT_COSINE and self.error <= RIGHT_ERROR)
        return not self.refused and self.finite and not self.unequal and close

    @property
    def wrong(self) -> bool:
        return not self.refused and not self.right

    def __str__(self) -> str:
        if self.refused:
            return "refused " + ", ".join(self.refused)
        known = f" {', '.join(self.defects)}" if self.defects and self.wrong else ""
        return f"{'right' if self.right else 'wrong'}{known} ({self._measured()})"

    def _measured(self) -> str:
        if not self.finite:
            return "not finite"
        told = [f"cosine {self.cosine:.4f}, error {self.error:.2%}" if self.cosine is not None else ""]
        told += [f"{self.unequal} of the elements that must be equal are not" if self.unequal else ""]
        return ", ".join(filter(None, told)) or "nothing finite to compare"


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
    return replace(judge(got, reference), defects=tuple(compiled.report.defects))


def _facts(model: torch.nn.Module, inputs: Mapping[str, Any], stack: Any) -> tuple[str, ...]:
    import spyre_sim

    refusals = spyre_sim.check(model, (), dict(inputs), stack=stack)
    return tuple(dict.fromkeys(str(refusal.fact or refusal.op) for refusal in refusals))


def _texts(model: torch.nn.Module, inputs: Mapping[str, Any], stack: Any) -> tuple[str, ...]:
    import spyre_sim

    refusals = spyre_sim.check(model, (), dict(inputs), stack=stack)
    return tuple(f"{refusal.op}: {refusal.text}" for refusal in refusals)


def judge(got: Any, reference: Any) -> Run:
    """How good the tensors of ``got`` are beside those of ``reference``, which has the same structure."""
    pairs = list(zip(_tensors(got), _tensors(reference), strict=True))
    runs = [_judge_tensor(mine, wanted) for mine, wanted in pairs]
    cosines = [run.cosine for run in runs if run.cosine is not None]
    return Run(
        cosine=min(cosines, default=None),
        error=max((run.error for run in runs), default=0.0),
        finite=all(run.finite for run in runs),
        unequal=sum(run.unequal for run in runs),
    )


def _tensors(outputs: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(outputs) if isinstance(leaf, torch.Tensor)]


def _judge_tensor(mine: torch.Tensor, wanted: torch.Tensor) -> Run:
    """Whole numbers and truth values exactly; infinities and NaN by sign and place; the rest by cosine and error."""
    if not wanted.is_floating_point():
        return Run(cosine=None, unequal=int((mine != wanted).sum()))
    mine, wanted = mine.double(), wanted.double()
    number = wanted.isfinite()
    if bool((~mine.isfinite() & number).any()):
        return Run(cosine=None, finite=False)
    same = (mine == wanted) | (mine.isnan() & wanted.isnan())
    unequal = int((~number & ~same).sum())
    if not bool(number.any()):
        return Run(cosine=None, unequal=unequal)
    left, right = (torch.where(number, side, 0.0) for side in (mine, wanted))
    scale = right.abs().max().clamp(min=1e-30)
    error = float((left - right).abs().max() / scale)
    left, right = (side.reshape(-1, side.shape[-1] if side.dim() else 1) for side in (left, right))
    cosines = functional.cosine_similarity(left, right, dim=-1, eps=1e-300)
    both_zero = (left == 0).all(-1) & (right == 0).all(-1)
    return Run(cosine=float(cosines.where(~both_zero, 1.0).min()), error=error, unequal=unequal)
