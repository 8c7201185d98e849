"""A decoder of a billion parameters: a prefill of 64 tokens within 24 GiB, all told.

    python tests/bench/bench_decoder.py [--layers 18]

Random weights in the shape of OPT-1.3B with 18 of its 24 layers, in float16. Prints what compiling and a run take, and
the peak of the resident set of this process, the model and torch included.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, OPTConfig

import spyre_sim

BUDGET_GIB = 24.0
TOKENS = 64


def decoder(layers: int) -> Any:
    """Width 2048, 32 heads of a stick each, separate projections: nothing in it is refused by the June stack."""
    config = OPTConfig(
        hidden_size=2048, num_hidden_layers=layers, ffn_dim=8192, num_attention_heads=32, max_position_embeddings=128,
        word_embed_proj_dim=2048,
    )  # fmt: skip
    return AutoModelForCausalLM.from_config(config, dtype=torch.float16).eval()


def prompt() -> dict[str, Any]:
    """Token ids with a finite causal mask, which the stack takes as it is."""
    mask = torch.full((TOKENS, TOKENS), torch.finfo(torch.float16).min / 2).triu(1).half()
    return {
        "input_ids": torch.randint(0, 1000, (1, TOKENS), generator=torch.Generator().manual_seed(0)),
        "position_ids": torch.arange(TOKENS)[None],
        "attention_mask": mask[None, None],
        "use_cache": False,
    }


def peak_gib() -> float:
    """The most that this process has held in memory (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 2**20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=18)
    model, inputs = decoder(parser.parse_args().layers), prompt()
    parameters = sum(parameter.numel() for parameter in model.parameters())
    started = time.perf_counter()
    compiled = spyre_sim.compile(model, (), inputs)
    compiling = time.perf_counter() - started
    runs = []
    for _ in range(2):
        started = time.perf_counter()
        compiled(**inputs)
        runs.append(time.perf_counter() - started)
    print(f"{'parameters':28}{parameters / 1e9:8.2f} billion")
    print(f"{'compile':28}{compiling:8.1f} s")
    print(f"{f'prefill of {TOKENS} tokens, first':28}{runs[0]:8.1f} s")
    print(f"{f'prefill of {TOKENS} tokens, warm':28}{runs[1]:8.1f} s")
    print(f"{'peak memory':28}{peak_gib():8.1f} GiB  <= {BUDGET_GIB} GiB{'' if peak_gib() <= BUDGET_GIB else '  OVER'}")


if __name__ == "__main__":
    main()
