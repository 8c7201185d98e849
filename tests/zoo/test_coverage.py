"""The page on coverage is what was recorded, and its sums are those of its rows."""

from __future__ import annotations

import pytest

from tests.zoo.coverage import DOWNLOADED, PAGE, STACKS, STORE, _stored, page, passing, without
from tests.zoo.tiny_models import CAUSAL, EMBEDDING

ROWS = _stored()


def row(**parts: object) -> dict[str, object]:
    made = {"type": "bert", "causal": False, "stack": "2026-06", "verdict": "pass", "patches": 0, "cosine": 1.0}
    return {**made, "before": "", "after": "", "why": "", **parts}


def test_the_page_is_what_was_recorded() -> None:
    assert STORE.exists()
    assert PAGE.read_text(encoding="utf-8") == page(ROWS)


@pytest.mark.parametrize("stack", STACKS)
def test_every_type_was_swept_and_none_crashed(stack: str) -> None:
    here = [item for item in ROWS if item["stack"] == stack and not item["causal"]]
    assert [item["type"] for item in here] == EMBEDDING
    assert not [item["type"] for item in here if item["verdict"] == "crash"]


def test_every_generative_type_was_swept_and_none_crashed() -> None:
    here = [item for item in ROWS if item["stack"] == "2026-06" and item["causal"]]
    assert [item["type"] for item in here] == CAUSAL
    assert not [item["type"] for item in here if item["verdict"] == "crash"]


def test_generative_types_are_counted_by_verdict() -> None:
    text = page(
        [row(causal=True, type="llama"), row(causal=True, type="mamba", verdict="refused", before="aten.mul[A9]")]
    )
    assert "- **2026-06: 1 of 2 generative types pass**, 1 refused. Without adapters 1." in text
    assert "| mamba | refused | refused | 0 | 1.00000 |  |" in text


def test_every_type_has_its_count() -> None:
    assert set(DOWNLOADED) == set(EMBEDDING)
    assert sum(DOWNLOADED.values()) == 9330


def test_models_are_counted_by_type() -> None:
    assert passing([row(), row(type="mpnet"), row(type="roberta", verdict="refused")]) == (3727, 4339)


def test_the_status_without_adapters() -> None:
    assert without(row(before="aten.ne[N35]", patches=3)) == "refused"
    assert without(row()) == "pass"
    assert without(row(patches=2)) == "not refused"
    assert without(row(verdict="no graph")) == "no graph"


def test_every_embedding_type_that_does_not_pass_is_accounted_for() -> None:
    text = page(ROWS)
    section = text.partition("What has no bridge, and why:")[2].partition("Make it again")[0].lower()
    left = {str(item["type"]) for item in ROWS if not item["causal"] and item["verdict"] != "pass"}
    assert left == {name for name in left if name in section}
