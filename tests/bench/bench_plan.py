"""Budget: plan and apply on BERT-base, the capture included, in at most twice the time of one torch.export of it.

    python -m tests.bench.bench_plan [repetitions]

Random weights at the real shape. Both are measured in turn in one run, after one of each on a small model; what counts
is the ratio of the medians.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import torch
from transformers import BertConfig, BertModel

from spyre_dsl.patching.plan import plan
from tests.patching.rules import HEAD_PADDING, STACK, adapters

BUDGET = 2.0
BASE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
SMALL = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 96}


def model(sizes: dict[str, int], heads: int) -> BertModel:
    """A BERT of these sizes; heads are halved in width, since those of BERT-base need no padding."""
    return BertModel(BertConfig(**{**sizes, "num_attention_heads": heads})).eval()


def inputs() -> dict[str, torch.Tensor]:
    mask = torch.ones(2, 16, dtype=torch.long)
    mask[1, 9:] = 0
    return {"input_ids": torch.randint(0, 1000, (2, 16)), "attention_mask": mask}


def export(subject: BertModel) -> None:
    dynamic = {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}
    with torch.no_grad():
        torch.export.export(subject, (), inputs(), strict=False, dynamic_shapes=dict.fromkeys(inputs(), dynamic))


def plan_and_apply(subject: BertModel) -> None:
    made = plan(subject, adapters(HEAD_PADDING), (), inputs(), stack=STACK)
    assert made.patches, "the benchmark is of a plan that rewrites something"
    made.apply(subject).revert()


def seconds(what: Callable[[BertModel], None], subject: BertModel) -> float:
    started = time.perf_counter()
    what(subject)
    return time.perf_counter() - started


def main() -> int:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    small, base = model(SMALL, 2), model(BASE, 24)
    export(small)
    plan_and_apply(small)
    pairs = [(seconds(export, base), seconds(plan_and_apply, base)) for _ in range(repetitions)]
    exported, planned = (statistics.median(column) for column in zip(*pairs))
    ratio = planned / exported
    print(f"torch.export {exported:.2f} s, plan + apply {planned:.2f} s: {ratio:.2f} x (budget {BUDGET:.2f} x)")
    return int(ratio > BUDGET)


if __name__ == "__main__":
    raise SystemExit(main())
