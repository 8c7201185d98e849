"""The shape of an adapter file: ``schema/adapter.schema.json`` at run time.

The file that editors complete by is the file that decides here. A valid tree passes a compiled check and costs next to
nothing. In an invalid one, unknown keys are reported and mended first (renamed to what they were meant to be, moved to
where they belong, or dropped), so that none of what follows is their consequence; the rest is jsonschema's verdict,
one diagnostic a mistake.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Any

from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.document import Document, MappingNode, Node, Scalar, SequenceNode, plain
from spyre_dsl.language.fast_schema import Check, compile_schema
from spyre_dsl.language.resources import resource
from spyre_dsl.language.source import Source

MAX_FAULTS = 60
"""How many faults of one file are explained."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The diagnostics, and the nodes whose values are not usable (by ``id``)."""

    diagnostics: tuple[Diagnostic, ...] = ()
    unusable: frozenset[int] = frozenset()


@cache
def adapter_schema() -> dict[str, Any]:
    """The schema file, parsed."""
    schema: dict[str, Any] = json.loads(resource("schema/adapter.schema.json").read_text(encoding="utf-8"))
    return schema


@cache
def is_valid() -> Check:
    """The compiled check of plain data against the schema."""
    return compile_schema(adapter_schema())


def validate(document: Document, source: Source) -> Verdict:
    """Everything in a document with a root that the schema does not allow.

    Unknown keys are mended in the tree itself. Where the file could not be read completely, nothing is said about what
    is missing, and nothing ever about nodes that are unusable already.
    """
    root = document.root
    assert root is not None
    if is_valid()(plain(root)):
        return Verdict((), document.unusable)
    from spyre_dsl.language.schema_faults import explain
    from spyre_dsl.language.unknown_keys import mend

    diagnostics, dented = mend(root, adapter_schema(), source)
    data = plain(root)
    if is_valid()(data):
        return Verdict(tuple(diagnostics), document.unusable)
    from jsonschema import Draft7Validator

    faults = list(islice(Draft7Validator(adapter_schema()).iter_errors(data), MAX_FAULTS))
    found = explain(faults, replace(document, dented=document.dented | dented), source)
    return Verdict((*diagnostics, *found.diagnostics), found.unusable)


def node_at(root: Node, path: list[str | int]) -> Node:
    """The node at a path of keys and indices."""
    node = root
    for step in path:
        if isinstance(node, MappingNode):
            child = node.get(str(step))
        else:
            child = node.items[int(step)] if isinstance(node, SequenceNode) else None
        if child is None:
            break
        node = child
    return node


def key_at(root: Node, path: list[str | int]) -> Scalar | None:
    """The key under which the node at ``path`` stands, or ``None`` for the root and for list items."""
    if not path or isinstance(path[-1], int):
        return None
    parent = node_at(root, path[:-1])
    return parent.key(path[-1]) if isinstance(parent, MappingNode) else None
