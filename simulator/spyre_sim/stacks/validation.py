"""Problems of a profile file that a user wrote: each with its line, a name for what is wrong, and what is near it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import date
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from . import facts
from .model import Constants, Numerics
from .yaml_files import compose, read_mapping

SCHEMA_FILE = Path(__file__).parent / "stack.schema.json"


@dataclass(frozen=True)
class Problem:
    """What is wrong on which line of a profile."""

    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.line}: {self.message}"


def problems_of(path: Path) -> tuple[Problem, ...]:
    """Every problem of the file, by line; empty for a usable profile. Reads and never raises for its contents."""
    try:
        text = path.read_text(encoding="utf-8")
        root = compose(text)
        profile = read_mapping(path)
    except FileNotFoundError:
        return (Problem(1, "there is no such file"),)
    except (OSError, UnicodeDecodeError) as error:
        return (Problem(1, f"cannot be read: {error}"),)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        return (Problem(mark.line + 1 if mark else 1, f"not YAML: {getattr(error, 'problem', error)}"),)
    except ValueError as error:
        return (Problem(1, str(error)),)
    found = [Problem(_line(root, where), message) for where, message in _schema_errors(profile)]
    found += [Problem(_line(root, where), message) for where, message in _unknown_names(profile)]
    found += [Problem(line, message) for line, message in duplicate_keys(root)]
    return tuple(sorted(set(found), key=lambda problem: (problem.line, problem.message)))


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema of profiles (draft-07)."""
    loaded: dict[str, Any] = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return loaded


Where = tuple[str | int, ...]


def _schema_errors(profile: dict[str, Any]) -> Iterator[tuple[Where, str]]:
    from jsonschema import Draft7Validator  # a tenth of a second, and only profiles of one's own need it

    for error in Draft7Validator(schema()).iter_errors(_as_json(profile)):
        where = tuple(error.absolute_path)
        if error.validator == "additionalProperties":
            allowed = list(error.schema.get("properties", {}))
            for key in sorted(set(error.instance) - set(allowed)):
                yield (*where, key), f"unknown key {key!r}{_nearest(key, allowed)}"
        elif error.validator != "required" or not _is_misspelt(error):
            place = ".".join(str(step) for step in where)
            yield where, f"{place}: {error.message}" if place else error.message


def _is_misspelt(error: Any) -> bool:
    """Whether the missing key is there under a name close to it, which is reported already."""
    missing = [key for key in error.validator_value if key not in error.instance and f"{key!r}" in error.message]
    unknown = [key for key in error.instance if key not in error.schema.get("properties", {})]
    return any(get_close_matches(key, missing, n=1, cutoff=0.5) for key in unknown)


def _unknown_names(profile: dict[str, Any]) -> Iterator[tuple[Where, str]]:
    known = {
        "numerics": [field.name for field in fields(Numerics)],
        "constants": [field.name for field in fields(Constants)],
    }
    for section, names in known.items():
        for key in _mapping(profile.get(section)):
            if key not in names:
                yield (section, key), f"unknown setting {key!r} in {section}{_nearest(str(key), names)}"
    changes = _mapping(profile.get("defects"))
    for section in ("add", "remove"):
        ids = changes.get(section, ())
        for position, id in enumerate(ids if isinstance(ids, list) else ()):
            if id not in facts.defects():
                yield ("defects", section, position), f"unknown defect {id!r}{_nearest(str(id), list(facts.defects()))}"


def _mapping(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}


def _nearest(name: str, names: Sequence[str]) -> str:
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


def _as_json(value: Any) -> Any:
    """YAML's dates as the ISO strings a JSON Schema knows, and keys as strings."""
    if isinstance(value, dict):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value


def _line(root: yaml.Node | None, where: Where) -> int:
    """The line of the key or item at `where`, or of the nearest thing around it."""
    node, line = root, root.start_mark.line if root else 0
    for step in where:
        if isinstance(node, yaml.MappingNode):
            pairs = [pair for pair in node.value if pair[0].value == str(step)]
            if not pairs:
                break
            line, node = pairs[-1][0].start_mark.line, pairs[-1][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line
        else:
            break
    return line + 1


def duplicate_keys(node: yaml.Node | None) -> Iterator[tuple[int, str]]:
    """Keys that stand twice in one mapping, with the line of the second: YAML would take the last in silence."""
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    yield key.start_mark.line + 1, f"the key {key.value!r} is there twice"
                seen.add(key.value)
            yield from duplicate_keys(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from duplicate_keys(item)
