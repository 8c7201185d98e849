"""Each fact that may be cited says something, and where it is known from."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from spyre_dsl.language.fact_texts import FOLDER, SECTIONS, Fact, Support, all_facts, fact, section
from spyre_dsl.language.facts import fact_ids

ID = re.compile(rf"(?<![\w.@#/`-])[{''.join(SECTIONS)}]\d{{1,2}}b?(?!\w)")
"""What looks like the id of a fact in prose."""

FACTS = {found.id: found for found in all_facts()}


def test_every_id_that_may_be_cited_has_a_text_and_no_other_has() -> None:
    assert set(FACTS) == fact_ids()


def test_every_file_is_a_section() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == {*SECTIONS, "tables"}


@pytest.mark.parametrize("letter", SECTIONS)
def test_a_section_holds_its_ids_in_order(letter: str) -> None:
    ids = list(section(letter))
    assert all(name.startswith(letter) for name in ids)
    assert ids == sorted(ids, key=lambda name: (int(name[1:].rstrip("b")), name))


def test_no_id_stands_twice() -> None:
    written = "\n".join((FOLDER / f"{letter}.yaml").read_text(encoding="utf-8") for letter in SECTIONS)
    ids = re.findall(r"^([A-Z]\w+):", written, re.MULTILINE)
    assert len(ids) == len(set(ids)) == len(FACTS)


@pytest.mark.parametrize("found", FACTS.values(), ids=lambda found: found.id)
def test_a_fact_is_one_or_two_sentences_with_a_source(found: Fact) -> None:
    assert 40 <= len(found.text) <= 600
    assert found.text == " ".join(found.text.split()) and found.text[-1] in ".`"
    assert found.text.count("`") % 2 == 0
    assert found.sources and all(name == name.strip() and name for name in found.sources)
    assert re.fullmatch(r"|20\d\d-\d\d(-\d\d)?", found.date)
    assert set(ID.findall(f"{found.text} {' '.join(found.sources)}")) <= fact_ids() - {found.id}


def test_no_two_facts_say_the_same() -> None:
    assert len({found.text for found in FACTS.values()}) == len(FACTS)


def test_support_is_told_apart() -> None:
    assert fact("A10").support is Support.MEASURED and fact("U1").support is Support.OPEN
    assert {found.support for found in FACTS.values()} == set(Support)
    assert all(kind.meaning for kind in Support)


def test_a_fact_carries_the_figures_it_is_cited_for() -> None:
    assert "1.8120e-05" in fact("A10").text and fact("A10").sources == ("torch-spyre #2400",)
    assert "Unexpected stick expression {expr}: expected Mod(var, 64)" in fact("E10").text
    assert fact("N17").date == "2026-09-18" and "6.1035156e-05" in fact("N17").text


@pytest.mark.parametrize("unknown", ["E70", "X1", "e10", "", "E"])
def test_an_unknown_id_is_a_key_error(unknown: str) -> None:
    with pytest.raises(KeyError):
        fact(unknown)


def test_lint_reads_no_text() -> None:
    code = "import sys, spyre_dsl.language.checks.facts; sys.exit('spyre_dsl.language.fact_texts' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
