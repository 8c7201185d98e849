"""Keys that the schema does not know: reported once each, and mended so that the rest of the file can be judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from spyre_dsl.language.codes import diagnose
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.document import MappingNode, Node, Scalar, SequenceNode
from spyre_dsl.language.source import Source
from spyre_dsl.language.suggest import nearest

MAX_UNKNOWN = 60
"""How many unknown keys of one file are reported; further ones are dropped without a word."""

Schema = dict[str, Any]

_OTHER_NAMES = {
    "args": "arguments", "kwargs": "arguments", "params": "parameters", "expected": "after", "pattern": "match",
    "replace": "rewrite", "replacement": "rewrite", "guard": "where", "condition": "where", "if": "where",
    "class": "module", "description": "summary", "title": "summary", "reason": "summary", "facts": "evidence",
    "type": "kind", "id": "adapter", "count": "sites", "approx": "approximate", "max_rel": "max_relative",
    "max_abs": "max_absolute", "rtol": "max_relative", "atol": "max_absolute",
}  # fmt: skip
"""What a key is called elsewhere."""


def mend(root: Node, schema: Schema, source: Source) -> list[Diagnostic]:
    """Reports every unknown key below ``root`` and renames, moves or drops it in place."""
    walk = _Walk(schema, source)
    walk.visit(root, schema)
    return walk.diagnostics


@dataclass(slots=True)
class _Level:
    """A mapping on the way from the root, with its schema."""

    node: MappingNode
    schema: Schema

    def properties(self) -> Schema:
        found: Schema = self.schema.get("properties", {})
        return found

    def lacks(self, key: str) -> bool:
        """Whether ``key`` may stand here and does not yet."""
        return key in self.properties() and self.node.key(key) is None


@dataclass(slots=True)
class _Walk:
    root_schema: Schema
    source: Source
    diagnostics: list[Diagnostic] = field(default_factory=list)
    levels: list[_Level] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)

    def visit(self, node: Node, schema: Schema) -> None:
        schema = self.resolve(schema, node)
        if isinstance(node, Scalar) or not node.usable or id(node) in self.seen:
            return
        self.seen.add(id(node))
        if isinstance(node, SequenceNode):
            for item in node.items:
                self.visit(item, schema.get("items", {}))
            return
        self.levels.append(_Level(node, schema))
        if schema.get("additionalProperties") is False:
            self.mend_keys()
        properties = schema.get("properties", {})
        others = schema.get("additionalProperties") or {}
        visited: set[str] = set()
        while waiting := [key for key in node.entries if key not in visited]:  # a key moved up from below has its turn
            for key in waiting:
                visited.add(key)
                self.visit(node.entries[key][1], properties.get(key, others))
        self.levels.pop()

    def resolve(self, schema: Schema, node: Node) -> Schema:
        """The schema that speaks of this node: references followed, the branch of a union that takes a mapping."""
        while "$ref" in schema:
            schema = self.root_schema["definitions"][schema["$ref"].rsplit("/", 1)[1]]
        if isinstance(node, MappingNode) and "properties" not in schema:
            for branch in schema.get("anyOf", ()):
                if branch.get("type") == "object":
                    return self.resolve(branch, node)
        return schema

    def mend_keys(self) -> None:
        here = self.levels[-1]
        unknown = [pair for pair in here.node.pairs if pair[0].value not in here.properties()]
        for key, _ in unknown:
            here.node.stripped = True
            del here.node.entries[key.value]
        missing = [key for key in here.schema.get("required", ()) if here.lacks(key)]
        for key, value in unknown:
            if len(self.diagnostics) >= MAX_UNKNOWN:
                return
            self.mend_key(key, value, missing[0] if len(unknown) == len(missing) == 1 else None)

    def mend_key(self, key: Scalar, value: Node, only_missing: str | None) -> None:
        here = self.levels[-1]
        if key.value == "<<":
            self.report(key, "YAML's merge keys are not supported: write the keys out")
            return
        outer = next((level for level in reversed(self.levels[:-1]) if level.lacks(key.value)), None)
        if outer is not None:
            self.report(key, f"it belongs to {self.describe(outer)}: check the indentation")
            outer.node.entries[key.value] = (key, value)
            return
        other_name = _OTHER_NAMES.get(key.value.lower(), "")
        wanted = nearest(key.value, [name for name in here.properties() if here.lacks(name)])
        if wanted is None and here.lacks(other_name):
            wanted = other_name
        if wanted is None and only_missing is not None and self.fits(value, only_missing):
            wanted = only_missing
        if wanted is not None:
            self.report(key, f"did you mean `{wanted}`?", wanted)
            renamed = Scalar(wanted, key.style, key.start, key.end)
            here.node.entries[wanted] = (renamed, value)
            return
        taken = next((level for level in reversed(self.levels[:-1]) if key.value in level.properties()), None)
        if taken is not None:
            self.report(key, f"it belongs to {self.describe(taken)}, which has one already")
            return
        given = nearest(key.value, list(here.properties()))
        if given is not None:
            self.report(key, f"did you mean `{given}`? It is given already")
            return
        for level in reversed(self.levels):
            owners = self.owners_below(level, key.value)
            if owners:
                self.report(key, f"it belongs under {_either(owners)}")
                self.move_down(level, owners, key, value)
                return
        self.report(key, f"known here: {', '.join(here.properties())}")

    def move_down(self, level: _Level, owners: list[str], key: Scalar, value: Node) -> None:
        """Puts a key under the one that it belongs under, where it can be told which that is."""
        missing = [owner for owner in owners if level.node.key(owner) is None]
        present = [owner for owner in owners if owner not in missing]
        chosen = missing if len(missing) == 1 else present
        if len(chosen) != 1:
            return
        if missing:
            made = MappingNode({key.value: (key, value)}, key.start, value.end)
            level.node.entries[chosen[0]] = (Scalar(chosen[0], "", key.start, key.end), made)
            return
        owner = level.node.get(chosen[0])
        if isinstance(owner, MappingNode) and owner.key(key.value) is None:
            owner.entries[key.value] = (key, value)

    def fits(self, value: Node, key: str) -> bool:
        """Whether a value has the kind that ``key`` wants, so that the one can have been meant for the other."""
        kinds = {Scalar: "scalar", MappingNode: "object", SequenceNode: "array"}
        schema = self.resolve(self.levels[-1].properties()[key], value)
        kind = schema.get("type", "scalar")
        return kinds[type(value)] == (kind if kind in ("object", "array") else "scalar")

    def owners_below(self, level: _Level, key: str) -> list[str]:
        """The keys of a mapping under which ``key`` is known."""
        owners = []
        for name, schema in level.properties().items():
            inner = self.resolve(schema, MappingNode({}, 0, 0))
            if key in inner.get("properties", {}):
                owners.append(name)
        return owners

    def describe(self, level: _Level) -> str:
        return f"the {level.schema.get('title', 'mapping')}" if level is not self.levels[0] else "the file's top level"

    def report(self, key: Scalar, label: str, suggestion: str | None = None) -> None:
        where = self.describe(self.levels[-1])
        message = f"unknown key `{_short(key.value)}` in {where}"
        self.diagnostics.append(diagnose("SD101", message, self.source, key.span, label=label, suggestion=suggestion))


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _either(names: list[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
