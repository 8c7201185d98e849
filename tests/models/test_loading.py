"""Weights come in as float32, complete and undamaged, or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from spyre_dsl.models import memory
from spyre_dsl.models.errors import ModelError
from spyre_dsl.models.loading import load_model, random_model
from spyre_dsl.models.memory import available_bytes, parameters_in
from tests.models.conftest import TINY_GPT2


def test_a_checkpoint_is_loaded_in_float32_for_evaluation(bert_checkpoint: Path) -> None:
    loaded = load_model(str(bert_checkpoint))
    assert {parameter.dtype for parameter in loaded.model.parameters()} == {torch.float32}
    assert not loaded.model.training
    assert (loaded.source, loaded.tokenizer, loaded.notes) == ("folder", None, ())


def test_half_precision_checkpoints_become_float32_too(bert_copy: Path) -> None:
    file = bert_copy / "model.safetensors"
    weights = {name: value.half() for name, value in load_file(file).items()}
    save_file(weights, file, {"format": "pt"})
    loaded = load_model(str(bert_copy))
    assert {parameter.dtype for parameter in loaded.model.parameters()} == {torch.float32}


def test_a_missing_pooler_is_noted(bert_copy: Path) -> None:
    file = bert_copy / "model.safetensors"
    weights = {name: value for name, value in load_file(file).items() if not name.startswith("pooler.")}
    save_file(weights, file, {"format": "pt"})
    (note,) = load_model(str(bert_copy)).notes
    assert note == "not in the checkpoint, random: pooler.dense.bias, pooler.dense.weight"


def test_any_other_missing_weight_is_an_error(bert_copy: Path) -> None:
    file = bert_copy / "model.safetensors"
    weights = {name: value for name, value in load_file(file).items() if "intermediate" not in name}
    save_file(weights, file, {"format": "pt"})
    with pytest.raises(ModelError, match="lacks 2 of the model's weights: encoder.layer.0.intermediate"):
        load_model(str(bert_copy))


def test_a_truncated_weights_file_is_an_error_that_says_so(bert_copy: Path) -> None:
    file = bert_copy / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ModelError, match="damaged: it has [0-9,]+ bytes, its header says"):
        load_model(str(bert_copy))


def test_a_pointer_file_is_not_a_weights_file(bert_copy: Path) -> None:
    (bert_copy / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    with pytest.raises(ModelError, match="not a safetensors file"):
        load_model(str(bert_copy))


def test_a_folder_without_weights_says_what_there_is(bert_copy: Path) -> None:
    (bert_copy / "model.safetensors").rename(bert_copy / "tf_model.h5")
    with pytest.raises(ModelError, match="no weights .*only tf_model.h5[^$]*--random-weights"):
        load_model(str(bert_copy))


def test_weights_of_another_size_are_an_error(bert_copy: Path) -> None:
    config = json.loads((bert_copy / "config.json").read_text())
    (bert_copy / "config.json").write_text(json.dumps(config | {"intermediate_size": 64}))
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_model(str(bert_copy))


def test_a_damaged_tokenizer_is_an_error(bert_copy: Path) -> None:
    (bert_copy / "tokenizer.json").write_text("{")
    with pytest.raises(ModelError, match="the tokenizer does not load"):
        load_model(str(bert_copy))


def test_a_model_that_does_not_fit_is_refused_before_it_is_read(
    bert_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000)
    with pytest.raises(ModelError, match="need .* GiB of memory, 0.0 GiB is free[^$]*--dry-run"):
        load_model(str(bert_checkpoint))


def test_the_header_tells_how_many_parameters_there_are(bert_checkpoint: Path) -> None:
    loaded = load_model(str(bert_checkpoint))
    assert parameters_in(bert_checkpoint) == sum(parameter.numel() for parameter in loaded.model.parameters())


def test_pickled_weights_are_measured_unopened_and_loaded(bert_copy: Path) -> None:
    weights = load_file(bert_copy / "model.safetensors")
    (bert_copy / "model.safetensors").unlink()
    torch.save(weights, bert_copy / "pytorch_model.bin")
    exact = sum(value.numel() for value in weights.values())
    assert parameters_in(bert_copy) == pytest.approx(exact, rel=0.5)
    assert load_model(str(bert_copy)).notes == ()


def test_a_folder_without_weights_has_no_figure(tmp_path: Path) -> None:
    assert parameters_in(tmp_path) is None


def test_free_memory_is_a_positive_figure_where_the_system_tells() -> None:
    figure = available_bytes()
    assert figure is None or figure > 0


def test_random_weights_depend_on_the_seed_alone(gpt2_checkpoint: Path) -> None:
    first, again, other = (random_model(gpt2_checkpoint / "config.json", seed=seed).model for seed in (0, 0, 1))
    same = [torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True)]
    assert all(same)
    assert not torch.equal(first.transformer.wte.weight, other.transformer.wte.weight)


def test_a_shape_without_weights_costs_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2", **TINY_GPT2}))
    loaded = random_model(tmp_path, device="meta")
    assert {parameter.device.type for parameter in loaded.model.parameters()} == {"meta"}


def test_a_config_that_describes_no_model_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2", **TINY_GPT2, "n_head": 3}))
    with pytest.raises(ModelError, match="cannot build this model"):
        random_model(tmp_path)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"num_attention_heads": 3}, "not a multiple of the number of attention heads"),
        ({"num_attention_heads": 0}, "ZeroDivisionError"),
        ({"hidden_act": "no such"}, "KeyError: 'no such'"),
        ({"pad_token_id": 99999}, "Padding_idx must be within"),
    ],
)
def test_a_config_that_builds_no_model_is_blamed_and_not_the_weights(
    bert_copy: Path, wrong: dict[str, object], told: str
) -> None:
    edit(bert_copy, wrong)
    with pytest.raises(ModelError, match=f"config.json: no model can be built from these values: .*{told}"):
        load_model(str(bert_copy))


def test_weights_of_other_shapes_are_said_to_be_that(bert_copy: Path) -> None:
    edit(bert_copy, {"hidden_size": 64})
    with pytest.raises(ModelError, match="their shapes are not those of the config"):
        load_model(str(bert_copy))


def test_a_model_that_reads_no_text_is_no_damaged_checkpoint(bert_copy: Path) -> None:
    edit(bert_copy, {"model_type": "whisper", "is_encoder_decoder": True})
    with pytest.raises(ModelError, match="no AutoModelForSeq2SeqLM for `whisper`; only models that read text"):
        load_model(str(bert_copy))


def test_layers_that_the_config_has_no_place_for_are_noted(bert_copy: Path) -> None:
    edit(bert_copy, {"num_hidden_layers": 0})
    assert load_model(str(bert_copy)).notes == ("in the checkpoint, not in the model: 16 weights of layers",)


def edit(folder: Path, values: dict[str, object]) -> None:
    """Change keys of the folder's config."""
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))
