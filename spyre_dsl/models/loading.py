"""A located model becomes a float32 ``nn.Module`` in evaluation mode, with its tokenizer where it has one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers

from spyre_dsl.models.configuration import Kind, kind_of, load_config, read_config_file
from spyre_dsl.models.errors import ModelError
from spyre_dsl.models.locate import Located, locate, require_weights
from spyre_dsl.models.memory import parameters_in, require_room

# Heads that a checkpoint may lack and that transformers then fills with random numbers: no hidden state passes
# through them.
_OPTIONAL_WEIGHTS = ("pooler.",)
_TOKENIZER_FILES = (
    "tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model",
)  # fmt: skip


@dataclass(frozen=True)
class LoadedModel:
    """A model that is ready to run.

    ``model`` is in float32 and evaluation mode, on the CPU (or on the meta device, when only its shape was asked
    for); ``tokenizer`` is None when there is none; ``kind`` says how to read the outputs; ``folder`` is None for a
    model made from a config alone.
    """

    name: str
    model: torch.nn.Module
    tokenizer: Any
    kind: Kind
    source: str
    folder: Path | None = None
    notes: tuple[str, ...] = ()


def load_model(
    name: str, *, packages: Sequence[str | Path] = (), trust_remote_code: bool = False, network: bool = True
) -> LoadedModel:
    """Load a model by folder, ``pkg:import_name/folder`` or hub id, with its real weights in float32.

    ``packages``: further registries of packages that carry models; ``network=False`` keeps the hub out of it.
    Raises ModelError (ModelNotFound, with every place tried) when it cannot be used.
    """
    return load_located(locate(name, packages=packages, network=network), trust_remote_code=trust_remote_code)


def load_located(located: Located, *, trust_remote_code: bool = False) -> LoadedModel:
    """Load a model that has been found, as ``load_model`` does. Raises ModelError when it cannot be used."""
    config = load_config(located.folder, trust_remote_code=trust_remote_code)
    kind = kind_of(config)
    require_weights(located.folder)
    parameters = parameters_in(located.folder)
    if parameters is not None:
        require_room(parameters, located.name)
    model, notes = _read_weights(located, kind, config, trust_remote_code)
    tokenizer = _tokenizer(located.folder, trust_remote_code)
    return LoadedModel(located.name, model, tokenizer, kind, located.source, located.folder, notes)


def random_model(
    config_file: str | Path, *, seed: int = 0, trust_remote_code: bool = False, device: str = "cpu"
) -> LoadedModel:
    """A model of the shape that ``config_file`` describes, with random weights drawn from ``seed``.

    ``device="meta"`` builds the shape without any weights: enough for a plan, and 70 billion parameters cost
    nothing. The tokenizer is the one beside the config file, if there is one. Raises ModelError.
    """
    path = Path(config_file).expanduser()
    config = load_config(path, trust_remote_code=trust_remote_code)
    kind = kind_of(config)
    shape = _build(kind, config, "meta", trust_remote_code, path)
    if device != "meta":
        require_room(sum(parameter.numel() for parameter in shape.parameters()), str(path))
        torch.manual_seed(seed)
    model = shape if device == "meta" else _build(kind, config, device, trust_remote_code, path)
    tokenizer = _tokenizer(path if path.is_dir() else path.parent, trust_remote_code)
    return LoadedModel(str(path), model.eval(), tokenizer, kind, "config", None, (f"random weights, seed {seed}",))


def _build(kind: Kind, config: Any, device: str, trust_remote_code: bool, path: Path) -> torch.nn.Module:
    auto_class = getattr(transformers, kind.auto_class)
    try:
        with torch.device(device), quiet():
            model: torch.nn.Module = auto_class.from_config(
                config, dtype=torch.float32, trust_remote_code=trust_remote_code
            )
    except Exception as problem:  # constructors raise whatever a wrong size leads to
        _require_class(path, auto_class, config)
        raise ModelError(f"{path}: {kind.auto_class} cannot build this model: {problem}") from problem
    return model.eval()


def _read_weights(
    located: Located, kind: Kind, config: Any, trust_remote_code: bool
) -> tuple[torch.nn.Module, tuple[str, ...]]:
    auto_class = getattr(transformers, kind.auto_class)
    try:
        with quiet():
            model, info = auto_class.from_pretrained(
                str(located.folder), config=config, dtype=torch.float32, local_files_only=True,
                output_loading_info=True, trust_remote_code=trust_remote_code,
            )  # fmt: skip
    except Exception as problem:  # safetensors, pickle, and shape errors have nothing in common but Exception
        _require_model(located, auto_class, config, trust_remote_code)
        why = "their shapes are not those of the config" if "mismatched" in str(problem) else str(problem)
        raise ModelError(f"{located.folder}: the weights cannot be loaded: {why}", "fetch them again") from problem
    notes = _missing(located, sorted(info["missing_keys"])) + _left_out(sorted(info["unexpected_keys"]))
    return model.eval(), notes


def _require_class(place: Path, auto_class: Any, config: Any) -> None:
    """Raise ModelError for a model type whose models are of another sort than those that are run."""
    if type(config) not in auto_class._model_mapping:
        raise ModelError(
            f"{place}: transformers has no {auto_class.__name__} for `{config.model_type}`; only models that read text "
            "are run"
        )


def _require_model(located: Located, auto_class: Any, config: Any, trust_remote_code: bool) -> None:
    """Raise ModelError if the config builds no model, so that its weights are not to blame."""
    try:
        with quiet(), torch.device("meta"):
            auto_class.from_config(config, trust_remote_code=trust_remote_code)
    except Exception as problem:  # constructors raise whatever a wrong value leads to
        _require_class(located.folder, auto_class, config)
        told = f"{type(problem).__name__}: {(str(problem).strip() or 'no reason given').splitlines()[0]}"
        raise ModelError(
            f"{located.folder / 'config.json'}: no model can be built from these values: {told}",
            "compare it with the config of the original",
        ) from problem


def _left_out(unexpected: list[str]) -> tuple[str, ...]:
    """A note on whole layers of the checkpoint for which the config has no place; heads of other tasks are usual."""
    layers = [name for name in unexpected if any(part.isdigit() for part in name.split("."))]
    return (f"in the checkpoint, not in the model: {len(layers)} weights of layers",) if layers else ()


def _missing(located: Located, missing: list[str]) -> tuple[str, ...]:
    """A note on weights that were not in the checkpoint and do not matter; ModelError if they do."""
    needed = [name for name in missing if not name.split("model.")[-1].startswith(_OPTIONAL_WEIGHTS)]
    if needed:
        own_code = "auto_map" in read_config_file(located.folder / "config.json")
        first = ", ".join(needed[:3])
        raise ModelError(
            f"{located.folder}: the checkpoint lacks {len(needed)} of the model's weights: {first} ...",
            "it may be made for its own code: see --trust-remote-code" if own_code else "the checkpoint is incomplete",
        )
    return (f"not in the checkpoint, random: {', '.join(missing)}",) if missing else ()


def _tokenizer(folder: Path, trust_remote_code: bool) -> Any:
    """The folder's tokenizer, None if it has none. Raises ModelError if it is there and does not load."""
    if not any((folder / name).is_file() for name in _TOKENIZER_FILES):
        return None
    try:
        with quiet():
            return transformers.AutoTokenizer.from_pretrained(
                str(folder), local_files_only=True, trust_remote_code=trust_remote_code
            )
    except Exception as problem:  # the tokenizers library raises a bare Exception on a damaged file
        raise ModelError(f"{folder}: the tokenizer does not load: {problem}", "fetch its files again") from problem


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers' progress bars and warnings off the terminal while something is loaded."""
    logging: Any = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
