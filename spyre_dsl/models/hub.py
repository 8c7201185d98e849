"""The hub and its local cache. One quick request decides whether the hub can be used at all."""

from __future__ import annotations

import os
from pathlib import Path

from spyre_dsl.models.errors import ModelError

# The files a text model needs; pickled weights only when there are no safetensors.
_FILES = ("*.json", "*.txt", "*.model", "*.jinja", "tokenizer*")
_ASK_SECONDS = 5.0


def cached_folder(name: str) -> tuple[Path | None, str]:
    """The snapshot of ``name`` in the hub's cache, or ``None`` and the reason why it cannot be used."""
    from huggingface_hub import constants, try_to_load_from_cache

    found = try_to_load_from_cache(name, "config.json")
    if not isinstance(found, str):
        return None, f"not in {constants.HF_HUB_CACHE}"
    folder = Path(found).parent
    if not has_weights(folder):
        return None, f"{folder} has a config.json but no weights"
    return folder, ""


def has_weights(folder: Path) -> bool:
    """Whether the folder holds a weights file that transformers can read."""
    return any(next(folder.glob(pattern), None) is not None for pattern in ("*.safetensors", "pytorch_model*.bin"))


def download(name: str) -> tuple[Path | None, str]:
    """Fetch ``name`` from the hub into its cache; ``None`` and the reason if it is not there or out of reach.

    Raises ModelError when the hub has the model and refuses it (gated), or breaks off.
    """
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import GatedRepoError, OfflineModeIsEnabled, RepositoryNotFoundError

    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        return None, "not asked, because HF_HUB_OFFLINE is set"
    try:
        # No retries here: huggingface_hub's own downloads wait half a minute before they give up on a dead network.
        listing = HfApi().model_info(name, timeout=_ASK_SECONDS)
    except OfflineModeIsEnabled:
        return None, "not asked, because HF_HUB_OFFLINE is set"
    except GatedRepoError as problem:
        raise _gated(name) from problem
    except RepositoryNotFoundError:
        return None, "it has no such model (or a private one: log in with `hf auth login`)"
    except Exception as problem:  # the transport's own errors have no stable base class
        return None, f"out of reach ({type(problem).__name__}: {problem})"
    names = [item.rfilename for item in listing.siblings or ()]
    weights = "*.safetensors" if any(item.endswith(".safetensors") for item in names) else "pytorch_model*.bin"
    try:
        return Path(snapshot_download(name, allow_patterns=[*_FILES, weights])), ""
    except GatedRepoError as problem:
        raise _gated(name) from problem
    except Exception as problem:  # as above; a download that breaks off must not look like "no such model"
        raise ModelError(f"{name}: the hub's download broke off: {problem}", "run the command again") from problem


def _gated(name: str) -> ModelError:
    return ModelError(
        f"{name}: the hub has this model but it is gated",
        "accept its terms on its page, log in with `hf auth login`, and run the command again",
    )
