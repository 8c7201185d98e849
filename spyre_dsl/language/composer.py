"""YAML's events to nodes. Only the plain part of YAML is let through; what is not is reported at its place."""

from __future__ import annotations

import re
from typing import Any, NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)

from spyre_dsl.language.codes import diagnose
from spyre_dsl.language.diagnostics import Diagnostic, Related
from spyre_dsl.language.flow_commas import is_open, quoted, rejoin_items, rejoin_value
from spyre_dsl.language.source import Source
from spyre_dsl.language.syntax import Span
from spyre_dsl.language.yaml_errors import MAX_DEPTH
from spyre_dsl.language.yaml_tree import WORDS, MappingNode, Node, Scalar, SequenceNode, resolve

MAX_ALIASED = 10_000
"""How many nodes all aliases of a file together may stand for."""

MAX_REPORTED = 60
"""After how many mistakes a file is read no further."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = re.compile(r"![^ \n,\]}]*")
_PROPERTIES = re.compile(r"(?:[&!][^ \n]*|#[^\n]*|[ \n]+)*")


class _Stop(Exception):
    """What follows cannot be read; the diagnostic was given."""


class Composer:
    """Builds nodes from events, with a stack of open collections."""

    def __init__(self, source: Source, text: str) -> None:
        self.source = source
        self.text = text
        self.diagnostics: list[Diagnostic] = []
        self.anchors: dict[str, Node] = {}
        self.stack: list[MappingNode | SequenceNode] = []
        self.keys: list[Node | None] = []
        self.open_anchors: list[str | None] = []
        self.root: Node | None = None
        self.aliased = 0
        self.documents = 0
        self.stopped = False

    def compose(self) -> yaml.MarkedYAMLError | None:
        """Reads the text; returns the syntax error at which reading ended, if it did."""
        try:
            self.read_events()
        except _Stop:
            self.stopped = True
        except yaml.MarkedYAMLError as error:
            return error
        finally:
            self.close_open()
        return None

    def close_open(self) -> None:
        """What was read of the collections that an error left open still counts."""
        while self.stack:
            self.keys.pop()
            try:
                self.add(self.stack.pop())
            except _Stop:  # the last of the mistakes that are reported: what is open is closed all the same
                self.stopped = True

    def report(self, code: str, start: int, end: int, message: str, label: str = "",
               related: tuple[Related, ...] = (), suggestion: str | None = None) -> None:  # fmt: skip
        span = Span(start, max(start, end))
        self.diagnostics.append(
            diagnose(code, message, self.source, span, label=label, suggestion=suggestion, related=related)
        )
        if len(self.diagnostics) >= MAX_REPORTED:
            raise _Stop

    def read_events(self) -> None:
        """Puts together what the parser says, event by event.

        Nearly all events are scalars without an anchor or a tag, each a key or the value of one; those are dealt with
        here, since calls would be half of the time that they take.
        """
        get_event = _Loader(self.text).get_event
        stack, keys, add = self.stack, self.keys, self.add
        handlers = {
            ScalarEvent: self.scalar,
            MappingStartEvent: self.open,
            SequenceStartEvent: self.open,
            MappingEndEvent: self.close,
            SequenceEndEvent: self.close,
            AliasEvent: self.alias,
            DocumentStartEvent: self.document,
            DocumentEndEvent: _ignore,
            StreamStartEvent: _ignore,
        }
        while (event := get_event()) is not None and (kind := type(event)) is not StreamEndEvent:
            if kind is not ScalarEvent or event.anchor is not None or event.tag is not None:
                handlers[kind](event)
                continue
            node = Scalar(event.value, event.style or "", event.start_mark.index, event.end_mark.index)
            parent = stack[-1] if stack else None
            if type(parent) is not MappingNode:
                add(node)
            elif (key := keys[-1]) is None:
                keys[-1] = node
            elif node.value and type(key) is Scalar and is_plain_key(key, parent):
                keys[-1] = None
                parent.entries[key.value] = (key, node)
                parent.size += 1
                parent.end = node.end
            else:
                add(node)

    def document(self, event: DocumentStartEvent) -> None:
        self.documents += 1
        if self.documents > 1:
            start = event.start_mark.index
            self.report("SD010", start, start + 3, "a file holds one adapter, so one YAML document",
                        "a second document starts here; move it into a file of its own")  # fmt: skip
            raise _Stop

    def scalar(self, event: ScalarEvent) -> None:
        start: int = event.start_mark.index
        end: int = event.end_mark.index
        if event.anchor is not None or event.tag is not None:
            start = min(self.behind_properties(start, event.tag), end)
        scalar = Scalar(event.value, event.style or "", start, end)
        if event.anchor is not None:
            self.anchors[event.anchor] = scalar
        if event.tag is not None:
            scalar.usable = False
        self.add(scalar)

    def open(self, event: MappingStartEvent | SequenceStartEvent) -> None:
        start: int = event.start_mark.index
        if event.anchor is not None or event.tag is not None:
            start = self.behind_properties(start, event.tag)
        if len(self.stack) >= MAX_DEPTH:
            self.too_deep(start, start + 1)
        is_mapping = type(event) is MappingStartEvent
        self.stack.append(MappingNode({}, start, start) if is_mapping else SequenceNode([], start, start))
        self.keys.append(None)
        self.open_anchors.append(event.anchor)

    def close(self, event: MappingEndEvent | SequenceEndEvent) -> None:
        node = self.stack.pop()
        self.keys.pop()
        if event.end_mark.index > event.start_mark.index:  # a closing bracket; a block collection has none
            node.end = event.end_mark.index
            if type(node) is SequenceNode:
                for item in rejoin_items(self.text, node):
                    self.cut_at_comma(item, "[]")
        anchor = self.open_anchors.pop()
        if anchor is not None:
            self.anchors[anchor] = node
        self.add(node)

    def alias(self, event: AliasEvent) -> None:
        start, end = event.start_mark.index, event.end_mark.index
        target = self.anchors.get(event.anchor)
        if target is None:
            if event.anchor in self.open_anchors:
                message, label = f"`*{event.anchor}` stands for something that contains it", "endless"
            else:
                message = f"no anchor `&{event.anchor}` stands before this alias"
                label = "a value that starts with `*` is an alias: quote it if it is meant as text"
            self.report("SD012", start, end, message, label)
            target = Scalar("", "'", start, end)
            target.usable = False
        self.aliased += target.size
        if self.aliased > MAX_ALIASED:
            message = f"the aliases of this file stand for more than {MAX_ALIASED:,} nodes"
            self.report("SD012", start, end, message, "write the value out where it is needed")
            raise _Stop
        if len(self.stack) + target.depth > MAX_DEPTH:
            self.too_deep(start, end)
        self.add(target, end)

    def too_deep(self, start: int, end: int) -> NoReturn:
        self.report("SD003", start, end, f"the file nests deeper than {MAX_DEPTH} levels", "too deep")
        raise _Stop

    def behind_properties(self, start: int, tag: str | None) -> int:
        """Where the node itself starts, behind its anchor and its tag, which is reported."""
        text = self.text
        if tag is not None:
            first, last = _TAG.search(text, start).span()  # type: ignore[union-attr]
            self.tag(first, last, text[first:last])
        return _PROPERTIES.match(text, start).end()  # type: ignore[union-attr]

    def tag(self, start: int, end: int, tag: str) -> None:
        looks_like_not = tag[1:2].isalpha() or tag[1:2] in ("$", "(")
        label = "write `not ...` instead of `!`, or quote the value" if looks_like_not else "remove the tag"
        self.report("SD009", start, end, f"`{tag[:60]}` is a YAML tag, and tags are not allowed", label)

    def add(self, node: Node, end: int | None = None) -> None:
        """Puts a finished node where it belongs (root, list item, key or value); ``end`` is where it ends there."""
        if not self.stack:
            self.root = node
            return
        parent = self.stack[-1]
        if isinstance(parent, SequenceNode):
            parent.items.append(node)
        elif (key := self.keys[-1]) is None:
            self.keys[-1] = node
            return
        else:
            self.keys[-1] = None
            joined = rejoin_value(self.text, parent, key, node) if type(node) is Scalar and not node.value else None
            if joined is not None:
                if not is_open(joined):
                    self.cut_at_comma(joined, "{}")
            elif type(key) is Scalar and is_plain_key(key, parent):
                parent.entries[key.value] = (key, node)
            else:
                self.odd_key(parent, key, node)
        parent.size += node.size
        if node.depth >= parent.depth:
            parent.depth = node.depth + 1
        parent.end = node.end if end is None else end

    def cut_at_comma(self, value: Scalar, brackets: str) -> None:
        """A value that was put together again: this once it is clear what was meant."""
        if value.value[0] in "“”„‘’":
            return  # those were to be the quotes; the parser of expressions says so
        message = f"inside `{brackets}` a value that contains a comma must be quoted"
        written = quoted(value.value)
        label = f"write {written}" if written is not None else "quote it"
        self.report("SD001", value.start, value.end, message, label, suggestion=written)

    def odd_key(self, mapping: MappingNode, key: Node, value: Node) -> None:
        """A key that is perhaps none: refused, or put in after all."""
        if not isinstance(key, Scalar):
            mapping.whole = False
            self.report("SD008", key.start, key.end, "a key must be a text", "this is a list or a mapping")
            return
        data = resolve(key)
        if isinstance(data, str) and data not in mapping.entries:
            mapping.entries[data] = (key, value)
            return
        mapping.whole = False
        if data is None and not key.value:
            self.report("SD008", key.start, key.start + 1, "a key must be a text, and here it is missing", "no key")
        elif not isinstance(data, str):
            kind = "boolean" if isinstance(data, bool) else "number" if data is not None else "word"
            self.report(
                "SD008", key.start, key.end, f"a key must be a text, and `{key.value[:60]}` is a {kind}", "quote it"
            )
        else:
            first, kept = mapping.entries[data]
            if type(kept) is not type(value):  # one of the two was meant for another key: nobody knows which
                kept.usable = False
            related = (Related("the first time", self.source, first.span),)
            self.report("SD007", key.start, key.end, f"key `{data[:60]}` is given twice", "the second time", related)


def is_plain_key(key: Scalar, mapping: MappingNode) -> bool:
    """Whether a key is a text beyond doubt, and the first of its name."""
    name = key.value
    return name not in mapping.entries and name not in WORDS and (key.style != "" or name[0].isalpha())


def _ignore(event: Any) -> None:
    """The start of the stream and the end of the document say nothing."""
