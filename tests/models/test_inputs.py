"""The batch that a model is run on."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoConfig, GPT2Config, PreTrainedTokenizerFast

from spyre_dsl.models.errors import ModelError
from spyre_dsl.models.inputs import DEFAULT_TEXTS, make_inputs
from spyre_dsl.models.loading import load_model, random_model


def save_tokenizer(folder: Path, words: list[str], **special: str) -> None:
    vocabulary = {word: index for index, word in enumerate(["[UNK]", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", **special).save_pretrained(folder)


def test_without_a_tokenizer_the_ids_come_from_the_words(bert_checkpoint: Path) -> None:
    loaded = load_model(str(bert_checkpoint))
    first, again = make_inputs(loaded), make_inputs(loaded)
    ids = first.arguments["input_ids"]
    assert torch.equal(ids, again.arguments["input_ids"])
    assert ids.shape[0] == len(DEFAULT_TEXTS) and int(ids.max()) < 60
    assert loaded.model(**first.arguments).last_hidden_state.shape[:2] == ids.shape


def test_the_default_texts_make_a_padded_batch(bert_checkpoint: Path) -> None:
    lengths = make_inputs(load_model(str(bert_checkpoint))).mask.sum(1).tolist()
    assert len(set(lengths)) == len(lengths) > 2


def test_the_checkpoints_tokenizer_is_used(bert_copy: Path) -> None:
    save_tokenizer(bert_copy, ["one", "two", "[PAD]"], pad_token="[PAD]")
    made = make_inputs(load_model(str(bert_copy)), ["one two one", "two"])
    assert made.arguments["input_ids"].tolist() == [[1, 2, 1], [2, 3, 3]]
    assert made.mask.tolist() == [[True, True, True], [True, False, False]]
    assert made.texts == ("one two one", "two")


def test_a_tokenizer_without_padding_pads_with_its_end(bert_copy: Path) -> None:
    save_tokenizer(bert_copy, ["one", "two", "[END]"], eos_token="[END]")
    made = make_inputs(load_model(str(bert_copy)), ["one two", "two"])
    assert made.arguments["input_ids"].tolist() == [[1, 2], [2, 3]]


def test_long_texts_are_cut_to_what_the_checkpoint_was_made_for(bert_copy: Path) -> None:
    (bert_copy / "sentence_bert_config.json").write_text('{"max_seq_length": 5}')
    assert make_inputs(load_model(str(bert_copy)), ["word " * 100]).mask.shape == (1, 5)


def _limited(folder: Path, model_type: str, **more: int | None) -> tuple[int, tuple[str, ...]]:
    """The width of the batch that a model with 16 positions gets for 50 words, and what is noted."""
    made = AutoConfig.for_model(
        model_type, vocab_size=60, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=16, **more,
    )  # fmt: skip
    made.save_pretrained(folder)
    inputs = make_inputs(random_model(folder, device="meta"), ["word " * 50, "word"])
    return inputs.mask.shape[1], inputs.notes


@pytest.mark.parametrize("model_type", ["bert", "gpt2", "distilbert", "opt", "electra", "albert", "gpt_neox"])
def test_every_position_of_a_model_is_used(model_type: str, tmp_path: Path) -> None:
    assert _limited(tmp_path, model_type, pad_token_id=0) == (16, ("texts cut to 16 tokens, the model's limit",))


@pytest.mark.parametrize("model_type", ["roberta", "xlm-roberta", "camembert", "roberta-prelayernorm"])
@pytest.mark.parametrize("padding", [0, 1, 5])
def test_positions_that_start_behind_the_padding_are_fewer(model_type: str, padding: int, tmp_path: Path) -> None:
    left = 16 - padding - 1
    noted = (f"texts cut to {left} tokens, the model's limit",)
    assert _limited(tmp_path, model_type, pad_token_id=padding) == (left, noted)


def test_the_most_that_is_run_is_said_too(tmp_path: Path) -> None:
    GPT2Config(vocab_size=60, n_embd=32, n_layer=1, n_head=2, n_positions=1024).save_pretrained(tmp_path)
    inputs = make_inputs(random_model(tmp_path, device="meta"), ["word " * 600])
    assert inputs.mask.shape == (1, 512) and inputs.notes == ("texts cut to 512 tokens, the most that is run",)


def test_texts_that_fit_are_not_noted(bert_copy: Path) -> None:
    save_tokenizer(bert_copy, ["word", "[PAD]"], pad_token="[PAD]")
    (bert_copy / "sentence_bert_config.json").write_text('{"max_seq_length": 5}')
    loaded = load_model(str(bert_copy))
    assert make_inputs(loaded, ["word " * 5]).notes == ()
    assert make_inputs(loaded, ["word", "word " * 6]).notes == ("texts cut to 5 tokens, the model's limit",)


@pytest.mark.parametrize("text", ['{"max', "[1]", '{"max_seq_length": "abc"}', '{"max_seq_length": -3}', "\udcff"])
def test_a_damaged_sentence_length_is_said(text: str, bert_copy: Path) -> None:
    (bert_copy / "sentence_bert_config.json").write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(ModelError, match="sentence_bert_config.json"):
        make_inputs(load_model(str(bert_copy)))


def test_decoders_run_without_a_cache(gpt2_checkpoint: Path) -> None:
    assert make_inputs(load_model(str(gpt2_checkpoint))).arguments["use_cache"] is False


def test_a_shape_without_weights_gets_inputs_without_data(gpt2_checkpoint: Path) -> None:
    made = make_inputs(random_model(gpt2_checkpoint, device="meta"))
    assert made.arguments["input_ids"].device.type == "meta"


TOWER = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
TEXT = {**TOWER, "vocab_size": 60, "max_position_embeddings": 16}
PICTURES = {**TOWER, "image_size": 32, "patch_size": 16}
OTHER_SENSES = {
    "vit": ({**PICTURES}, "reads `pixel_values`"),
    "clip": ({"text_config": TEXT, "vision_config": PICTURES}, r"reads pictures \(`pixel_values`\) beside text"),
    "siglip": ({"text_config": TEXT, "vision_config": PICTURES}, r"reads pictures \(`pixel_values`\) beside text"),
    "clipseg": ({"text_config": TEXT, "vision_config": PICTURES}, r"reads pictures \(`pixel_values`\) beside text"),
    "vilt": ({**TEXT, **PICTURES}, r"reads pictures \(`pixel_values`\) beside text"),
    "clap": ({}, r"reads sound \(`input_features`\) beside text"),
    "whisper": ({}, "no AutoModelForSeq2SeqLM for `whisper`"),
    "wav2vec2": ({}, "reads `input_values`"),
}


@pytest.mark.parametrize("kind", OTHER_SENSES)
def test_a_model_that_reads_more_than_text_is_refused(kind: str, tmp_path: Path) -> None:
    shape, expected = OTHER_SENSES[kind]
    AutoConfig.for_model(kind, **shape).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match=f"{expected}; only models that read text are run"):
        make_inputs(random_model(tmp_path, device="meta"))


def test_pictures_that_a_model_can_do_without_are_left_out(tmp_path: Path) -> None:
    AutoConfig.for_model("git", **TEXT, vision_config=PICTURES).save_pretrained(tmp_path)
    assert "pixel_values" not in make_inputs(random_model(tmp_path, device="meta"), ["word"]).arguments


def test_ids_beyond_the_vocabulary_are_refused(bert_copy: Path) -> None:
    save_tokenizer(bert_copy, [f"w{number}" for number in range(80)], pad_token="w1")
    with pytest.raises(ModelError, match="beyond the config's vocab_size"):
        make_inputs(load_model(str(bert_copy)), ["w79"])


def test_empty_texts_are_refused(bert_checkpoint: Path) -> None:
    with pytest.raises(ModelError, match="no tokens at all"):
        make_inputs(load_model(str(bert_checkpoint)), [""])
