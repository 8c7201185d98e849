"""How fast the simulated device is, next to torch's eager float32 in the same run.

    python tests/bench/bench_sim.py [--repeats 25] [--skip-large]

Prints a table of ratios with their budgets. Both sides take turns and the best of many counts, so that a busy machine
disturbs the ratio least; a large model takes a third of the turns. `minilm` is a model of all-MiniLM-L6-v2's size with
heads of a whole stick; its weights are random, which costs the same. Peak memory is what a compile and a run add to the
resident set above the loaded model.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModel, BertConfig

import spyre_sim

PAUSE = 0.01  # seconds before each run
FINITE = torch.finfo(torch.float16).min / 2


@dataclass(frozen=True)
class Row:
    """One line of the table: what is measured, both times, the budget of their ratio."""

    name: str
    mine: float
    other: float
    budget: float
    unit: str = "ms"


def in_turns(mine: Callable[[], object], other: Callable[[], object], repeats: int) -> tuple[float, float]:
    """The best of `repeats` runs of each in milliseconds, taking turns, after one to warm up.

    Each begins on idle cores: torch's threads look for their next task for milliseconds before they sleep, and would
    take a core from whoever comes next.
    """
    best = [float("inf"), float("inf")]
    with torch.no_grad():
        for turn in range(repeats + 1):
            for index, work in enumerate((mine, other)):
                time.sleep(PAUSE)
                start = time.perf_counter()
                work()
                if turn:
                    best[index] = min(best[index], (time.perf_counter() - start) * 1e3)
    return best[0], best[1]


def encoder(hidden: int, layers: int, heads: int) -> Any:
    """A BERT of random weights in float32."""
    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=4 * hidden
    )
    return AutoModel.from_config(config).eval()


def inputs(batch: int, length: int, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Token ids, and a finite additive mask with one padded row, which the stack takes as it is."""
    ids = torch.randint(0, 1000, (batch, length), generator=torch.Generator().manual_seed(0))
    mask = torch.zeros(batch, 1, length, length, dtype=dtype)
    mask[-1, :, :, length // 2 :] = FINITE
    return {"input_ids": ids, "attention_mask": mask}


def model_rows(name: str, model: Any, batch: int, length: int, repeats: int) -> list[Row]:
    """Warm runs, the compile next to an export, and the memory that both take."""
    wide, narrow = inputs(batch, length, torch.float32), inputs(batch, length, torch.float16)
    device_model = type(model)(model.config).eval()
    device_model.load_state_dict(model.state_dict())
    device_model.half()
    weights = 4 * sum(parameter.numel() for parameter in model.parameters())
    reset_peak()
    before = resident()
    start = time.perf_counter()
    compiled = spyre_sim.compile(device_model, (), narrow)
    compile_ms = (time.perf_counter() - start) * 1e3
    compiled(**narrow)
    added = peak() - before
    start = time.perf_counter()
    with torch.no_grad():
        torch.export.export(device_model, (), narrow, strict=False)
    export_ms = (time.perf_counter() - start) * 1e3
    mine, other = in_turns(lambda: compiled(**narrow), lambda: model(**wide), repeats)
    return [
        Row(f"{name}, batch {batch} x {length}, warm", mine, other, 1.25),
        Row(f"{name}, compile / one export", compile_ms, export_ms, 2.0),
        Row(f"{name}, peak memory / float32 weights", added / 2**20, weights / 2**20, 0.75, "MiB"),
    ]


def op_rows(repeats: int) -> list[Row]:
    """Single ops against torch."""
    scores = torch.randn(4096, 1024)
    x, y = torch.randn(512, 768), torch.randn(768, 3072)
    softmax = spyre_sim.compile(lambda t: t.softmax(-1), (scores.half(),))
    matmul = spyre_sim.compile(torch.matmul, (x.half(), y.half()))
    narrow, left, right = scores.half(), x.half(), y.half()
    return [
        Row("softmax 4096 x 1024", *in_turns(lambda: softmax(narrow), lambda: scores.softmax(-1), repeats), 3.0),
        Row("matmul 512 x 768 x 3072", *in_turns(lambda: matmul(left, right), lambda: x @ y, repeats), 1.2),
    ]


def scaling_rows(repeats: int) -> list[Row]:
    """Twice the layers and twice the batch, next to the simple ones: about two each, with no more than a tenth over."""
    rows = []
    for name, small, large in (("layers", (2, 4), (4, 4)), ("batch", (2, 4), (2, 8))):
        runs = []
        for layers, batch in (large, small):
            model, given = encoder(256, layers, 4).half(), inputs(batch, 128, torch.float16)
            compiled = spyre_sim.compile(model, (), given)
            runs.append(lambda compiled=compiled, given=given: compiled(**given))
        rows.append(Row(f"twice the {name} / once", *in_turns(runs[0], runs[1], repeats), 2.2))
    return rows


def resident() -> int:
    """Bytes of the resident set now."""
    return _status("VmRSS")


def peak() -> int:
    """The most it has been since `reset_peak`."""
    return _status("VmHWM")


def reset_peak() -> None:
    """Forget the peak so far (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith(field)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--skip-large", action="store_true", help="leave out the shape of BERT-base")
    arguments = parser.parse_args()
    model_rows("to load what is loaded once", encoder(128, 1, 2), 2, 64, 1)
    rows = model_rows("minilm", encoder(384, 6, 6), 8, 128, arguments.repeats)
    if not arguments.skip_large:
        rows += model_rows("bert-base", encoder(768, 12, 12), 8, 128, max(2, arguments.repeats // 3))
    rows += op_rows(arguments.repeats) + scaling_rows(arguments.repeats)
    print(f"{'':44}{'simulator':>12}{'reference':>12}{'ratio':>8}  budget")
    for row in rows:
        ratio = row.mine / row.other
        verdict = "" if ratio <= row.budget else "  OVER"
        times = f"{row.mine:9.1f} {row.unit:3}{row.other:8.1f} {row.unit:3}"
        print(f"{row.name:44}{times}{ratio:8.2f}  {row.budget}{verdict}")


if __name__ == "__main__":
    main()
