"""Deep mode: model types that a rule asks for."""

from __future__ import annotations

import pytest
from transformers import CONFIG_MAPPING

from spyre_dsl.language.checks import check
from spyre_dsl.language.installed import config_keys, model_types
from spyre_dsl.language.loader import load_text


def said(config: str, *, deep: bool = True) -> list[str]:
    text = "adapter: a\nsummary: s\ngap: {kind: layout, evidence: [S5]}\nrules:\n"
    text += f"  - match: {{op: pow($x, 3), config: {{{config}}}}}\n    rewrite: {{op: $x * $x * $x}}\n"
    found = check([load_text(text, "a.yaml")], select={"SD1", "SD2"}, deep=deep)
    return [f"{e.code} {e.source.text[e.span.start : e.span.end]}: {e.label}" for e in found]


TYPES = ["bert", "roberta", "gpt2", "gpt_neo", "llama", "mistral", "qwen3", "t5", "modernbert", "mpnet", "distilbert"]


@pytest.mark.parametrize("model_type", TYPES)
def test_every_key_of_a_config_is_found_in_its_text(model_type: str) -> None:
    config = CONFIG_MAPPING[model_type]()
    keys = {key for key in (*config.to_dict(), *config.attribute_map) if not key.startswith("_")}
    assert keys <= config_keys().by_model_type[model_type]


@pytest.mark.parametrize("model_type", ["bert", "gpt2", "gpt_neo", "mpnet", "distilbert"])
def test_variables_of_functions_beside_the_classes_are_no_keys(model_type: str) -> None:
    assert not hasattr(CONFIG_MAPPING[model_type](), "head_dim")
    assert "head_dim" not in config_keys().by_model_type[model_type]


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


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        ('model_type: [gpt2, gpt_neo], hidden_size: "< 1024"', []),
        ('model_type: [gpt2, gpt_neo], head_dim: "< 64"', ["SD214 head_dim: none of these configs has it"]),
        ('model_type: [gpt2, llama], head_dim: "< 64"', ["SD218 head_dim: the rule never matches there"]),
        ('head_dim: "< 64", model_type: [llama, qwen3]', []),
        ('model_type: [of_a_checkpoints_own_code, llama], head_dim: "< 64"', []),
        ('model_type: [gpt2, llama], text_config.head_dim: "< 64"', []),
    ],
)
def test_each_model_type_has_the_keys_that_stand_beside_it(config: str, wanted: list[str]) -> None:
    assert said(config) == wanted
    assert said(config, deep=False) == []
