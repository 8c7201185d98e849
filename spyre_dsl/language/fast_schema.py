"""A JSON Schema compiled to closures: whether data is valid, and nothing more.

Importing jsonschema takes longer than linting all adapters, and nearly every file is valid. So files are first
held against closures that are made of the very same schema file; only when they say no, jsonschema decides and
explains. Just the keywords that the schema uses are known, and any other is refused when the schema is compiled.
A test holds both validators equal on a large corpus.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Check = Callable[[Any], bool]

ANNOTATIONS = frozenset({"$schema", "$id", "title", "description", "examples", "definitions", "default", "$comment"})

_TYPES: dict[str, Check] = {
    "object": lambda data: isinstance(data, dict),
    "array": lambda data: isinstance(data, list),
    "string": lambda data: isinstance(data, str),
    "boolean": lambda data: isinstance(data, bool),
    "null": lambda data: data is None,
    "number": lambda data: isinstance(data, (int, float)) and not isinstance(data, bool),
    "integer": lambda data: (
        (isinstance(data, int) and not isinstance(data, bool)) or (isinstance(data, float) and data.is_integer())
    ),
}


def compile_schema(schema: dict[str, Any]) -> Check:
    """A function that says whether data is valid by ``schema``.

    Raises:
        ValueError: the schema uses a keyword that this compiler does not know.
    """
    return _Compiler(schema).compile(schema)


class _Compiler:
    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root
        self.references: dict[str, Check] = {}

    def compile(self, schema: dict[str, Any] | bool) -> Check:
        if isinstance(schema, bool):
            return lambda data: schema
        if "$ref" in schema:  # in draft-07 everything beside a $ref is ignored
            return self._reference(schema["$ref"])
        checks = []
        for keyword, value in schema.items():
            if keyword in ANNOTATIONS or (keyword == "additionalProperties" and "properties" in schema):
                continue
            builder = getattr(self, f"_{keyword}", None)
            if builder is None:
                raise ValueError(f"the schema compiler does not know the keyword {keyword!r}")
            checks.append(builder(value, schema))
        return _all(checks)

    def _reference(self, reference: str) -> Check:
        if reference not in self.references:
            target: Any = self.root
            for part in reference.removeprefix("#/").split("/"):
                target = target[part]
            self.references[reference] = self.compile(target)
        return self.references[reference]

    def _type(self, value: str | list[str], schema: dict[str, Any]) -> Check:
        if isinstance(value, str):
            return _TYPES[value]
        return _any([_TYPES[name] for name in value])

    def _properties(self, value: dict[str, Any], schema: dict[str, Any]) -> Check:
        known = {name: self.compile(sub) for name, sub in value.items()}
        closed = schema.get("additionalProperties") is False

        def check(data: Any) -> bool:
            if not isinstance(data, dict):
                return True
            for name, item in data.items():
                found = known.get(name)
                if found is None:
                    if closed:
                        return False
                elif not found(item):
                    return False
            return True

        return check

    def _additionalProperties(self, value: Any, schema: dict[str, Any]) -> Check:
        item = self.compile(value)
        return lambda data: not isinstance(data, dict) or all(map(item, data.values()))

    def _propertyNames(self, value: Any, schema: dict[str, Any]) -> Check:
        name = self.compile(value)
        return lambda data: not isinstance(data, dict) or all(map(name, data))

    def _items(self, value: Any, schema: dict[str, Any]) -> Check:
        item = self.compile(value)
        return lambda data: not isinstance(data, list) or all(map(item, data))

    def _required(self, value: list[str], schema: dict[str, Any]) -> Check:
        return lambda data: not isinstance(data, dict) or all(name in data for name in value)

    def _dependencies(self, value: dict[str, Any], schema: dict[str, Any]) -> Check:
        needed = {
            name: self._required(sub, schema) if isinstance(sub, list) else self.compile(sub)
            for name, sub in value.items()
        }
        return lambda data: (
            not isinstance(data, dict) or all(check(data) for name, check in needed.items() if name in data)
        )

    def _anyOf(self, value: list[Any], schema: dict[str, Any]) -> Check:
        return _any([self.compile(sub) for sub in value])

    def _oneOf(self, value: list[Any], schema: dict[str, Any]) -> Check:
        branches = [self.compile(sub) for sub in value]
        return lambda data: sum(check(data) for check in branches) == 1

    def _const(self, value: str, schema: dict[str, Any]) -> Check:
        if not isinstance(value, str):
            raise ValueError("the schema compiler knows `const` for texts only")
        return lambda data: isinstance(data, str) and data == value

    def _pattern(self, value: str, schema: dict[str, Any]) -> Check:
        search = re.compile(value).search
        return lambda data: not isinstance(data, str) or search(data) is not None

    def _minLength(self, value: int, schema: dict[str, Any]) -> Check:
        return lambda data: not isinstance(data, str) or len(data) >= value

    def _minItems(self, value: int, schema: dict[str, Any]) -> Check:
        return lambda data: not isinstance(data, list) or len(data) >= value

    def _minProperties(self, value: int, schema: dict[str, Any]) -> Check:
        return lambda data: not isinstance(data, dict) or len(data) >= value

    def _maxProperties(self, value: int, schema: dict[str, Any]) -> Check:
        return lambda data: not isinstance(data, dict) or len(data) <= value

    def _exclusiveMinimum(self, value: float, schema: dict[str, Any]) -> Check:
        is_number = _TYPES["number"]
        return lambda data: not is_number(data) or data > value


def _all(checks: list[Check]) -> Check:
    match checks:
        case []:
            return lambda data: True
        case [one]:
            return one
        case [one, two]:
            return lambda data: one(data) and two(data)
        case [one, two, three]:
            return lambda data: one(data) and two(data) and three(data)

    def all_hold(data: Any) -> bool:
        for check in checks:  # quicker than a generator
            if not check(data):
                return False
        return True

    return all_hold


def _any(checks: list[Check]) -> Check:
    def one_holds(data: Any) -> bool:
        for check in checks:
            if check(data):
                return True
        return False

    return one_holds
