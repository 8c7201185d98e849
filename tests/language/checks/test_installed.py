"""Deep mode: model types that a rule asks for."""

from __future__ import annotations

import pytest
from transformers import CONFIG_MAPPING

from spyre_dsl.language.checks import check
from spyre_dsl.language.installed import model_types
from spyre_dsl.language.loader import load_text


def said(config: str, *, deep: bool = True) -> list[str]:
    text = "adapter: a\nsummary: s\ngap: {kind: layout, evidence: [S5]}\nrules:\n"
    text += f"  - match: {{op: pow($x, 3), config: {{{config}}}}}\n    rewrite: {{op: $x * $x * $x}}\n"
    found = check([load_text(text, "a.yaml")], select={"SD1", "SD2"}, deep=deep)
    return [f"{e.code} {e.source.text[e.span.start : e.span.end]}: {e.label}" for e in found]


def test_every_model_type_of_the_auto_classes_is_found_in_their_text() -> None:
    assert set(CONFIG_MAPPING.keys()) <= model_types()
    assert len(model_types()) < 1.2 * len(CONFIG_MAPPING.keys())


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        ("model_type: gpt2", []),
        ("model_type: [bert, xlm-roberta]", []),
        ("model_type: of_a_checkpoints_own_code", []),
        ("model_type: gpt-2", ["SD104 gpt-2: did you mean `gpt2`?"]),
        ("model_type: [bert, robberta]", ["SD104 robberta: did you mean `roberta`?"]),
        ("text_config.model_type: lama", ["SD104 lama: did you mean `llama`?"]),
    ],
)
def test_a_slip_of_a_model_type_is_told_where_it_stands(config: str, wanted: list[str]) -> None:
    assert said(config) == wanted
    assert said(config, deep=False) == []
