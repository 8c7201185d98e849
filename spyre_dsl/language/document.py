"""YAML text to a tree that knows where everything stands.

The tree is composed from the events of PyYAML's C parser. Only the plain part of YAML is let through: mappings
with text keys, lists and scalars in one document, no tags, aliases within bounds. Everything refused is one
diagnostic at its place, and what can be read around it is read on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Union

import yaml
from yaml.events import (
    AliasEvent, CollectionEndEvent, DocumentStartEvent, MappingStartEvent, NodeEvent, ScalarEvent, SequenceStartEvent,
    StreamEndEvent,
)  # fmt: skip

from spyre_dsl.language.diagnostics import Diagnostic, Related, Severity
from spyre_dsl.language.source import Source
from spyre_dsl.language.syntax import Span
from spyre_dsl.language.yaml_errors import explain

MAX_DEPTH = 24
"""How deep mappings and lists may nest."""

MAX_ALIASED = 10_000
"""How many nodes all aliases of a file together may stand for."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PROPERTIES = re.compile(r"(?:[&!][^ \n]*|#[^\n]*|[ \n]+)*")


@dataclass(slots=True, eq=False)
class Scalar:
    """A text. ``start`` and ``end`` enclose what stands in the file, quotes and block header included.

    ``style`` is ``""`` for a plain scalar, else one of ``' " | >``.
    """

    value: str
    style: str
    start: int
    end: int
    size = 1

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)


@dataclass(slots=True, eq=False)
class MappingNode:
    """Keys are unique and are texts; ``size`` counts the nodes in it, aliases expanded."""

    pairs: list[tuple[Scalar, Node]]
    start: int
    end: int
    size: int = 1

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    def get(self, key: str) -> Node | None:
        """The value of ``key``."""
        return next((value for name, value in self.pairs if name.value == key), None)

    def key(self, key: str) -> Scalar | None:
        """The key itself, for its place."""
        return next((name for name, _ in self.pairs if name.value == key), None)


@dataclass(slots=True, eq=False)
class SequenceNode:
    items: list[Node]
    start: int
    end: int
    size: int = 1

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)


Node = Union[Scalar, MappingNode, SequenceNode]


@dataclass(frozen=True, slots=True)
class Document:
    """What could be read. ``complete`` is false when parts were skipped, so that what is missing proves nothing."""

    root: Node | None
    diagnostics: tuple[Diagnostic, ...]
    complete: bool = True


_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip


def resolve(scalar: Scalar) -> Any:
    """What a scalar stands for by YAML 1.2's core schema: text, number, boolean or None.

    Numbers too long to be read back are left as text.
    """
    value = scalar.value
    if scalar.style:
        return value
    if value in _WORDS:
        return _WORDS[value]
    if value[0] in "+-.0123456789" and len(value) <= 400:
        if _INTEGER.fullmatch(value):
            return int(value)
        if _FLOAT.fullmatch(value):
            return float(value)
    return value


def plain(node: Node) -> Any:
    """The node as plain data: dicts, lists, texts, numbers, booleans, None."""
    if isinstance(node, Scalar):
        return resolve(node)
    if isinstance(node, SequenceNode):
        return [plain(item) for item in node.items]
    return {key.value: plain(value) for key, value in node.pairs}


def read_text(source: Source) -> Document:
    """The tree of ``source``, and everything in it that YAML or this language does not allow."""
    return _Composer(source).compose()


class _Stop(Exception):
    """What follows cannot be read; the diagnostic was given."""


