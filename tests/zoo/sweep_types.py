"""What the simulated stack says to tiny models of every type: `python -m tests.zoo.sweep_types [--adapters] [TYPE]`.

Every type of the embedding list and the cheap causal ones, float16, random weights, batch 2 x 64 with a padded row.
Printed: per type and stack the refusals by op, fact and kind; with `--adapters` also what is left after adapters.d,
and whether the patched model passes on the simulator. A crash is neither: it is printed with its last frame, and the
exit status is 1.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

import spyre_sim
from tests.zoo.tiny_models import CAUSAL, EMBEDDING, Tiny, build

STACKS = ("2026-06", "2026-09")
ADAPTERS = Path(__file__).parents[2] / "adapters.d"
MIN_TOKEN_COSINE = 0.99  # V1


@dataclass
class Finding:
    """One type on one stack: `refusals` as spyre_sim.check gives them; `after` the same once patched, None if that was
    not asked for; `cosine`: the worst real token of the run, NaN where nothing ran; `uncaptured`: why export gives
    no graph (the model's Python branches on a value); `crash`: the last frames."""

    name: str
    stack: str
    refusals: Sequence[Any] = ()
    after: Sequence[Any] | None = None
    patches: int = 0
    cosine: float = float("nan")
    crash: str = ""
    uncaptured: str = ""
    seconds: float = 0.0
    defects: tuple[str, ...] = field(default=())

    def verdict(self) -> str:
        """crash, no graph, refused, wrong, or pass."""
        if self.crash or self.uncaptured:
            return "crash" if self.crash else "no graph"
        left = self.refusals if self.after is None else self.after
        if left:
            return "refused"
        return "pass" if self.cosine >= MIN_TOKEN_COSINE else "wrong"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sweep; 1 if anything crashed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("types", nargs="*", help="model types (default: all)")
    parser.add_argument("--adapters", action="store_true", help="plan and apply adapters.d first")
    parser.add_argument("--stack", action="append", help="stacks (default: 2026-06 and 2026-09)")
    parser.add_argument("--causal", action="store_true", help="only the causal models")
    options = parser.parse_args(arguments)
    findings = []
    for name, causal in _chosen(options.types, options.causal):
        for stack in options.stack or STACKS:
            found = examine(name, causal, stack, options.adapters)
            findings.append(found)
            print(line(found), flush=True)
    print(summary(findings))
    return int(any(found.crash for found in findings))


def _chosen(types: Sequence[str], causal_only: bool) -> list[tuple[str, bool]]:
    listed = [] if causal_only else [(name, False) for name in EMBEDDING]
    listed += [(name, True) for name in CAUSAL]
    return [item for item in listed if not types or item[0] in types]


def examine(name: str, causal: bool, stack: str, adapters: bool) -> Finding:
    """Build, check, patch, run; an exception of the product ends up in `crash`."""
    found = Finding(f"{name}{' (causal)' if causal else ''}", stack)
    started = time.perf_counter()
    try:
        tiny = build(name, causal=causal)
        with torch.no_grad():
            reference = tiny.model(**tiny.kwargs)
        model, kwargs = copy.deepcopy(tiny.model).half(), _halved(tiny.kwargs)
        found.refusals = spyre_sim.check(model, (), kwargs, stack=stack)
        if adapters:
            _patch(found, model, kwargs, stack)
        if not (found.refusals if found.after is None else found.after):
            _run(found, model, kwargs, reference, tiny)
    except GuardOnDataDependentSymNode as error:
        found.uncaptured = str(error).splitlines()[0]
    except Exception:  # whatever it is, the sweep goes on and says so
        found.crash = traceback.format_exc(limit=-4)
    found.seconds = time.perf_counter() - started
    return found


def _patch(found: Finding, model: torch.nn.Module, kwargs: dict[str, Any], stack: str) -> None:
    import spyre_dsl as sd

    plan = sd.plan(model, sd.load(ADAPTERS), kwargs, stack=stack)
    plan.apply(model)
    found.patches = len(plan.patches)
    found.after = spyre_sim.check(model, (), kwargs, stack=stack)


def _run(found: Finding, model: torch.nn.Module, kwargs: dict[str, Any], reference: Any, tiny: Tiny) -> None:
    compiled = spyre_sim.compile(model, (), kwargs, stack=found.stack)
    found.defects = compiled.report.defects
    got, wanted = (_first(result).float() for result in (compiled(**kwargs), reference))
    if got.shape[:2] == tiny.mask.shape:
        got, wanted = got[tiny.mask], wanted[tiny.mask]
    similar = torch.nn.functional.cosine_similarity(got.flatten(1), wanted.flatten(1), dim=-1)
    found.cosine = float(similar.min())


def _first(result: Any) -> torch.Tensor:
    tensors: Iterable[Any] = result.to_tuple() if hasattr(result, "to_tuple") else result
    return next(item for item in tensors if isinstance(item, torch.Tensor) and item.is_floating_point())


def _halved(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value.half() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
        for key, value in kwargs.items()
    }


def line(found: Finding) -> str:
    """One type on one stack."""
    text = f"{found.name:28} {found.stack} {found.verdict():8}"
    if found.after is not None:
        text += f" {len(found.refusals):3} -> {len(found.after):<3} patches {found.patches:<3}"
    if found.cosine == found.cosine:
        text += f" cosine {found.cosine:.4f} {','.join(found.defects)}"
    text += f" {found.seconds:5.1f} s  {by_op(found.refusals if found.after is None else found.after)}"
    return text + found.uncaptured + ("\n" + found.crash if found.crash else "")


def by_op(refusals: Sequence[Any]) -> str:
    """ "aten.neg[E10] x4, ..."; kinds other than unsupported are named."""
    counted = Counter((r.op.removeprefix("aten."), r.fact, r.kind) for r in refusals)
    shown = [
        f"{op}[{fact if kind == 'unsupported' else kind}]{f' x{n}' if n > 1 else ''}"
        for (op, fact, kind), n in counted.most_common()
    ]
    return ", ".join(shown)


def summary(findings: Sequence[Finding]) -> str:
    """How many of each verdict by stack, and which ops are refused by how many types."""
    lines = [""]
    for stack in dict.fromkeys(found.stack for found in findings):
        here = [found for found in findings if found.stack == stack]
        verdicts = Counter(found.verdict() for found in here)
        lines.append(f"{stack}: " + ", ".join(f"{count} {word}" for word, count in verdicts.most_common()))
        ops: Counter[tuple[str, str, str]] = Counter()
        for found in here:
            left = found.refusals if found.after is None else found.after
            ops.update({(r.op, r.fact, r.kind) for r in left})
        lines += [f"  {count:3} types: {op} [{fact}] {kind}" for (op, fact, kind), count in ops.most_common()]
    return "\n".join(lines)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    sys.exit(main())
