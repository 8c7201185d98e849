"""The batch that a model is run on: a few sentences, tokenised and padded, or deterministic ids."""

from __future__ import annotations

import inspect
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from spyre_dsl.models.configuration import DECODER, ENCODER_DECODER
from spyre_dsl.models.errors import ModelError
from spyre_dsl.models.loading import LoadedModel

DEFAULT_TEXTS = (
    "A young compiler cannot lower everything yet.",
    "The quick brown fox jumps over the lazy dog while the accelerator waits for its next bundle of kernels.",
    "Attention!",
    "An adapter re-expresses one spot of a model in a form that the stack handles, and nothing else about it changes.",
)
MAX_TOKENS = 512
# Models that number their positions from padding_idx + 1, so that as many rows of their table are never reached.
_POSITIONS_BEHIND_PADDING = frozenset(
    "camembert data2vec-text esm ibert layoutlmv3 lilt longformer luke markuplm mpnet roberta roberta-prelayernorm "
    "xlm-roberta xlm-roberta-xl xmod".split()
)
# What forwards call pictures and sound.
_NO_TEXT = ("pixel_values", "pixel_values_videos", "input_features", "input_values")
# Models that compare text with something else, or look at both at once, without a ``return_loss`` to know them by.
_READ_BOTH = frozenset("aimv2 bridgetower flava idefics owlv2 owlvit vilt".split())
# Ids below this are where tokenizers keep their special tokens.
_FIRST_WORD_ID = 10


@dataclass(frozen=True)
class ModelInputs:
    """Keyword arguments for one forward, and what is real in them.

    ``arguments``: int64 tensors [batch, sequence] and plain values; ``mask``: bool [batch, sequence], true where a
    token is real; ``texts``: what they were made from; ``notes``: what was done to them that a reader should know.
    """

    arguments: dict[str, Any]
    mask: torch.Tensor
    texts: tuple[str, ...]
    notes: tuple[str, ...] = ()


def make_inputs(loaded: LoadedModel, texts: Sequence[str] = ()) -> ModelInputs:
    """A right-padded batch of ``texts`` (a few of different lengths by default) for ``loaded``'s forward.

    Raises ModelError when the model does not read token ids, or a text has no tokens.
    """
    texts = tuple(texts) or DEFAULT_TEXTS
    accepted = inspect.signature(loaded.model.forward).parameters
    main = getattr(loaded.model, "main_input_name", "input_ids")
    if main != "input_ids" or "input_ids" not in accepted:
        raise ModelError(f"{loaded.name}: this model reads `{main}`; only models that read text are run")
    _require_text_alone(loaded, accepted)
    limit, whose = _limit(loaded)
    config = loaded.model.config
    encoded = _encode(loaded.tokenizer, texts, limit) if loaded.tokenizer else _from_words(config, texts, limit)
    if encoded["input_ids"].shape[1] == 0:
        raise ModelError("the texts have no tokens at all", "give a text with at least one word")
    if int(encoded["input_ids"].max()) >= _text_config(config).vocab_size:
        raise ModelError(f"{loaded.name}: the tokenizer's ids go beyond the config's vocab_size")
    arguments = {name: value for name, value in encoded.items() if name in accepted}
    arguments |= _extra(loaded, encoded["input_ids"], accepted)
    device = next(loaded.model.parameters()).device
    moved = {name: value.to(device) if isinstance(value, torch.Tensor) else value for name, value in arguments.items()}
    cut = max(_lengths(loaded.tokenizer, texts)) > limit
    notes = (f"texts cut to {limit} tokens, {whose}",) if cut else ()
    return ModelInputs(moved, encoded["attention_mask"].bool(), texts, notes)


def _require_text_alone(loaded: LoadedModel, accepted: Any) -> None:
    """Raise ModelError for a model that cannot run without pictures or sound beside its text.

    Models that compare the two, as CLIP does, have a contrastive loss, which their forward can be asked to return.
    """
    config: Any = loaded.model.config
    others = [name for name in _NO_TEXT if name in accepted]
    if others and ("return_loss" in accepted or config.model_type in _READ_BOTH):
        what = "pictures" if others[0].startswith("pixel") else "sound"
        raise ModelError(
            f"{loaded.name}: this model reads {what} (`{others[0]}`) beside text; only models that read text are run",
            "name a checkpoint of its text model alone, if there is one",
        )


