"""docs/facts.md says what the facts' texts say, and whatever is cited anywhere stands in it."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from spyre_dsl.language.fact_texts import SECTIONS, all_facts, tables
from spyre_dsl.language.facts import fact_ids
from spyre_sim.defects import EMERGENT, MODELLED
from spyre_sim.stacks import facts, load_stack, stack_names

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("generate_facts", ROOT / "docs" / "generate_facts.py")
assert SPEC is not None and SPEC.loader is not None
GENERATOR = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(GENERATOR)

PLACES = ("adapters.d/*.yaml", "simulator/spyre_sim/**/*.py", "simulator/spyre_sim/**/*.yaml", "spyre_dsl/**/*.py",
          "docs/**/*.md", "README.md")  # fmt: skip
CITING = sorted({path for place in PLACES for path in ROOT.glob(place)})
ID = re.compile(rf"(?<![\w.@#/`-])[{''.join(set(SECTIONS) - {'P'})}]\d{{1,2}}b?(?!\w)")
"""An id in prose. P0 to P4 are left out: the sources call the snapshots so."""


def test_the_page_is_what_would_be_written() -> None:
    assert GENERATOR.PAGE.read_text(encoding="utf-8") == GENERATOR.page(), "run python docs/generate_facts.py"


def test_every_fact_has_its_place_on_the_page() -> None:
    assert re.findall(r'<a id="(\w+)">', GENERATOR.page()) == [found.id for found in all_facts()]


def test_every_link_within_the_page_leads_to_a_fact() -> None:
    assert set(re.findall(r"\]\(#(\w+)\)", GENERATOR.page())) <= fact_ids()


def test_every_snapshot_that_is_cited_is_told() -> None:
    cited = {name.split()[0] for found in all_facts() for name in found.sources if "@" in name}
    assert cited <= {name for name, *_ in GENERATOR.SNAPSHOTS}


def test_text_is_no_markup_outside_of_code() -> None:
    assert GENERATOR.prose("a * b_c <d> `x * y_z` as N1") == r"a \* b\_c \<d> `x * y_z` as [N1](#N1)"


@pytest.mark.parametrize("path", CITING, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_id_that_is_cited_is_a_fact(path: Path) -> None:
    assert set(ID.findall(path.read_text(encoding="utf-8"))) <= fact_ids()


@pytest.mark.parametrize("name", stack_names())
def test_what_a_profile_rests_on_are_facts(name: str) -> None:
    stack = load_stack(name)
    statuses = stack.ops.values()
    cited = {fact for status in statuses for fact in status.facts}
    cited |= {limit.fact for status in statuses for limit in status.restrictions if limit.fact}
    assert {name.removeprefix("section ") for name in cited} | set(stack.defects) <= {*fact_ids(), *tables()}


@pytest.mark.parametrize("number", tables())
def test_a_table_has_a_cell_for_every_column(number: str) -> None:
    table = tables()[number]
    assert table.rows and table.sources and table.text.endswith(".")
    assert all(len(row) == len(table.columns) and all(row) for row in table.rows)
    page = GENERATOR.page()
    _, _, after = page.partition(f'<a id="section-{number}"></a>')
    lines = [line for line in after.split("\n\n## ")[0].splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {len(table.columns) + 1}


def test_every_silent_failure_is_a_fact_and_the_other_way_round() -> None:
    assert set(facts.defects()) == {name for name in fact_ids() if name.startswith("S")}
    assert {*MODELLED, *EMERGENT} <= fact_ids()
