"""How many model types pass on a stack, with the shipped adapters and without: docs/coverage.md.

`python -m tests.zoo.coverage record --stack 2026-06 [TYPE ...]` sweeps the types of the embedding list (with
`--causal` the generative ones) and keeps what it finds in tests/zoo/coverage.json, type by type;
`python -m tests.zoo.coverage page` writes the page from it.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import math
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.zoo.sweep_types import MIN_TOKEN_COSINE, Finding, by_op, examine, line
from tests.zoo.tiny_models import CAUSAL, EMBEDDING

STORE = Path(__file__).with_name("coverage.json")
PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"
STACKS = ("2026-06", "2026-09")
# Models of each type among the 10,000 most downloaded for embedding, by the type that their config names.
DOWNLOADED = {
    "bert": 3198, "xlm-roberta": 1855, "metaclip_2": 1031, "roberta": 612, "mpnet": 529, "qwen3": 384,
    "distilbert": 373, "modernbert": 356, "gemma3_text": 339, "qwen2": 82, "t5": 81,
    "nomic_bert": 79, "camembert": 52, "eurobert": 46,
    "llama": 43, "deberta-v2": 38, "gte": 27, "electra": 22, "mistral": 22, "gpt_neo": 21, "albert": 16, "clip": 13,
    "qwen3_vl": 12, "luke": 12, "qwen2_vl": 9, "qwen2_5_omni_thinker": 7, "xmod": 7, "llava_next": 7, "longformer": 7,
    "bloom": 6, "flaubert": 4, "lfm2": 4, "qwen2_5_vl": 3, "deberta": 3, "dpr": 3, "siglip": 3, "clap": 3, "esm": 3,
    "mt5": 2, "gpt_neox": 2, "gpt2": 2, "mamba2": 2, "gptj": 2, "bart": 1, "phi": 1, "qwen3_5": 1, "m2m_100": 1,
    "phi3": 1, "gemma": 1, "t5gemma": 1, "gemma2": 1,
}  # fmt: skip

OWN_CODE = 340
"""Models that call themselves `bert` and load code of their own, so that the stock class is not what they run."""

Row = Mapping[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Record or write the page; 1 if a type crashed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["record", "page"])
    parser.add_argument("types", nargs="*", help="model types (default: all of the list)")
    parser.add_argument("--causal", action="store_true", help="the generative types")
    parser.add_argument("--stack", action="append", help="stacks (default: both)")
    options = parser.parse_intermixed_args(arguments)
    if options.what == "page":
        PAGE.write_text(page(_stored()), encoding="utf-8")
        return 0
    crashed = False
    for name in options.types or (CAUSAL if options.causal else EMBEDDING):
        for stack in options.stack or STACKS:
            found = examine(name, options.causal, stack, adapters=True)
            crashed |= bool(found.crash)
            print(line(found), flush=True)
            _keep(found, options.causal)
    return int(crashed)


def row(found: Finding, causal: bool) -> dict[str, Any]:
    """A finding as it is stored."""
    model = found.name.removesuffix(" (causal)")
    return {
        "type": model, "causal": causal, "stack": found.stack, "verdict": found.verdict(), "patches": found.patches,
        "cosine": None if math.isnan(found.cosine) else round(found.cosine, 6),
        "before": by_op(found.refusals), "after": by_op(found.after or ()), "why": found.uncaptured,
    }  # fmt: skip


def _keep(found: Finding, causal: bool) -> None:
    """Put one finding in the place of the older one. Two sweeps may run at once."""
    with STORE.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        fresh = row(found, causal)
        rows = [old for old in _stored() if _key(old) != _key(fresh)]
        rows = sorted([*rows, fresh], key=_order)
        text = ",\n".join(json.dumps(item, ensure_ascii=False) for item in rows)
        STORE.write_text(f"[\n{text}\n]\n", encoding="utf-8")
    STORE.with_suffix(".lock").unlink(missing_ok=True)


def _stored() -> list[dict[str, Any]]:
    return json.loads(STORE.read_text(encoding="utf-8")) if STORE.exists() else []


def _key(item: Row) -> tuple[str, bool, str]:
    return item["type"], item["causal"], item["stack"]


def _order(item: Row) -> tuple[str, bool, int]:
    listed = CAUSAL if item["causal"] else EMBEDDING
    return item["stack"], item["causal"], listed.index(item["type"])


def without(item: Row) -> str:
    """The status without adapters: what is not refused computes the same as with them, where no rule fires."""
    if item["verdict"] in ("crash", "no graph"):
        return str(item["verdict"])
    if item["before"]:
        return "refused"
    return str(item["verdict"]) if not item["patches"] else "not refused"


def passing(rows: Iterable[Row]) -> tuple[int, int]:
    """(models whose type passes, models of all types that were swept), by the list's counts."""
    kept = list(rows)
    good = [item for item in kept if item["verdict"] == "pass"]
    return sum(DOWNLOADED[item["type"]] for item in good), sum(DOWNLOADED[item["type"]] for item in kept)


