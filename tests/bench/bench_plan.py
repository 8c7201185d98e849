"""Budgets: plan and apply, the capture included, against one torch.export of the same model.

    python -m tests.bench.bench_plan [repetitions]

Random weights at the real shapes: BERT-base, which is rewritten layer by layer, and MPNet-base with all of adapters.d,
which writes in place and is rewritten as a whole, so that it is exported twice. Both sides are measured in turn in one
run, after one of each on a small model; what counts is the ratio of the medians.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from transformers import BertConfig, BertModel, MPNetConfig, MPNetModel

from spyre_dsl.language.adapter import AdapterSet
from spyre_dsl.language.collection import load
from spyre_dsl.patching.plan import plan
from spyre_dsl.targets.profiles import load_stack
from tests.patching.rules import HEAD_PADDING, STACK, adapters

BASE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
SMALL = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 96}


@dataclass(frozen=True)
class Case:
    """A model with the adapters and the stack that it is planned for, and how many exports that may cost."""

    name: str
    model: torch.nn.Module
    adapters: AdapterSet
    stack: Any
    budget: float


def bert(sizes: dict[str, int], heads: int) -> Case:
    """A BERT of these sizes; heads are halved in width, since those of BERT-base need no padding."""
    model = BertModel(BertConfig(**{**sizes, "num_attention_heads": heads})).eval()
    return Case("bert-base", model, adapters(HEAD_PADDING), STACK, 2.0)


def mpnet() -> Case:
    """An MPNet in the number format of the device."""
    return Case("mpnet-base", MPNetModel(MPNetConfig(**BASE)).eval().half(), load("adapters.d"), load_stack(), 2.5)


def inputs() -> dict[str, torch.Tensor]:
    mask = torch.ones(2, 16, dtype=torch.long)
    mask[1, 9:] = 0
    return {"input_ids": torch.randint(3, 1000, (2, 16)), "attention_mask": mask}


def export(case: Case) -> None:
    dynamic = {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}
    with torch.no_grad():
        torch.export.export(case.model, (), inputs(), strict=False, dynamic_shapes=dict.fromkeys(inputs(), dynamic))


def plan_and_apply(case: Case) -> None:
    made = plan(case.model, case.adapters, (), inputs(), stack=case.stack)
    assert made.patches, "the benchmark is of a plan that rewrites something"
    made.apply(case.model).revert()


def seconds(what: Callable[[Case], None], case: Case) -> float:
    started = time.perf_counter()
    what(case)
    return time.perf_counter() - started


def ratio(case: Case, repetitions: int) -> float:
    """How many times the time of one export plan and apply take; printed."""
    pairs = [(seconds(export, case), seconds(plan_and_apply, case)) for _ in range(repetitions)]
    exported, planned = (statistics.median(column) for column in zip(*pairs))
    found = planned / exported
    print(f"{case.name:12} {exported:12.2f} s {planned:14.2f} s {found:9.2f} {case.budget:8.2f}")
    return found


def main() -> int:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    small = bert(SMALL, 2)
    export(small)
    plan_and_apply(small)
    print(f"{'':12} {'torch.export':>14} {'plan + apply':>16} {'ratio':>9} {'budget':>8}")
    return int(any([ratio(case, repetitions) > case.budget for case in (bert(BASE, 24), mpnet())]))


if __name__ == "__main__":
    raise SystemExit(main())
