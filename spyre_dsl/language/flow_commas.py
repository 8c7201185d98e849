"""Expressions that a comma has cut: ``{op: pow($x, 3)}`` is to YAML a key ``op`` and a key ``3)`` without a value.

What was cut is put together again, so that one mistake is one diagnostic and the expression is still checked.
"""

from __future__ import annotations

import re

from spyre_dsl.language.yaml_tree import MappingNode, Node, Scalar, SequenceNode

_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_BETWEEN = re.compile(r"[ \n]*,[ \n]*")
_LINE_END = re.compile(r" *\n *")


def rejoin_value(text: str, mapping: MappingNode, key: Node, value: Node) -> Scalar | None:
    """The last value of ``mapping`` with what follows it, if ``key`` (that has no value) is a part of it cut off.

    The mapping's last value is replaced by the longer one, which is returned; otherwise nothing happens.
    """
    empty = isinstance(value, Scalar) and not value.style and value.start == value.end
    if not empty or not mapping.entries or text[mapping.start : mapping.start + 1] != "{":
        return None
    name, (first, last) = next(reversed(mapping.entries.items()))
    joined = _joined(text, last, key)
    if joined is not None:
        mapping.entries[name] = (first, joined)
    return joined


def rejoin_items(text: str, sequence: SequenceNode) -> list[Scalar]:
    """Puts the items of ``[...]`` that a comma has cut together again; returns those that are whole by that."""
    found: list[Scalar] = []
    if text[sequence.start : sequence.start + 1] != "[":
        return found
    for place, item in enumerate(sequence.items):
        if place >= len(sequence.items):
            break
        whole: Node | None = item
        for behind, part in enumerate(sequence.items[place + 1 :], place + 2):
            whole = _joined(text, whole, part) if whole is not None else None
            if whole is None:
                break
            if not is_open(whole):
                sequence.items[place:behind] = [whole]
                found.append(whole)
                break
    return found


def is_open(scalar: Scalar) -> bool:
    """Whether more brackets are opened in a text than closed."""
    if "(" not in scalar.value:
        return False
    bare = _QUOTED.sub("", scalar.value)
    return bare.count("(") > bare.count(")")


def quoted(value: str) -> str | None:
    """The value in quotes, where one kind of quotes does."""
    if "'" not in value:
        return f"'{value}'"
    return f'"{value}"' if '"' not in value and "\\" not in value else None


def _joined(text: str, first: Node, part: Node) -> Scalar | None:
    """Two plain scalars with nothing but a comma between them as one, if the first has an open bracket."""
    if not (isinstance(first, Scalar) and isinstance(part, Scalar)) or first.style or part.style or not is_open(first):
        return None
    if not _BETWEEN.fullmatch(text, first.end, part.start) or not first.usable:
        return None
    return Scalar(_LINE_END.sub(" ", text[first.start : part.end]), "", first.start, part.end)