def _limit(loaded: LoadedModel) -> tuple[int, str]:
    """The longest batch, and whose limit that is: the checkpoint's own sentence length, its positions, or ours."""
    limits = [getattr(loaded.tokenizer, "model_max_length", None), _positions(loaded.model.config)]
    file = loaded.folder / "sentence_bert_config.json" if loaded.folder else None
    if file and file.is_file():
        limits.append(_sentence_length(file))
    shortest = min(limit for limit in (*limits, MAX_TOKENS + 1) if limit)
    return (shortest, "the model's limit") if shortest <= MAX_TOKENS else (MAX_TOKENS, "the most that is run")


def _positions(config: Any) -> int | None:
    """How many tokens the model has positions for; None where it does not say."""
    table = getattr(config, "max_position_embeddings", None)
    if table is None:
        table = getattr(_text_config(config), "max_position_embeddings", None)
    if not isinstance(table, int) or table < 1:
        return None
    if getattr(config, "model_type", "") not in _POSITIONS_BEHIND_PADDING:
        return table
    padding = getattr(config, "pad_token_id", None)
    return max(table - (padding if isinstance(padding, int) else 1) - 1, 1)


def _sentence_length(file: Path) -> int:
    """What a sentence-transformers checkpoint says. Raises ModelError for a damaged file."""
    try:
        length = json.loads(file.read_text(encoding="utf-8")).get("max_seq_length") or MAX_TOKENS
    except (ValueError, AttributeError) as problem:
        raise ModelError(f"{file}: not a JSON object: {problem}\n  help: fetch it again") from problem
    if not isinstance(length, int) or length < 1:
        raise ModelError(f"{file}: `max_seq_length` is {length!r}, and must be a whole number of tokens")
    return length


def _encode(tokenizer: Any, texts: Sequence[str], limit: int) -> dict[str, torch.Tensor]:
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token or tokenizer.bos_token
    tokenizer.padding_side = "right"
    try:
        encoded = tokenizer(list(texts), padding=True, truncation=True, max_length=limit, return_tensors="pt")
    except (ValueError, TypeError) as problem:
        raise ModelError(f"the tokenizer does not take these texts: {problem}") from problem
    return dict(encoded)


def _lengths(tokenizer: Any, texts: Sequence[str]) -> list[int]:
    """How many tokens each text has, uncut."""
    if not tokenizer:
        return [len(text.split()) for text in texts]
    return [len(ids) for ids in tokenizer(list(texts), verbose=False)["input_ids"]]


def _from_words(config: Any, texts: Sequence[str], limit: int) -> dict[str, torch.Tensor]:
    """One id a word, from the word's checksum: the same text always gives the same ids, on any machine."""
    vocabulary = _text_config(config).vocab_size
    first = min(_FIRST_WORD_ID, vocabulary - 1)
    words = [text.split()[:limit] for text in texts]
    rows = [[first + zlib.crc32(word.encode()) % (vocabulary - first) for word in line] for line in words]
    width = max(map(len, rows))
    pad = getattr(config, "pad_token_id", None)
    pad = pad if isinstance(pad, int) and 0 <= pad < vocabulary else 0
    ids = torch.tensor([row + [pad] * (width - len(row)) for row in rows], dtype=torch.int64)
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows], dtype=torch.int64)
    return {"input_ids": ids, "attention_mask": mask}


def _text_config(config: Any) -> Any:
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def _extra(loaded: LoadedModel, ids: torch.Tensor, accepted: Any) -> dict[str, Any]:
    """What a forward needs beside the tokens: no cache for a decoder, a decoder's first ids for an encoder-decoder."""
    extra: dict[str, Any] = {}
    if loaded.kind.family in (DECODER, ENCODER_DECODER) and "use_cache" in accepted:
        extra["use_cache"] = False
    if loaded.kind.family == ENCODER_DECODER:
        start = getattr(loaded.model.config, "decoder_start_token_id", None) or 0
        first = torch.full((ids.shape[0], 1), start, dtype=torch.int64)
        extra["decoder_input_ids"] = torch.cat([first, ids[:, :-1]], dim=1)
    return extra
