"""Problems of a profile file that a user wrote: each with its line, a name for what is wrong, and what is near it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from . import facts
from .model import Constants, Numerics
from .schema_words import in_words, meant
from .yaml_files import compose, read_mapping

SCHEMA_FILE = Path(__file__).parent / "stack.schema.json"


@dataclass(frozen=True)
class Problem:
    """What is wrong at which place of a profile; lines and columns are counted from 1."""

    line: int
    message: str
    column: int = 1

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.message}"


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
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        return (Problem(line, f"not YAML: {getattr(error, 'problem', error)}", column),)
    except ValueError as error:
        return (Problem(1, str(error)),)
    found = [_problem(root, where, message) for where, message in _schema_errors(profile)]
    found += [_problem(root, where, message) for where, message in _unknown_names(profile)]
    found += [Problem(line, message, column) for line, column, message in duplicate_keys(root)]
    return tuple(sorted(set(found), key=lambda problem: (problem.line, problem.column, problem.message)))


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
            yield where, f"{place}: {in_words(error)}" if place else in_words(error)


def _is_misspelt(error: Any) -> bool:
    """Whether the missing key is there under a name close to it, which is reported already."""
    missing = [key for key in error.validator_value if key not in error.instance and f"{key!r}" in error.message]
    unknown = [key for key in error.instance if key not in error.schema.get("properties", {})]
    return any(meant(key, missing) for key in unknown)


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
    near = meant(name, names)
    return f"; did you mean {near!r}?" if near else ""


def _as_json(value: Any) -> Any:
    """YAML's dates as the ISO strings a JSON Schema knows, and keys as strings."""
    if isinstance(value, dict):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value


def _problem(root: yaml.Node | None, where: Where, message: str) -> Problem:
    """The message at the key or item at `where`, or at the nearest thing around it."""
    node, mark = root, root.start_mark if root else None
    for step in where:
        if isinstance(node, yaml.MappingNode):
            pairs = [pair for pair in node.value if pair[0].value == str(step)]
            if not pairs:
                break
            mark, node = pairs[-1][0].start_mark, pairs[-1][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            mark = node.start_mark
        else:
            break
    return Problem(mark.line + 1, message, mark.column + 1) if mark else Problem(1, message)


def duplicate_keys(node: yaml.Node | None) -> Iterator[tuple[int, int, str]]:
    """Keys that stand twice in one mapping, with line and column of the second: YAML would take the last in silence."""
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    mark = key.start_mark
                    yield mark.line + 1, mark.column + 1, f"the key {key.value!r} is there twice"
                seen.add(key.value)
            yield from duplicate_keys(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from duplicate_keys(item)
