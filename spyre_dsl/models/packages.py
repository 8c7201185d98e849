"""The registry of installed packages that carry a model: the shipped file, the user's files, entry points."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import yaml

from spyre_dsl.models.errors import ModelError

SHIPPED = Path(__file__).with_name("packages.yaml")
VARIABLE = "SPYRE_DSL_MODEL_PACKAGES"
ENTRY_POINTS = "spyre_dsl.models"
_KEYS = ("id", "package", "import", "folder")


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """One entry: the model's name on the hub and the package, import name and folder that carry it."""

    id: str
    package: str
    import_name: str
    folder: str


def package_folder(import_name: str) -> Path | None:
    """The folder of an installed top-level package, found without importing it; ``None`` if it is not installed."""
    spec = importlib.util.find_spec(import_name) if import_name.isidentifier() else None
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None


def read_registry(path: Path) -> tuple[PackagedModel, ...]:
    """The entries of one registry file.

    Raises ModelError when the file is missing, is not YAML, or does not have the form of ``packages.yaml``.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as problem:
        raise ModelError(f"{path}: this registry of model packages cannot be read: {problem}") from problem
    entries = document.get("models") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise ModelError(f"{path}: a registry of model packages is a mapping with a list under `models`")
    return tuple(_entry(item, f"{path}: models[{number}]") for number, item in enumerate(entries))


def _entry(item: Any, place: str) -> PackagedModel:
    if not isinstance(item, dict) or set(item) != set(_KEYS) or not all(isinstance(item[key], str) for key in _KEYS):
        raise ModelError(f"{place}: an entry has exactly the keys {', '.join(_KEYS)}, each of them a text")
    return PackagedModel(item["id"], item["package"], item["import"], item["folder"])


def registry(files: Sequence[str | Path] = ()) -> tuple[PackagedModel, ...]:
    """All entries, the user's first: ``files``, the files in the environment variable, entry points, the shipped file.

    An entry point in the group ``spyre_dsl.models`` names the path of a registry file (or a function that returns
    one).
    """
    named = [part for part in os.environ.get(VARIABLE, "").split(os.pathsep) if part]
    paths = [*map(Path, files), *map(Path, named), *_entry_point_files(), SHIPPED]
    return tuple(entry for path in paths for entry in read_registry(path))


def _entry_point_files() -> Iterable[Path]:
    for point in entry_points(group=ENTRY_POINTS):
        try:
            value = point.load()
            yield Path(value() if callable(value) else value)
        except (ImportError, AttributeError, TypeError) as problem:
            raise ModelError(
                f"the entry point `{point.name}` ({point.value}) in {ENTRY_POINTS} does not load: {problem}",
                "uninstall the package that declares it, or ask its author",
            ) from problem