class _Composer:
    """Builds nodes from events, with a stack of open collections."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = []
        self.anchors: dict[str, Node] = {}
        self.open_anchors: list[str | None] = []
        self.stack: list[MappingNode | SequenceNode] = []
        self.keys: list[Node | None] = []
        self.root: Node | None = None
        self.aliased = 0
        self.documents = 0

    def compose(self) -> Document:
        complete = True
        try:
            self._read_events()
        except _Stop:
            complete = False
        except yaml.MarkedYAMLError as problem:
            self.diagnostics.append(explain(self.source, problem))
            complete = False
        except yaml.YAMLError as problem:
            self._report("SD001", 0, 0, f"the file cannot be read as YAML: {problem}")
            complete = False
        if complete and self.root is None and not self.diagnostics:
            self._report("SD011", 0, 0, "the file is empty", "an adapter file starts with `adapter: NAME`")
        return Document(self.root, tuple(self.diagnostics), complete)

    def _report(self, code: str, start: int, end: int, message: str, label: str = "", **more: Any) -> None:
        span = Span(start, max(start, end))
        self.diagnostics.append(Diagnostic(code, Severity.ERROR, message, self.source, span, label, **more))

    def _read_events(self) -> None:
        get_event = _Loader(self.source.text).get_event
        while True:
            event = get_event()
            if isinstance(event, ScalarEvent):
                self._scalar(event)
            elif isinstance(event, (MappingStartEvent, SequenceStartEvent)):
                self._open(event)
            elif isinstance(event, CollectionEndEvent):
                self._close(event)
            elif isinstance(event, AliasEvent):
                self._alias(event)
            elif isinstance(event, DocumentStartEvent):
                self._document(event)
            elif isinstance(event, StreamEndEvent) or event is None:
                return

    def _document(self, event: DocumentStartEvent) -> None:
        self.documents += 1
        if self.documents > 1:
            start = event.start_mark.index
            self._report("SD010", start, start + 3, "a file holds one adapter, so one YAML document",
                         "a second document starts here", help="move what follows into a file of its own")  # fmt: skip
            raise _Stop

    def _content_start(self, event: NodeEvent) -> int:
        """Where the node itself starts, behind its anchor and tag."""
        start: int = event.start_mark.index
        tag = event.tag if not isinstance(event, AliasEvent) else None
        if tag is not None:
            self._tag(start, tag)
        if event.anchor is None and tag is None:
            return start
        return _PROPERTIES.match(self.source.text, start).end()  # type: ignore[union-attr]

    def _tag(self, start: int, tag: str) -> None:
        found = re.compile(r"![^ \n,\]}]*").search(self.source.text, start)
        first, last = found.span() if found else (start, start)
        text = self.source.text[first:last]
        hint = "write `not ...`, or quote the value" if text[1:2].isalpha() or text[1:2] in "$(" else "remove the tag"
        self._report("SD009", first, last, f"`{text}` is a YAML tag, and tags are not allowed", hint)

    def _scalar(self, event: ScalarEvent) -> None:
        start = self._content_start(event)
        end: int = event.end_mark.index
        scalar = Scalar(event.value, event.style or "", min(start, end), end)
        if event.anchor is not None:
            self.anchors[event.anchor] = scalar
        self._add(scalar)

    def _open(self, event: MappingStartEvent | SequenceStartEvent) -> None:
        start = self._content_start(event)
        if len(self.stack) >= MAX_DEPTH:
            self._report("SD003", start, start + 1, f"the file nests deeper than {MAX_DEPTH} levels", "too deep")
            raise _Stop
        node = MappingNode([], start, start) if isinstance(event, MappingStartEvent) else SequenceNode([], start, start)
        self.stack.append(node)
        self.keys.append(None)
        self.open_anchors.append(event.anchor)

    def _close(self, event: CollectionEndEvent) -> None:
        node = self.stack.pop()
        self.keys.pop()
        node.end = self._end(node, event.end_mark.index)
        anchor = self.open_anchors.pop()
        if anchor is not None:
            self.anchors[anchor] = node
        self._add(node)

    def _end(self, node: MappingNode | SequenceNode, mark: int) -> int:
        """A block collection ends with its last node; the parser's mark stands where the next thing starts."""
        if self.source.text[mark - 1 : mark] in ("}", "]") and self.source.text[node.start] in "{[":
            return mark
        last = node.pairs[-1][1] if isinstance(node, MappingNode) and node.pairs else None
        if isinstance(node, SequenceNode) and node.items:
            last = node.items[-1]
        return last.end if last is not None and last.end > node.start else len(self.source.text[:mark].rstrip())

    def _alias(self, event: AliasEvent) -> None:
        start, end = event.start_mark.index, event.end_mark.index
        target = self.anchors.get(event.anchor)
        if target is None:
            if event.anchor in self.open_anchors:
                message, label = f"`*{event.anchor}` stands for something that contains it", "endless"
            else:
                message, label = f"no anchor `&{event.anchor}` stands before this alias", "quote the value if it is text"
            self._report("SD012", start, end, message, label)
            target = Scalar("", "'", start, end)
        self.aliased += target.size
        if self.aliased > MAX_ALIASED:
            message = f"the aliases of this file stand for more than {MAX_ALIASED:,} nodes"
            self._report("SD012", start, end, message, "write the value out where it is needed")
            raise _Stop
        self._add(target)

    def _add(self, node: Node) -> None:
        """Puts a finished node where it belongs: root, list item, key or value."""
        if not self.stack:
            self.root = node
            return
        parent = self.stack[-1]
        if isinstance(parent, SequenceNode):
            parent.items.append(node)
            parent.size += node.size
        elif self.keys[-1] is None:
            self.keys[-1] = node
        else:
            key, self.keys[-1] = self.keys[-1], None
            if self._key_is_good(parent, key):
                assert isinstance(key, Scalar)
                parent.pairs.append((key, node))
                parent.size += 1 + node.size

    def _key_is_good(self, mapping: MappingNode, key: Node) -> bool:
        if not isinstance(key, Scalar):
            self._report("SD008", key.start, key.end, "a key must be a text", "this is a list or a mapping")
            return False
        value = resolve(key)
        if not isinstance(value, str):
            shown = "nothing" if value is None else f"the {'boolean' if isinstance(value, bool) else 'number'} `{key.value}`"
            self._report("SD008", key.start, key.end, f"a key must be a text, and this is {shown}",
                         "quote it" if value is not None else "a key is missing here")  # fmt: skip
            return False
        first = mapping.key(value)
        if first is not None:
            self._report("SD007", key.start, key.end, f"key `{value}` is given twice", "the second time",
                         related=(Related("the first time", self.source, first.span),))  # fmt: skip
            return False
        return True
