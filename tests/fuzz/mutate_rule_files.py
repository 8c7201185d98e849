"""Mutated rule files: every one must end in diagnostics or success, within a second, and never in a traceback.

    python -m tests.fuzz.mutate_rule_files --count 100000 --seed 0

Files are changed byte by byte (flips, cuts, repetitions, splices of other files, hostile snippets), line by line
(indentation, order, repetition) and in structure (values and keys of the data, written out again). What fails is
written to a directory, with the seed that makes it again.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import yaml

from spyre_dsl.language.checks import check
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.loader import load_bytes
from spyre_dsl.language.resources import resource
from tests.language.mutations import mutate
from tests.language.samples import FULL, SMALL

LIMIT = 1.0
"""Seconds of processor time that one file may take."""

SNIPPETS = tuple(
    snippet.encode()
    for snippet in (
        "\t",
        "\x00",
        "\u2028",
        "\ufeff",
        "&a ",
        "*a",
        "!!python/object:os.system ",
        "---\n",
        "...\n",
        "%YAML 1.1\n",
        "? ",
        ": ",
        "- ",
        "| ",
        ">-\n",
        "'",
        '"',
        "{",
        "}",
        "[",
        "]",
        "#",
        "<<: *a\n",
        "\\",
        "\\x4",
        "$",
        "${",
        "(",
        ")" * 40,
        "(" * 300,
        "[" * 300,
        "- " * 200,
        "{a: " * 60,
        "not " * 150,
        "-" * 150,
        "** 2 " * 150,
        "9" * 500,
        "1e999",
        "=",
        "==",
        "&&",
        "lambda x: x",
        "let ",
        "return ",
        " if ",
        "\n\n",
        "\r",
        "\n      ",
        "a" * 11_000,
        "é😀",
        "\xa0",
        "$x.shape",
        "rules:\n",
        "  - match: {}\n",
        "null",
        "~",
    )
) + (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f")


@dataclass
class Outcome:
    """What a run found."""

    files: int = 0
    clean: int = 0
    slowest: float = 0.0
    seconds: float = 0.0
    codes: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, bytes, str]] = field(default_factory=list)


def corpus() -> list[bytes]:
    """The files that mutations start from."""
    files = sorted(resource("adapters.d").glob("*.yaml"))
    return [FULL.encode(), *[SMALL.encode()] * 4, *(file.read_bytes() for file in files)]


def bytes_changed(data: bytes, others: list[bytes], random: Random) -> bytes:
    """One to four changes of bytes, somewhere."""
    for _ in range(random.randint(1, 4)):
        start = random.randrange(len(data) + 1)
        end = min(len(data), start + random.choice([0, 1, 1, 2, 5, 20, 200]))
        match random.randrange(6):
            case 0:
                middle = bytes([random.randrange(256)])
            case 1:
                middle = b""
            case 2:
                middle = data[start:end] * random.choice([2, 3, 50])
            case 3:
                other = random.choice(others)
                place = random.randrange(len(other))
                middle = other[place : place + random.choice([3, 30, 300])]
            case _:
                middle = random.choice(SNIPPETS)
        data = data[:start] + middle + data[end:]
    return data


def lines_changed(data: bytes, others: list[bytes], random: Random) -> bytes:
    """One to three lines moved, repeated, dropped or indented otherwise."""
    lines = data.split(b"\n")
    for _ in range(random.randint(1, 3)):
        place = random.randrange(len(lines))
        match random.randrange(5):
            case 0:
                lines[place] = b" " * random.randrange(12) + lines[place].lstrip(b" ")
            case 1:
                del lines[place]
            case 2:
                lines.insert(random.randrange(len(lines) + 1), lines[place])
            case 3:
                lines[place] = lines[place] + random.choice(SNIPPETS)
            case _:
                other = random.choice(others).split(b"\n")
                lines.insert(place, random.choice(other))
        lines = lines or [b""]
    return b"\n".join(lines)


def structure_changed(data: bytes, others: list[bytes], random: Random) -> bytes:
    """Values and keys of the data changed, and all written out again in some style."""
    changed = mutate(yaml.load(data, Loader=LOADER), random, random.randint(1, 4))
    flow = random.choice([None, True, False])
    style = random.choice([None, None, None, '"', "'", "|", ">"])
    text: str = yaml.dump(
        changed, Dumper=DUMPER, default_flow_style=flow, default_style=style, width=random.choice([20, 80, 1000])
    )
    if style is not None:
        text = text.replace("!!null ", "").replace("!!int ", "").replace("!!bool ", "").replace("!!float ", "")
    return text.encode("utf-8", "surrogatepass")


LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
WAYS: tuple[Callable[[bytes, list[bytes], Random], bytes], ...] = (
    bytes_changed,
    bytes_changed,
    lines_changed,
    structure_changed,
)


def mutant(seed: int, files: list[bytes]) -> bytes:
    """The file that a seed makes."""
    random = Random(seed)
    return random.choice(WAYS)(random.choice(files), files, random)


def lint(data: bytes) -> tuple[Diagnostic, ...]:
    """All diagnostics of one file, each inside the text that it speaks of."""
    result = load_bytes(data, "mutant.yaml")
    found = check([result])
    for entry in found:
        size = len(entry.source.text)
        assert 0 <= entry.span.start <= entry.span.end <= size + 1, (
            f"{entry.code} stands outside the file: {entry.span}"
        )
        assert entry.message, entry.code
    if result.adapter is None or result.adapter.name == "":
        assert found, "nothing could be read, and nothing is said"
    return found


def run(seeds: Iterator[int] | range, report: Callable[[Outcome], None] | None = None) -> Outcome:
    """Lints the mutants of all seeds."""
    files = corpus()
    outcome = Outcome()
    begin = time.perf_counter()
    for seed in seeds:
        data = mutant(seed, files)
        start = time.process_time()
        try:
            found = lint(data)
        except Exception:  # noqa: BLE001 - any traceback at all is what is looked for
            outcome.failures.append((seed, data, traceback.format_exc()))
            found = ()
        taken = time.process_time() - start
        outcome.files += 1
        outcome.clean += not found
        outcome.slowest = max(outcome.slowest, taken)
        outcome.codes.update({entry.code for entry in found})
        if taken > LIMIT:
            outcome.failures.append((seed, data, f"took {taken:.2f} s"))
        outcome.seconds = time.perf_counter() - begin
        if report is not None and outcome.files % 10_000 == 0:
            report(outcome)
    return outcome


def summary(outcome: Outcome) -> str:
    return (
        f"{outcome.files:,} files in {outcome.seconds:.0f} s: {outcome.clean:,} clean,"
        f" {len(outcome.failures)} failures,"
        f" the slowest {outcome.slowest * 1000:.0f} ms, {len(outcome.codes)} codes seen"
    )


def _print_summary(outcome: Outcome) -> None:
    print(summary(outcome), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Lints mutated rule files.")
    parser.add_argument("--count", type=int, default=100_000, help="how many files (default: 100,000)")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first file (default: 0)")
    parser.add_argument("--failures", type=Path, default=Path("fuzz-failures"), help="where failing files are written")
    arguments = parser.parse_args()
    outcome = run(
        range(arguments.seed, arguments.seed + arguments.count), lambda found: print(summary(found), flush=True)
    )
    print(summary(outcome))
    print("codes:", ", ".join(f"{code} {count:,}" for code, count in sorted(outcome.codes.items())))
    for seed, data, why in outcome.failures[:50]:
        arguments.failures.mkdir(exist_ok=True)
        (arguments.failures / f"{seed}.yaml").write_bytes(data)
        print(f"seed {seed}: {why.strip().splitlines()[-1]}", file=sys.stderr)
        (arguments.failures / f"{seed}.txt").write_text(why, encoding="utf-8")
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())
