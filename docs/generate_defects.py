"""Write docs/defects.md from the catalogue of silent failures, the switches that make them, and their tests.

    python docs/generate_defects.py

``tests/docs/test_defects_page.py`` fails when the page is not what this would write.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from spyre_sim.defects import EMERGENT, MODELLED
from spyre_sim.stacks import Defect, facts

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "defects.md"
TESTS = sorted((ROOT / "tests" / "spyre_sim").glob("test_defects*.py"))
NOTE = "<!-- Written by docs/generate_defects.py; change its sources, not this file. -->"
INTRODUCTION = """\
What the device gets wrong without a word, by the ids that profiles, reports and adapters use (S1 to S75). A silent
failure is *reproduced* where the simulator gives wrong numbers for the reason for which the device does. Some *emerge*
from number formats, arithmetic and tail lanes, and no switch makes them; the others are compiler bugs with a *switch*,
which acts on the stacks whose date lies in the interval (a day with `~` is approximate). *In company*: the op is right
by itself and goes wrong together with what stands beside it.

`spyre-dsl explain S51` tells what is [known](facts.md#S1) of one and what the simulator does about it.
`spyre_sim.compile(...).report.defects` names the switches that a model meets; `spyre-dsl stacks diff A B` shows those
that two stacks differ in. A profile of one's own adds and removes them (`defects: {add: [...], remove: [...]}`)."""


def page() -> str:
    """The text of docs/defects.md."""
    known = facts.defects()
    shown = [defect for defect in known.values() if defect.modelled]
    rest = [defect for defect in known.values() if not defect.modelled]
    fused = sum(defect.fused for defect in shown)
    emergent = sum(defect.id not in MODELLED for defect in shown)
    count = f"{len(shown)} are reproduced, {emergent} of them emerge; {fused} show only in company."
    heads = ["id", "what goes wrong", "in the simulator", "in company", "interval", "how", "test"]
    parts = [NOTE, "# Silent failures", INTRODUCTION, "## Reproduced", count]
    parts += [_table(heads, (_reproduced(defect) for defect in shown)), "## Not reproduced"]
    parts += [_table(["id", "what goes wrong", "trigger", "why not"], (_left_out(defect) for defect in rest))]
    return "\n\n".join(parts) + "\n"


def tests_of(identifier: str) -> list[str]:
    """The test files in which a failure is named in a docstring or as a case."""
    named = re.compile(rf"(?<![A-Za-z0-9]){identifier}(?![0-9])")
    return [path.name for path in TESTS if named.search(path.read_text(encoding="utf-8"))]


def _reproduced(defect: Defect) -> list[str]:
    how = "switch" if defect.id in MODELLED else "emerges"
    effect = MODELLED.get(defect.id) or EMERGENT[defect.id]
    tests = ", ".join(f"[{name[5:-3]}](../tests/spyre_sim/{name})" for name in tests_of(defect.id))
    return [
        defect.id,
        f"{defect.title}: {defect.symptom}",
        effect,
        "yes" if defect.fused else "",
        _interval(defect),
        how,
        tests,
    ]


def _interval(defect: Defect) -> str:
    about = "~" if defect.dates == "approximate" else ""
    first = f"{about}{defect.introduced}" if defect.introduced else "always"
    return f"{first} to {about}{defect.fixed}" if defect.fixed else f"{first}, open"


def _left_out(defect: Defect) -> list[str]:
    return [defect.id, f"{defect.title}: {defect.symptom}", defect.trigger, REASONS[defect.id]]


REASONS = {
    "S2": "no layout can be pinned to a cache here: every scatter has the layout that it needs",
    "S3": "as S2",
    "S9": "blocks are not compiled one by one; the layout of a result is always the default one",
    "S15": "an op of the stack's own that was taken out",
    "S19": "such a slice is refused (O14) before it can be copied",
    "S23": "needs the loop order of every op, which no source gives",
    "S26": "loops are not unrolled here",
    "S27": "tiling hints are not part of a captured graph",
    "S28": "no source says which part of the tiles is wrong",
    "S29": "a weight whose span cannot be met is refused by name (O16) instead of giving a number",
    "S38": "there is no eager mode: every op is compiled",
    "S45": "fixed before bundles; no source says which lanes are wrong",
    "S49": "the wrong numbers are not published; with clean memory the sum is right",
    "S56": "parts that do not start at whole sticks are refused by name (E13) on every date",
    "S57": "needs a layout given by hand",
    "S59": "a fault of the bus",
    "S64": "a limit of the compiler's cache",
    "S67": "a crash while tracing",
    "S68": "convolutions are lowered as products; nothing divides their image over cores",
    "S70": "the cause is unknown",
    "S71": "no bug: near ties fall either way",
    "S72": "what more heads in a tile do to the sums is not published",
    "S73": "infinity and not-a-number are one word here as well; which constants were meant is not published",
    "S74": "loud: a crash",
    "S75": "at the end of the process",
}


def _table(heads: list[str], rows: Iterable[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
