"""The shape of an adapter file: ``schema/adapter.schema.json`` at run time.

The file that editors complete by is the file that decides here. A valid tree passes a compiled check and costs next to
nothing. In an invalid one, unknown keys are reported and mended first (renamed to what they were meant to be, moved to
where they belong, or dropped), so that none of what follows is their consequence; the rest is jsonschema's verdict,
one diagnostic a mistake.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from spyre_dsl.language.diagnostics import Diagnostic
from spyre_dsl.language.document import Document, MappingNode, Node, Scalar, SequenceNode, plain
from spyre_dsl.language.fast_schema import Check, compile_schema
from spyre_dsl.language.resources import resource_text
from spyre_dsl.language.source import Source

if TYPE_CHECKING:
    from jsonschema import Draft7Validator

MAX_FAULTS = 60
"""How many faults of one file are explained."""


@cache
def adapter_schema() -> dict[str, Any]:
    """The schema file, parsed."""
    schema: dict[str, Any] = json.loads(resource_text("schema/adapter.schema.json"))
    return schema


@cache
def is_valid() -> Check:
    """The compiled check of plain data against the schema."""
    return compile_schema(adapter_schema())


@cache
def _validator() -> Draft7Validator:
    """jsonschema's validator. Importing it takes longer than a run without faults."""
    from jsonschema import Draft7Validator

    return Draft7Validator(_written_out(adapter_schema()))


def _written_out(schema: Any) -> Any:
    """The schema with each reference replaced by what it refers to: following them is a third of jsonschema's time."""
    if isinstance(schema, list):
        return [_written_out(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _written_out(adapter_schema()["definitions"][schema["$ref"].rsplit("/", 1)[1]])
    return {key: _written_out(value) for key, value in schema.items() if key != "definitions"}


def validate(document: Document, source: Source) -> list[Diagnostic]:
    """Everything in a document with a root that the schema does not allow.

    Unknown keys are mended in the tree itself, and what is wrong is marked as not usable. Where the file could not be
    read completely, nothing is said about what is missing.
    """
    root = document.root
    assert root is not None
    if is_valid()(plain(root)):
        return []
    from spyre_dsl.language.schema_faults import explain
    from spyre_dsl.language.unknown_keys import mend

    diagnostics = mend(root, adapter_schema(), source)
    data = plain(root)
    if is_valid()(data):
        return diagnostics
    faults = list(islice(_validator().iter_errors(data), MAX_FAULTS))
    return diagnostics + explain(faults, document, source)


def nodes_along(root: Node, path: list[str | int]) -> Iterator[Node]:
    """The nodes on a path of keys and indices, the root first, as far as they exist."""
    node: Node | None = root
    for step in (*path, None):
        if node is None:
            return
        yield node
        if isinstance(node, MappingNode):
            node = node.get(str(step))
        elif isinstance(node, SequenceNode) and isinstance(step, int):
            node = node.items[step]
        else:
            return


def node_at(root: Node, path: list[str | int]) -> Node:
    """The node at a path of keys and indices."""
    return list(nodes_along(root, path))[-1]


def key_at(root: Node, path: list[str | int]) -> Scalar | None:
    """The key under which the node at ``path`` stands, or ``None`` for the root and for list items."""
    if not path or isinstance(path[-1], int):
        return None
    parent = node_at(root, path[:-1])
    return parent.key(path[-1]) if isinstance(parent, MappingNode) else None
