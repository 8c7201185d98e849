"""The classes and config keys of the installed transformers and torch, read from their source text.

Reading some hundred files takes a second; importing the packages would take several, and run their code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from spyre_dsl.language.diagnostics import SpyreDslError

_CLASS = re.compile(r"^class\s+(\w+)", re.MULTILINE)
_KEY = re.compile(
    r"""^[ ]{4}([a-z]\w*)[ ]*[:=]|^\s+self\.([a-z]\w*)[ ]*(?::[^=\n]+)?=(?!=)|["']([a-z]\w*)["'][ ]*:[ ]*["']\w+["']"""
    r"""|^[ ]{4}@property\n[ ]{4}def ([a-z]\w*)""",
    re.MULTILINE,
)
"""A key is a field or a property of a config class, an attribute that its constructor sets, or an entry of its
``attribute_map``."""

_CLASS_BODY = re.compile(r"^class\b.*?(?=^[^\s#)\]}\"']|\Z)", re.MULTILINE | re.DOTALL)
"""A class as far as the next line that begins in the first column; functions beside it have variables, not keys."""

_MODEL_TYPE = re.compile(r"""^\s+model_type(?:\s*:\s*\w+)?\s*=\s*["']([\w.-]+)["']""", re.MULTILINE)
_PARENT = re.compile(r"^from \.\.(?:models\.)?(\w+)\.configuration_|^from \.\.(\w+) import ", re.MULTILINE)
_CONFIG_OF_TYPE = re.compile(r"""["']([\w.-]+)["']\s*[,:]\s*["']\w+Config["']""")


class NotInstalled(SpyreDslError):
    """A package whose source is needed is not installed; the message names it."""


@dataclass(frozen=True)
class ConfigKeys:
    """The keys of configs: those of each model type, and all there are."""

    by_model_type: Mapping[str, frozenset[str]]
    all: frozenset[str]


def package_directory(name: str) -> Path:
    """Where a package is installed.

    Raises:
        NotInstalled: it is not.
    """
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise NotInstalled(f"{name} is not installed")
    return Path(spec.origin).parent


@cache
def module_classes() -> frozenset[str]:
    """The qualified names of all classes in torch.nn and in the modelling files of transformers.

    Raises:
        NotInstalled: torch or transformers is not installed.
    """
    found: set[str] = set()
    for module, text in module_files().items():
        names = _CLASS.findall(text)
        found.update(f"{module}.{name}" for name in names)
        if module.startswith("torch."):
            found.update(f"torch.nn.{name}" for name in names)
    return frozenset(found)


@cache
def module_files() -> Mapping[str, str]:
    """The source text of the files that define modules, by the names under which Python imports them.

    Raises:
        NotInstalled: torch or transformers is not installed.
    """
    torch, transformers = package_directory("torch"), package_directory("transformers")
    found = {f"torch.nn.modules.{path.stem}": _text(path) for path in (torch / "nn" / "modules").glob("*.py")}
    files = [*transformers.glob("models/*/modeling_*.py"), *(transformers / name for name in _SHARED)]
    for path in files:
        if path.is_file():
            module = ".".join(("transformers", *path.relative_to(transformers).with_suffix("").parts))
            found[module] = _text(path)
    return found


_SHARED = ("activations.py", "pytorch_utils.py", "modeling_layers.py", "modeling_utils.py")
"""Files of transformers outside ``models`` that define modules."""


@cache
def model_types() -> frozenset[str]:
    """The model types that the auto classes of transformers know, or a few more: what their tables name a config for.

    Raises:
        NotInstalled: transformers is not installed.
    """
    folder = package_directory("transformers") / "models" / "auto"
    tables = [folder / name for name in ("auto_mappings.py", "configuration_auto.py")]
    return frozenset(name for path in tables if path.is_file() for name in _CONFIG_OF_TYPE.findall(_text(path)))


@cache
def config_keys() -> ConfigKeys:
    """The config keys of all model types.

    Raises:
        NotInstalled: transformers is not installed.
    """
    transformers = package_directory("transformers")
    base = _keys(_text(transformers / "configuration_utils.py"))
    texts: dict[str, str] = {}
    for path in sorted(transformers.glob("models/*/configuration_*.py")):
        texts[path.parent.name] = texts.get(path.parent.name, "") + _text(path)
    by_type: dict[str, frozenset[str]] = {}
    for folder, text in texts.items():
        keys = base | _keys(text)
        for parent in _parents(text):
            keys |= _keys(texts.get(parent, ""))
        for model_type in (folder, *_MODEL_TYPE.findall(text)):
            by_type[model_type] = by_type.get(model_type, frozenset()) | keys
    return ConfigKeys(by_type, frozenset(base.union(*by_type.values())))


def _keys(text: str) -> frozenset[str]:
    found = (groups for body in _CLASS_BODY.findall(text) for groups in _KEY.findall(body))
    return frozenset(name for groups in found for name in groups if name)


def _parents(text: str) -> Iterator[str]:
    return (one or other for one, other in _PARENT.findall(text))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
