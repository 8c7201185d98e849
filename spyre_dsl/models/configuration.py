"""A model's config.json: read, judged, and turned into the auto class that builds the model."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spyre_dsl.language.installed import NotInstalled, model_types
from spyre_dsl.language.suggest import nearest
from spyre_dsl.models.errors import ModelError, refuse_long_name

ENCODER = "encoder"
DECODER = "decoder"
ENCODER_DECODER = "encoder-decoder"


@dataclass(frozen=True, slots=True)
class Kind:
    """How a model is built and read: the auto class of transformers by name, and what sort of model it is."""

    auto_class: str
    family: str


def read_config_file(path: Path) -> dict[str, Any]:
    """The JSON object in ``path``. Raises ModelError if it is missing, not JSON, or not an object."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as problem:
        raise ModelError(f"{path}: there is no such file") from problem
    except (OSError, UnicodeDecodeError) as problem:
        raise ModelError(f"{path}: cannot be read: {problem}") from problem
    except ValueError as problem:
        raise ModelError(f"{path}: not valid JSON: {problem}", "the file may be cut off; fetch it again") from problem
    if not isinstance(document, dict):
        raise ModelError(f"{path}: a model's config is a JSON object, not a {type(document).__name__}")
    return document


def load_config(path: Path, *, trust_remote_code: bool = False) -> Any:
    """The transformers config in ``path`` (a config.json, or the folder that holds one).

    Raises ModelError for an unknown model type (with the nearest known one), for code that would come with the
    checkpoint, for a quantised checkpoint, and for values that transformers refuses.
    """
    refuse_long_name(str(path))
    file = path / "config.json" if path.is_dir() else path
    document = read_config_file(file)
    _judge(document, file, trust_remote_code)
    from transformers import CONFIG_MAPPING, AutoConfig

    try:
        if needs_remote_code(document):
            return AutoConfig.from_pretrained(str(file.parent), trust_remote_code=True, local_files_only=True)
        return CONFIG_MAPPING[document["model_type"]].from_dict(document)
    except Exception as problem:  # config classes raise whatever their field checks raise
        raise ModelError(f"{file}: transformers does not accept this config: {problem}") from problem


def judge_early(document: dict[str, Any], file: Path) -> None:
    """Raise ModelError for what shows before transformers is imported: a quantised checkpoint, an unknown model type.

    The model types are read from the text of the installed tables; where there are none, or code comes with the
    checkpoint, it is left to :func:`load_config`.
    """
    _refuse_quantised(document, file)
    try:
        known = model_types()
    except NotInstalled:
        return
    kind = document.get("model_type")
    if known and "auto_map" not in document and (not isinstance(kind, str) or kind not in known):
        raise _unknown_type(kind, file, known)


def _refuse_quantised(document: dict[str, Any], file: Path) -> None:
    if "quantization_config" in document or "compression_config" in document:
        told = document.get("quantization_config") or document.get("compression_config")
        method = told.get("quant_method", "unknown method") if isinstance(told, dict) else told
        raise ModelError(
            f"{file}: this checkpoint is quantised ({method}), and a float32 reference cannot be made from it",
            "use the original checkpoint that it was made from",
        )


def _judge(document: dict[str, Any], file: Path, trust_remote_code: bool) -> None:
    from transformers import CONFIG_MAPPING

    _refuse_quantised(document, file)
    kind = document.get("model_type")
    if needs_remote_code(document) and not trust_remote_code:
        raise ModelError(
            f"{file}: this model runs code that comes with its checkpoint",
            "read that code, and then add --trust-remote-code if you want it to run on this machine",
        )
    if (isinstance(kind, str) and kind in CONFIG_MAPPING) or needs_remote_code(document):
        return
    raise _unknown_type(kind, file, map(str, CONFIG_MAPPING.keys()))


def _unknown_type(kind: Any, file: Path, known: Iterable[str]) -> ModelError:
    if kind is None:
        return ModelError(f"{file}: there is no `model_type`, so nothing says which model this is")
    if not isinstance(kind, str):
        return ModelError(f"{file}: `model_type` is {kind!r}, and must be the name of a model type")
    near = nearest(kind, sorted(known))
    return ModelError(
        f"{file}: the installed transformers knows no model type `{kind}`",
        f"did you mean `{near}`?" if near else "a newer transformers may know it",
    )


def needs_remote_code(document: dict[str, Any]) -> bool:
    """Whether the model can be built only with code that comes with the checkpoint.

    Many checkpoints still carry the code of a model that transformers has had for years; where the architecture
    is one of transformers' own classes, that class is used and the checkpoint's code is left alone.
    """
    import transformers

    auto_map = document.get("auto_map")
    if not isinstance(auto_map, dict):
        return False
    names = document.get("architectures") or [""]
    return not any(hasattr(transformers, str(name)) for name in names if name)


def kind_of(config: Any) -> Kind:
    """Which auto class builds ``config``'s model: by its architectures, else by what its model type can be.

    Encoders come as AutoModel (hidden states), decoders as AutoModelForCausalLM (logits), encoder-decoders as
    AutoModelForSeq2SeqLM; an encoder taken out of an encoder-decoder as AutoModelForTextEncoding.
    """
    from transformers.models.auto import modeling_auto as auto

    name = (getattr(config, "architectures", None) or [""])[0]
    model_type = config.model_type
    if getattr(config, "is_encoder_decoder", False):
        if name.endswith("EncoderModel") and model_type in auto.MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES:
            return Kind("AutoModelForTextEncoding", ENCODER)
        return Kind("AutoModelForSeq2SeqLM", ENCODER_DECODER)
    causal = auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    if name and name in causal.values():
        return Kind("AutoModelForCausalLM", DECODER)
    decoder_only = model_type in causal and model_type not in auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    if decoder_only and name.endswith("Model") and "Double" not in name and "LMHead" not in name:
        return Kind("AutoModel", DECODER)
    if decoder_only and not name:
        return Kind("AutoModelForCausalLM", DECODER)
    return Kind("AutoModel", DECODER if decoder_only else ENCODER)
