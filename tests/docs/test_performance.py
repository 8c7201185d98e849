"""docs/performance.md has every benchmark with its command, and names none that is gone."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
BENCHMARKS = {path.stem for path in (ROOT / "tests" / "bench").glob("bench_*.py")}


def test_every_benchmark_is_there_with_its_command_and_its_figures() -> None:
    for name in BENCHMARKS:
        section = re.search(rf"```sh\n[^`]*{name}[^`]*```\n\n```\n(.+?)\n```", PAGE, re.DOTALL)
        assert section and re.search(r"\d", section[1]), f"no figures of {name}"


def test_none_is_named_that_is_gone() -> None:
    assert set(re.findall(r"bench_[a-z]+", PAGE)) <= BENCHMARKS
