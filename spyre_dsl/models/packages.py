"""The registry of installed packages that carry a model: the shipped file, the user's files, entry points.

An entry is either one package with the model's folder in it, or several that hold the pieces of one zip archive.
"""

from __future__ import annotations

import importlib.util
import os
import re
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
_KEYS_BESIDE_PARTS = ("id", "sha256", "folder")
_PART_KEYS = ("package", "file")
_SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A model in one package: its name on the hub and the package, import name and folder that carry it."""

    id: str
    package: str
    import_name: str
    folder: str

    @property
    def packages(self) -> tuple[str, ...]:
        """The names to install."""
        return (self.package,)


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of an archive: ``file`` as the ``package``'s own list of files (RECORD) spells it."""

    package: str
    file: str


@dataclass(frozen=True, slots=True)
class ModelInParts:
    """A model in a zip archive that several packages hold in pieces, in this order.

    ``sha256`` (hexadecimal) is that of the joined archive; ``folder`` is the model's folder inside it.
    """

    id: str
    parts: tuple[Part, ...]
    sha256: str
    folder: str

    @property
    def packages(self) -> tuple[str, ...]:
        """The names to install."""
        return tuple(part.package for part in self.parts)


Entry = PackagedModel | ModelInParts


def package_folder(import_name: str) -> Path | None:
    """The folder of an installed top-level package, found without importing it; ``None`` if it is not installed."""
    spec = importlib.util.find_spec(import_name) if import_name.isidentifier() else None
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None


def read_registry(path: Path) -> tuple[Entry, ...]:
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


def _entry(item: Any, place: str) -> Entry:
    if isinstance(item, dict) and "parts" in item:
        return _entry_in_parts(item, place)
    _require_texts(item, place, "an entry", _KEYS)
    return PackagedModel(item["id"], item["package"], item["import"], item["folder"])


def _entry_in_parts(item: dict[str, Any], place: str) -> ModelInParts:
    listed = item["parts"]
    if not isinstance(listed, list) or not listed:
        raise ModelError(f"{place}: `parts` is a list of packages, each with the keys {', '.join(_PART_KEYS)}")
    beside = {key: value for key, value in item.items() if key != "parts"}
    _require_texts(beside, place, "beside `parts`, an entry", _KEYS_BESIDE_PARTS)
    for number, part in enumerate(listed):
        _require_texts(part, f"{place}.parts[{number}]", "a part", _PART_KEYS)
    if not _SHA256.fullmatch(item["sha256"]):
        raise ModelError(f"{place}: `sha256` is that of the joined archive, 64 hexadecimal digits in lower case")
    parts = tuple(Part(part["package"], part["file"]) for part in listed)
    return ModelInParts(item["id"], parts, item["sha256"], item["folder"])


def _require_texts(item: Any, place: str, what: str, keys: Sequence[str]) -> None:
    if not isinstance(item, dict) or set(item) != set(keys) or not all(isinstance(item[key], str) for key in keys):
        raise ModelError(f"{place}: {what} has exactly the keys {', '.join(keys)}, each of them a text")


def registry(files: Sequence[str | Path] = ()) -> tuple[Entry, ...]:
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
