"""YAML text to a tree that knows where everything stands.

The tree is composed from the events of PyYAML's C parser. Only the plain part of YAML is let through: mappings
with text keys, lists and scalars in one document, no tags, aliases within bounds. Everything refused is one
diagnostic at its place, and what can be read around it is read on.
"""

from __future__ import annotations

import re

from spyre_dsl.language.codes import diagnose
from spyre_dsl.language.composer import Composer
from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.records import record
from spyre_dsl.language.source import Source
from spyre_dsl.language.syntax import Span
from spyre_dsl.language.yaml_errors import Fault, explain
from spyre_dsl.language.yaml_tree import MappingNode, Node, Scalar, SequenceNode, last_scalar, plain, resolve

__all__ = ["Document", "MappingNode", "Node", "Scalar", "SequenceNode", "plain", "read_text", "resolve"]

MAX_SYNTAX_ERRORS = 12
"""How many syntax errors of one file are looked for."""

_NOTHING = re.compile(r"(?:[ \n]|#[^\n]*)*+")
"""Blanks and comments."""

_DASHES = re.compile(r" *(?:- +)*")


@record
class Document:
    """What could be read.

    ``complete`` is false when parts were skipped, so that what is missing proves nothing.
    """

    root: Node | None
    diagnostics: tuple[Diagnostic, ...]
    complete: bool = True


def read_text(source: Source) -> Document:
    """The tree of ``source``, and everything in it that YAML or this language does not allow.

    After a syntax error the entry that holds it is skipped and the file is read again, so that the mistakes in the
    rest of it are found as well.
    """
    composer = Composer(source, source.text)
    faults: list[Fault] = []
    skipped: list[tuple[int, int]] = []
    text = source.text
    while (error := composer.compose()) is not None and len(faults) < MAX_SYNTAX_ERRORS:
        fault = explain(source, error, last_scalar(composer.root))
        if any(fault.start == other.start for other in faults):
            break
        faults.append(fault)
        start, end = _entry(text, fault.start if fault.entry is None else fault.entry)
        skipped.append((start, end))
        text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
        composer = Composer(source, text)
    return _document(composer, faults, skipped, text)


def _entry(text: str, place: int) -> tuple[int, int]:
    """The entry on the line of ``place``: the line's content behind list dashes, and all lines indented deeper."""
    line = text.rfind("\n", 0, place) + 1
    start = _DASHES.match(text, line).end()  # type: ignore[union-attr]
    depth = start - line
    end = _line_end(text, start)
    while end < len(text):
        next_end = _line_end(text, end + 1)
        following = text[end + 1 : next_end]
        if following.strip() and len(following) - len(following.lstrip(" ")) <= depth:
            break
        end = next_end
    return start, end


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _document(composer: Composer, faults: list[Fault], skipped: list[tuple[int, int]], text: str) -> Document:
    found = [
        diagnose(
            fault.code,
            fault.message,
            composer.source,
            Span(fault.start, max(fault.start, fault.end)),
            label=fault.label,
        )
        for fault in faults
    ]
    if composer.root is None and not found and not composer.diagnostics:
        label = "an adapter file starts with `adapter: NAME`"
        found.append(diagnose("SD011", "the file is empty", composer.source, Span(0, 0), label=label))
    complete = not faults and not composer.stopped
    if skipped:
        _disown_cut_texts(composer.root, skipped, text)
    return Document(composer.root, (*found, *composer.diagnostics), complete)


def _disown_cut_texts(root: Node | None, skipped: list[tuple[int, int]], text: str) -> None:
    """A text is not usable when what was skipped right behind it may have belonged to it; ``text`` is what was read."""
    todo = [root] if root is not None else []
    while todo:
        node = todo.pop()
        if isinstance(node, MappingNode):
            todo += [value for _, value in node.entries.values()]
        elif isinstance(node, SequenceNode):
            todo += node.items
        elif any(_may_go_on(node, start, text) for start, _ in skipped):
            node.usable = False


def _may_go_on(node: Scalar, start: int, text: str) -> bool:
    """Whether a text may go on at ``start``: it has several lines, a comment ended it, or it has yet to begin."""
    behind = _NOTHING.match(text, node.end).end()  # type: ignore[union-attr]
    if not node.start < start <= behind or text[start : node.end].strip():
        return False
    begun = node.style not in ("|", ">") or node.value.strip()
    return "\n" in text[node.start : node.end].strip() or text.find("#", node.end, start) >= 0 or not begun
