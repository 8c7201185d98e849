"""From jsonschema's errors to diagnostics: one for each mistake, at the key or the value that it is about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from spyre_dsl.language.codes import diagnose
from spyre_dsl.language.diagnostics import Diagnostic, Related
from spyre_dsl.language.document import Document, MappingNode, Node, Scalar, SequenceNode
from spyre_dsl.language.schema import key_at, node_at, nodes_along
from spyre_dsl.language.source import Source
from spyre_dsl.language.suggest import nearest
from spyre_dsl.language.syntax import Span

if TYPE_CHECKING:
    from jsonschema import ValidationError

WORDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "nothing",
}


def explain(faults: Sequence[ValidationError], document: Document, source: Source) -> list[Diagnostic]:
    """The diagnostics for ``faults`` in a document with a root, each once; what is wrong is marked as not usable."""
    assert document.root is not None
    account = _Account(document.root, source, document.complete)
    for fault in sorted(faults, key=lambda fault: fault.validator == "dependencies"):  # asked last: see there
        for leaf in _leaves(fault):
            account.add(leaf)
    return account.diagnostics


def _leaves(fault: ValidationError) -> Iterator[ValidationError]:
    """The errors of the one branch of a union that the author meant, where that can be told by the type."""
    branches = fault.validator_value if fault.validator in ("anyOf", "oneOf") else ()
    for number, branch in enumerate(branches):
        if branch.get("type") == "object" and isinstance(fault.instance, dict):
            for inner in fault.context or ():
                if inner.relative_schema_path[0] == number:
                    yield from _leaves(inner)
            return
    yield fault


@dataclass(slots=True)
class _Account:
    root: Node
    source: Source
    complete: bool
    diagnostics: list[Diagnostic] = field(default_factory=list)
    said: set[tuple[str, Span, str]] = field(default_factory=set)
    node: Node = field(default_factory=lambda: Scalar("", "", 0, 0))
    key: Scalar | None = None

    def add(self, fault: ValidationError) -> None:
        path = list(fault.absolute_path)
        self.node = node_at(self.root, path)
        self.key = key_at(self.root, path)
        if not all(node.usable for node in nodes_along(self.root, path)):
            return  # a mistake in it, or in what it is in, was reported already
        handler = getattr(self, f"_{fault.validator}", None)
        if handler is None:
            self.report("SD103", self.node.span, f"{self.what(fault)} is not what the schema wants: {fault.message}")
            return
        handler(fault)

    def report(self, code: str, span: Span, message: str, label: str = "", suggestion: str | None = None,
               related: tuple[Related, ...] = ()) -> None:  # fmt: skip
        if (code, span, message) not in self.said:
            self.said.add((code, span, message))
            self.diagnostics.append(
                diagnose(code, message, self.source, span, label=label, suggestion=suggestion, related=related)
            )

    def what(self, fault: ValidationError) -> str:
        """The name of the node in a sentence."""
        if self.key is not None:
            return f"`{self.key.value}`"
        if fault.absolute_path and isinstance(fault.absolute_path[-1], int):
            listed = key_at(self.root, list(fault.absolute_path)[:-1])
            return f"an item of `{listed.value}`" if listed is not None else "an item"
        return (
            "the file"
            if self.node is self.root
            else f"the {fault.schema.get('title', 'file')}"
            if isinstance(fault.schema, dict)
            else "this"
        )

    def where(self) -> Span:
        """The key of the node, or the beginning of the node where it has none."""
        if self.key is not None:
            return self.key.span
        if isinstance(self.node, MappingNode) and self.node.pairs:
            return self.node.pairs[0][0].span
        return Span(self.node.start, self.node.start + 1)

    def _type(self, fault: ValidationError) -> None:
        self.node.usable = False
        if fault.instance is None and not self.complete:
            return  # what stood here was skipped
        wanted = fault.validator_value if isinstance(fault.validator_value, list) else [fault.validator_value]
        expression = fault.schema.get("title") not in ("config condition", "config value") and "string" in wanted
        found = _found(self.node, fault.instance)
        message = f"{self.what(fault)} must be {_kinds(wanted, fault.schema)}, and this is {found}"
        if wanted == ["object"]:
            keys = list(fault.schema.get("properties", {}))
            label, suggestion = (f"its keys are {', '.join(keys)}" if keys else "names and their values"), None
        else:
            label, suggestion = self.type_hint(wanted, fault.instance, expression)
        self.report("SD103", self.value_span(), message, label, suggestion)

    def value_span(self) -> Span:
        """The value; for an empty one, its key."""
        if self.node.end > self.node.start:
            text = self.source.text
            line_end = text.find("\n", self.node.start, self.node.end)
            return Span(self.node.start, line_end if line_end > 0 else self.node.end)
        return self.where()

    def type_hint(self, wanted: list[str], data: Any, expression: bool) -> tuple[str, str | None]:
        text = self.source.text[self.node.start : self.node.end]
        one_line = "\n" not in text
        if data is None:
            return ("write `none`" if expression and text else "a value is missing here"), None
        if isinstance(data, (list, dict)) and "string" in wanted:
            if not expression and isinstance(data, dict) and data and self.key is not None:
                return f"keys of a nested config are written with dots: `{self.key.value}.{next(iter(data))}`", None
            if isinstance(self.node, SequenceNode) and len(data) > 1 and _are_quoted(self.node):
                return "one expression stands here; for several, write several rules", None
            shown = "a list" if isinstance(data, list) else "a mapping"
            if text[:1] in "[{" and one_line:
                return f"YAML reads brackets as {shown}: quote the value", f"'{text}'" if "'" not in text else None
            return f"YAML reads this as {shown}", None
        if "array" in wanted and isinstance(data, (str, int, float)) and one_line:
            return "write it in brackets", f"[{text}]"
        if wanted == ["array"] and isinstance(data, dict):
            return "each item starts with `- `", None
        if wanted == ["string"] and one_line:
            return "quote it", f'"{text}"'
        if wanted == ["integer"] or wanted == ["number"]:
            return f"write {WORDS[wanted[0]]}", None
        return "", None

    def _required(self, fault: ValidationError) -> None:
        if not self.complete or not self.mapping().whole or not isinstance(self.node, MappingNode):
            return
        for name in fault.validator_value:
            if self.node.key(name) is None:
                self.missing(name, fault)

    def missing(self, name: str, fault: ValidationError) -> None:
        title = fault.schema.get("title") if isinstance(fault.schema, dict) else None
        place = "the file" if self.node is self.root else f"the {title}" if title else self.what(fault)
        self.report("SD102", self.where(), f"{place} has no `{name}`", f"`{name}: ...` is missing")

    def missing_all(self, names: list[str], fault: ValidationError) -> None:
        if self.whole():
            message = f"the {fault.schema['title']} has neither {' nor '.join(names)}"
            self.report("SD102", self.where(), message, "at least one of them is needed")

    def whole(self) -> bool:
        """Whether what is not in the node is not in the file either."""
        return self.complete and self.mapping().whole and not self.mapping().stripped

    def _minProperties(self, fault: ValidationError) -> None:
        if self.whole():
            names = list(fault.schema.get("properties", {}))
            label = f"say at least one of {', '.join(names)}" if names else "give at least one name"
            self.report("SD107", self.where(), f"{self.what(fault)} is empty", label)

    def _minItems(self, fault: ValidationError) -> None:
        if self.complete:
            self.report("SD107", self.where(), f"{self.what(fault)} is empty", "give at least one item, or drop it")

    def _minLength(self, fault: ValidationError) -> None:
        self.node.usable = False
        self.report("SD107", self.value_span(), f"{self.what(fault)} is empty", "write something, or drop it")

    def _maxProperties(self, fault: ValidationError) -> None:
        self.exclusive([name.value for name, _ in self.mapping().pairs], fault)

    def _oneOf(self, fault: ValidationError) -> None:
        kinds = [name for branch in fault.validator_value for name in branch.get("required", ())]
        present = [name.value for name, _ in self.mapping().pairs if name.value in kinds]
        needed = [key for key in fault.schema.get("dependencies", {}) if self.mapping().key(key) is not None]
        if present:
            self.exclusive(present, fault)
        elif self.whole() and not needed and self.mapping().pairs:
            self.report("SD102", self.where(), f"the {fault.schema['title']} says none of {', '.join(kinds)}",
                        f"exactly one of {', '.join(kinds)} is needed")  # fmt: skip
        elif self.whole() and not self.mapping().pairs:
            self.report("SD107", self.where(), f"{self.what(fault)} is empty", f"give one of {', '.join(kinds)}")

    def mapping(self) -> MappingNode:
        return self.node if isinstance(self.node, MappingNode) else MappingNode({}, self.node.start, self.node.end)

    def exclusive(self, present: list[str], fault: ValidationError) -> None:
        first = self.mapping().key(present[0])
        assert first is not None
        related = (Related("the first one", self.source, first.span),)
        for name in present[1:]:
            key = self.mapping().key(name)
            assert key is not None
            self.mapping().entries[name][1].usable = False
            message = f"`{name}` and `{present[0]}` exclude each other: a {fault.schema['title']} says one thing"
            self.report("SD105", key.span, message, f"drop this or `{present[0]}`", None, related)

    def _dependencies(self, fault: ValidationError) -> None:
        """What a key needs beside it; nothing for a key that another one excludes, which is known by now."""
        for name, needs in fault.validator_value.items():
            key = self.mapping().key(name)
            if key is None or not isinstance(needs, list) or not self.mapping().entries[name][1].usable:
                continue
            for needed in needs:
                if self.mapping().key(needed) is None and self.complete:
                    self.report(
                        "SD106", key.span, f"`{name}` needs `{needed}` beside it", f"`{needed}: ...` is missing"
                    )

    def _anyOf(self, fault: ValidationError) -> None:
        branches = fault.validator_value
        if all("required" in branch for branch in branches):
            names = [f"`{name}`" for branch in branches for name in branch["required"]]
            if fault.absolute_schema_path[-3] != "dependencies":
                self.missing_all(names, fault)
                return
            dependent = str(fault.absolute_schema_path[-2])
            key = self.mapping().key(dependent)
            if self.complete and key is not None:
                self.report(
                    "SD106", key.span, f"`{dependent}` needs {' or '.join(names)} beside it", "goes with neither"
                )
            return
        self.node.usable = False
        values = [branch["const"] for branch in branches if "const" in branch]
        if isinstance(self.node, Scalar) and self.node.value:
            wanted = nearest(self.node.value, values)
            keys = [name for branch in branches for name in branch.get("properties", ())]
            qualified = nearest(self.node.value, keys)
            further = [f"`{name}` with a mapping below it" for name in keys]
            known = ", ".join(dict.fromkeys([*(f"`{value}`" for value in values), *further]))
            label = f"did you mean `{wanted}`?" if wanted else f"known {'are' if ', ' in known else 'is only'} {known}"
            if wanted is None and qualified is not None:
                label = f"`{qualified}` is a key, with what it needs in a mapping below it"
            self.report(
                "SD104", self.node.span, f"unknown {fault.schema['title']} `{self.node.value[:60]}`", label, wanted
            )
            return
        message = (
            f"{self.what(fault)} must be one of {', '.join(values)}, and this is {_found(self.node, fault.instance)}"
        )
        self.report("SD103", self.value_span(), message)

    def _pattern(self, fault: ValidationError) -> None:
        if isinstance(self.node, MappingNode):  # a name among propertyNames
            self.bad_name(fault)
            return
        self.node.usable = False
        mended = "-".join(
            "".join(c if c.isalnum() and c.isascii() else " " for c in str(fault.instance).lower()).split()
        )
        label = "lower-case words and digits, joined by hyphens"
        self.report("SD108", self.node.span, f"{self.what(fault)} is not well-formed", label, mended or None)

    def bad_name(self, fault: ValidationError) -> None:
        key = self.mapping().key(str(fault.instance))
        span = key.span if key is not None else self.where()
        dotted = "\\." in str(fault.validator_value)
        label = (
            "letters, digits and underscores, with dots between names" if dotted else "letters, digits and underscores"
        )
        self.report("SD108", span, f"`{str(fault.instance)[:60]}` is not a name", label)

    def _propertyNames(self, fault: ValidationError) -> None:
        self.bad_name(fault)

    def _exclusiveMinimum(self, fault: ValidationError) -> None:
        self.node.usable = False
        self.report("SD109", self.node.span, f"{self.what(fault)} must be above {fault.validator_value}", "too small")


def _are_quoted(node: SequenceNode) -> bool:
    """Whether a list was written on purpose: its items have quotes, so that no bracket of an expression made it."""
    return all(isinstance(item, Scalar) and item.style for item in node.items)


def _kinds(wanted: list[str], schema: dict[str, Any]) -> str:
    title = schema.get("title", "")
    if wanted == ["string", "number", "boolean"]:
        return "an expression"
    if "boolean" in wanted and "array" in wanted and "null" not in wanted:
        return "an expression or a list of them"
    words = [WORDS[kind] for kind in wanted if kind != "null"]
    return f"{', '.join(words[:-1])} or {words[-1]}" if title == "config condition" or len(words) > 1 else words[0]


def _found(node: Node, data: Any) -> str:
    if isinstance(node, SequenceNode):
        return "a list"
    if isinstance(node, MappingNode):
        return "a mapping"
    if data is None:
        return "nothing"
    if isinstance(data, bool):
        return f"the boolean `{node.value}`"
    return f"the number `{node.value}`" if isinstance(data, (int, float)) else "a text"
