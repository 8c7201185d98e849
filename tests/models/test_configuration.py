"""A config.json is judged before anything is built."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import transformers

from spyre_dsl.language.installed import NotInstalled
from spyre_dsl.models import configuration
from spyre_dsl.models.configuration import Kind, judge_early, kind_of, load_config
from spyre_dsl.models.errors import ModelError


def config_file(folder: Path, **values: Any) -> Path:
    file = folder / "config.json"
    file.write_text(json.dumps(values))
    return file


def test_a_config_is_read_from_a_file_or_its_folder(tmp_path: Path) -> None:
    file = config_file(tmp_path, model_type="bert", hidden_size=48)
    assert load_config(file).hidden_size == load_config(tmp_path).hidden_size == 48


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"model_type": "bret"}, "knows no model type `bret`[^$]*did you mean `bert`"),
        ({"model_type": "no such thing at all"}, "a newer transformers may know it"),
        ({"hidden_size": 3}, "there is no `model_type`"),
        ({"model_type": "llama", "quantization_config": {"quant_method": "gptq"}}, r"quantised \(gptq\)"),
        ({"model_type": "llama", "quantization_config": "int8"}, r"quantised \(int8\)"),
        ({"model_type": "llama", "compression_config": ["int8"]}, r"quantised \(\['int8'\]\)"),
        ({"model_type": ["bert"]}, r"`model_type` is \['bert'\], and must be the name"),
        ({"model_type": 7}, "`model_type` is 7, and must be the name"),
        ({"model_type": "bert", "hidden_size": "wide"}, "does not accept this config"),
        (
            {"model_type": "mine", "auto_map": {"AutoModel": "code.Mine"}, "architectures": ["Mine"]},
            "runs code that comes with its checkpoint[^$]*--trust-remote-code",
        ),
        (
            {"model_type": "bert", "auto_map": {"AutoModel": "code.JinaBert"}, "architectures": ["JinaBertModel"]},
            "runs code that comes with its checkpoint",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(tmp_path: Path, values: dict[str, Any], expected: str) -> None:
    with pytest.raises(ModelError, match=expected):
        load_config(config_file(tmp_path, **values))


@pytest.mark.parametrize(
    ("values", "refused"),
    [
        ({"model_type": "bert"}, False),
        ({"model_type": "bret"}, True),
        ({"hidden_size": 3}, True),
        ({"model_type": "bert", "quantization_config": {"quant_method": "gptq"}}, True),
        ({"model_type": "mine", "auto_map": {"AutoModel": "code.Mine"}}, False),  # what comes with it may know its type
    ],
)
def test_what_shows_without_transformers_is_refused_early_in_the_same_words(
    tmp_path: Path, values: dict[str, Any], refused: bool
) -> None:
    file = config_file(tmp_path, **values)
    if not refused:
        judge_early(values, file)
        return
    with pytest.raises(ModelError) as early:
        judge_early(values, file)
    with pytest.raises(ModelError) as late:
        load_config(file)
    assert str(early.value) == str(late.value)


@pytest.mark.parametrize("found", [frozenset[str](), NotInstalled("transformers is not installed")])
def test_without_tables_to_read_nothing_is_refused_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: Any
) -> None:
    def types() -> frozenset[str]:
        if isinstance(found, Exception):
            raise found
        return frozenset(found)

    monkeypatch.setattr(configuration, "model_types", types)
    judge_early({"model_type": "bret"}, tmp_path)


def test_code_that_transformers_has_itself_is_not_asked_for(tmp_path: Path) -> None:
    auto_map = {"AutoModelForCausalLM": "modeling_phi3.Phi3ForCausalLM"}
    file = config_file(tmp_path, model_type="phi3", auto_map=auto_map, architectures=["Phi3ForCausalLM"])
    assert type(load_config(file)).__name__ == "Phi3Config"


@pytest.mark.parametrize(
    ("text", "expected"),
    [(b"{", "not valid JSON"), (b"[]", "is a JSON object, not a list"), (b"\xff\xfe", "cannot be read")],
)
def test_a_damaged_file_is_refused(tmp_path: Path, text: bytes, expected: str) -> None:
    (tmp_path / "config.json").write_bytes(text)
    with pytest.raises(ModelError, match=expected):
        load_config(tmp_path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no such file"):
        load_config(tmp_path / "config.json")


@pytest.mark.parametrize(
    ("config_class", "architecture", "expected"),
    [
        ("BertConfig", "BertModel", Kind("AutoModel", "encoder")),
        ("BertConfig", "BertForMaskedLM", Kind("AutoModel", "encoder")),
        ("BertConfig", None, Kind("AutoModel", "encoder")),
        ("XLMRobertaConfig", "XLMRobertaModel", Kind("AutoModel", "encoder")),
        ("GPT2Config", "GPT2LMHeadModel", Kind("AutoModelForCausalLM", "decoder")),
        ("GPT2Config", None, Kind("AutoModelForCausalLM", "decoder")),
        ("Qwen3Config", "Qwen3ForCausalLM", Kind("AutoModelForCausalLM", "decoder")),
        ("Qwen3Config", "Qwen3Model", Kind("AutoModel", "decoder")),
        ("T5Config", "T5EncoderModel", Kind("AutoModelForTextEncoding", "encoder")),
        ("T5Config", "T5ForConditionalGeneration", Kind("AutoModelForSeq2SeqLM", "encoder-decoder")),
    ],
)
def test_the_auto_class_follows_the_architecture(config_class: str, architecture: str | None, expected: Kind) -> None:
    config = getattr(transformers, config_class)(architectures=[architecture] if architecture else None)
    assert kind_of(config) == expected
