"""Reading YAML mappings, with libyaml where it is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_mapping(path: Path) -> dict[str, Any]:
    """The mapping in the file, {} for an empty one. Raises OSError, yaml.YAMLError, ValueError for anything else."""
    loaded = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise ValueError(f"{path}: expected a mapping, found {type(loaded).__name__}")
    return loaded


def compose(text: str) -> yaml.Node | None:
    """The node tree of `text`, which knows lines; raises yaml.YAMLError."""
    return yaml.compose(text, Loader=_Loader)
