"""How long ``lint`` takes, against check-jsonschema on the same files in the same run.

    python tests/bench/bench_lint.py [--files 1000] [--repeat 5]

Budgets: 13 files cold in at most 0.25 s and half of check-jsonschema's time; 1,000 files in at most 1 s and a quarter.
Each figure is of a fresh process, the best of several runs, with its modules compiled to bytecode, as pip and any first
run leave them. Time that passes (wall) is what a person waits for, and
what the seconds of a budget mean; a busy machine disturbs it. Processor time is that of all processes together: few
files are checked in one process, hundreds in one for each core; check-jsonschema always works in one. The ratio is to
hold for both. check-jsonschema only looks at the shape of a file; ``lint`` parses every expression and compares all
rules with one another.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINT = [sys.executable, "-m", "spyre_dsl.cli.main", "lint"]
SCHEMA = ROOT / "schema" / "adapter.schema.json"

WITH_BYTECODE = {
    **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    "PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / "bench-lint-bytecode"),
}
"""The environment of the commands, in which Python keeps what it compiles."""

OPS = (
    "exp",
    "log",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "erf",
    "rsqrt",
    "sqrt",
    "relu",
    "gelu",
    "silu",
    "abs",
    "neg",
    "floor",
)
BINARY = ("add", "mul", "sub", "div", "fmod", "remainder", "pow")

TEMPLATE = """\
# yaml-language-server: $schema=adapter.schema.json
adapter: generated-{number}
summary: Number {number} of many adapters that nobody wrote.
gap: {{kind: missing-lowering, evidence: [S51, E10]}}
rules:
  - name: rewrite-{number}
    match:
      op: {pattern}
      where:
        - size($x, -1) % stack.stick != 0
        - dtype($x) == float16 and rank($x) >= {rank}
    rewrite:
      let:
        d: size($x, -1)
        to: round_up(d, stack.stick)
      op: narrow({result}, -1, 0, d)
    math: exact
tests:
  - name: it fires
    inputs: {{x: "float16[4, 96]"}}
    before: {before}
    after: {after}
  - name: whole sticks are left alone
    inputs: {{x: "float16[4, 128]"}}
    before: {before}
    after: unchanged
"""


def adapter(number: int) -> str:
    """An adapter of one rule and two tests, its pattern unlike all others."""
    outer, middle, inner = (OPS[number // len(OPS) ** power % len(OPS)] for power in range(3))
    binary = BINARY[number % len(BINARY)]
    nested = f"{outer}({binary}({middle}({inner}({{x}})), {number}))"
    return TEMPLATE.format(
        number=number,
        pattern=nested.format(x="$x"),
        result=f"{binary}({middle}({inner}(pad_last($x, to))), {number})",
        before=nested.format(x="x"),
        after=f"narrow({binary}({middle}({inner}(pad_last(x, 128))), {number}), -1, 0, 96)",
        rank=1 + number % 2,
    )


@dataclass(frozen=True)
class Times:
    """The least time that passed and the least processor time of several runs, in seconds."""

    wall: float
    processor: float


def best(command: list[str], repeat: int) -> Times:
    """How long a command takes, which must end with 0 or 1; the run that compiles its modules is not counted."""
    once(command)
    runs = [once(command) for _ in range(repeat)]
    return Times(min(run.wall for run in runs), min(run.processor for run in runs))


def once(command: list[str]) -> Times:
    """One run, the processes that it starts included."""
    with tempfile.TemporaryFile() as errors:
        begun = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, env=WITH_BYTECODE)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        errors.seek(0)
        said = errors.read().decode(errors="replace")
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1) or "Traceback" in said:
        raise SystemExit(f"{' '.join(command[:4])} ... ended with {process.returncode}: {said}")
    return Times(wall, usage.ru_utime + usage.ru_stime)


def compare(files: list[Path], repeat: int) -> tuple[Times, Times]:
    """The times of lint and of check-jsonschema on the same files."""
    names = [str(file) for file in files]
    lint = best([*LINT, *names], repeat)
    checker = shutil.which("check-jsonschema", path=str(Path(sys.executable).parent)) or "check-jsonschema"
    other = best([checker, "--schemafile", str(SCHEMA), *names], max(1, repeat // 2))
    return lint, other


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1000, help="how many files to generate (1000)")
    parser.add_argument("--repeat", type=int, default=5, help="how often to run (5)")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        generated = []
        for number in range(arguments.files):
            path = Path(folder) / f"generated-{number}.yaml"
            path.write_text(adapter(number), encoding="utf-8")
            generated.append(path)
        shipped = sorted((ROOT / "adapters.d").glob("*.yaml"))
        for what, files, seconds, ratio in (
            (f"adapters.d ({len(shipped)} files)", shipped, 0.25, 0.5),
            ("13 generated files", generated[:13], 0.25, 0.5),
            (f"{len(generated):,} generated files", generated, 1.0, 0.25),
        ):
            rows.append((what, *compare(files, arguments.repeat), seconds, ratio))
        alone = best([*LINT, "--jobs", "1", *map(str, generated)], arguments.repeat)
        rows.append(("the same in one process", alone, rows[-1][2], 1.0, 0.25))
    print(f"{'':28}{'':10}{'lint':>10}{'budget':>10}{'check-jsonschema':>20}{'ratio':>8}{'budget':>10}")
    good = True
    for what, lint, other, seconds, ratio in rows:
        kinds = (("wall", lint.wall, other.wall), ("processor", lint.processor, other.processor))
        for kind, mine, theirs in kinds:
            budget = f"{seconds:.2f} s" if kind == "wall" else ""
            share = mine / theirs
            print(f"{what:28}{kind:10}{mine:>8.3f} s{budget:>10}{theirs:>18.3f} s{share:>8.2f}{ratio:>10.2f}")
            good = good and share <= ratio and (kind != "wall" or mine <= seconds)
            what = ""
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