def page(rows: Sequence[Row]) -> str:
    """The page, from what is stored."""
    parts = [_head(), *(_totals(rows, stack) for stack in STACKS), LIMITS]
    parts += [_table(rows, stack, causal=False) for stack in STACKS]
    parts += [GENERATIVE, *(_generative_totals(rows, stack) for stack in STACKS), NOT_YET]
    parts += [_table(rows, stack, causal=True) for stack in STACKS]
    return "\n".join(part for part in parts if part)


def _head() -> str:
    return f"""<!-- Written by `python -m tests.zoo.coverage page` from tests/zoo/coverage.json; do not edit. -->

# Which models pass

How many of the most-downloaded embedding models would pass on the simulated stack with the adapters in `adapters.d`?
For each model type a tiny model with random weights is captured, planned, patched and run; it passes where nothing is
refused and no real token's cosine against the float32 reference is below {MIN_TOKEN_COSINE}. The type's count in the
list of the 10,000 most downloaded is what it weighs.
"""


def _totals(rows: Sequence[Row], stack: str) -> str:
    here = [item for item in rows if item["stack"] == stack and not item["causal"]]
    if not here:
        return ""
    good, all_of_them = passing(here)
    bare = sum(DOWNLOADED[item["type"]] for item in here if without(item) == "pass")
    types = sum(item["verdict"] == "pass" for item in here)
    return (
        f"- **{stack}: {good:,} of {all_of_them:,} models** ({good / all_of_them:.1%}), {types} of {len(here)} types;"
        f" of the stock ones among them, {good - OWN_CODE:,} of {all_of_them - OWN_CODE:,}. Without adapters {bare:,}."
    )


def _generative_totals(rows: Sequence[Row], stack: str) -> str:
    here = [item for item in rows if item["stack"] == stack and item["causal"]]
    if not here:
        return ""
    counted = Counter(item["verdict"] for item in here)
    others = ", ".join(f"{counted[verdict]} {verdict}" for verdict in sorted(counted.keys() - {"pass"}))
    bare = sum(without(item) == "pass" for item in here)
    return f"- **{stack}: {counted['pass']} of {len(here)} generative types pass**, {others}. Without adapters {bare}."


GENERATIVE = """## Generative models

The causal models of the types that Transformers has, swept in the same way: the whole prompt at once, without a cache.
They are as tiny, but built like the released models of their type where that changes the ops: heads of 128 or 256,
one key and value head for two query heads, the released share of a head that is rotated, windows shorter than the
text, ALiBi, multipliers, experts (`RELEASED` in `tests/zoo/tiny_models.py`). Nothing is weighed by downloads.
"""

NOT_YET = """
What does not pass, and why:

- *Mixtures of experts.* The weights of an expert are gathered for each token and multiplied with one column, which has
  no lane to lie in (E5); the router's softmax runs in float32 (A26), its `topk` takes four experts at most (O9).
- *State spaces and linear attention* (Mamba, Qwen3-Next, and hybrids such as Bamba, Falcon-H1, Nemotron-H). Their
  convolution along the text has no lowering (O11), and their scan runs in float32 over ops that the stack has in 16
  bits only (A8, A9).
- *Latent attention* (DeepSeek). Rotary embeddings in complex numbers (N30); values as wide as no key (O15).
- *XLNet* builds its positions in float32 between products (N46, A9).
- Not in the table: heads of 80 and 96 lanes that are rotated, as Phi-2 and Phi-3 mini have them. They are refused
  (E10): the rules that pad heads do not pass through a rotary embedding.
- Gemma 4 is not in the table either: its layers hand keys and values on in a dictionary of a class of their own, which
  a patched module does not know again; it then refuses the call rather than run unpatched.
- Falcon-Mamba, Jamba and RWKV have not been swept. Qwen3.5 is among the embedding models above.
- Decoding step by step is not swept. Neither are encoder-decoder models in float16: BART and its relatives look for
  infinities between their layers, and their decoder alone is what `bart` stands for in this table.
"""

LIMITS = """
What this does not say:

- The weights are random, the models tiny (hidden size 128, two layers, two heads of 64; batch of 2 x 64 with padding).
  Heads of other widths, large vocabularies, long inputs and what trained weights do to 16 bits are not in it.
- ESM has the epsilon of its published checkpoints, 1e-5. With that of its config class, 1e-12, it is wrong: its padded
  tokens are rows of zeros, an epsilon below 4.7e-10 is zero in the device's 16 bits (N7), and layer_norm makes NaN of
  them, which attention spreads over the text (S10 is its kin). The norms of other types meet no row of zeros.
- FlauBERT asserts that no length exceeds the batch's, for which it reads a number from the device. Where its forward
  is replaced by a rewritten graph, that assertion is left out, as are all those in such a graph.
- The count goes by the type that a model's config names. Of the models counted as `bert`, 340 load code of their own
  and are not the stock class; 670 of the 10,000 name a type that Transformers lacks, or none, and are left out.
- A text model is run by itself. Pooling, normalising and heads that a library adds are not part of it.
- The stack is simulated. Where it refuses what it does not model (`not_modelled`), the real one may accept it.

What has no bridge, and why:

- Longformer gives no graph: it counts its windows with a tensor, and whether any token attends to all others is read
  from the mask by a Python branch. Rules are matched on graphs, so there is none to write.
- BART gives no graph in float16: each encoder layer asks, in Python, whether all numbers are finite. In float32 it
  does.
- CLAP is refused in its sound model only (Swin, with batch norm, adaptive pooling and resizing, which the simulator
  does not model); `apply` refuses models that need sound. Its text model is RoBERTa's.
- Mamba-2 and Qwen3.5 (`mamba2`, `qwen3_5`) mix tokens by a scan: a depthwise conv1d that the stack does not lower
  (O11), then products with decays in float32, which are masked and laid out anew (A8, A9), chunk by chunk. Qwen3.5's
  delta rule also fills the rows of a chunk one by one, of operands that have no stick in common (E1). A bridge would be
  another algorithm for the scan, not another spelling of its ops.

Make it again: `python -m tests.zoo.coverage record` (some 20 minutes for each stack on two cores; with `--causal` the
generative types, as long again), then `python -m tests.zoo.coverage page`. In the tables, ops have the fact that they
fail by in brackets.
"""


def _table(rows: Sequence[Row], stack: str, causal: bool) -> str:
    here = [item for item in rows if item["stack"] == stack and item["causal"] is causal]
    if not here:
        return ""
    kind, count, rule = ("generative", "", "") if causal else ("embedding", " models |", " ---: |")
    lines = [f"## {stack}: {kind} models", ""]
    lines += [f"| type |{count} without adapters | with adapters | patches | worst cosine | what is left |"]
    lines += [f"| --- |{rule} --- | --- | ---: | ---: | --- |", *map(_line, here)]
    return "\n".join(lines) + "\n"


def _line(item: Row) -> str:
    count = [] if item["causal"] else [f"{DOWNLOADED[item['type']]:,}"]
    cosine = "" if item["cosine"] is None else f"{item['cosine']:.5f}"
    left = item["after"] or item["why"]
    left = left.replace("|", "\\|")
    cells = [item["type"], *count, without(item), item["verdict"], str(item["patches"]), cosine, left]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    sys.exit(main())
