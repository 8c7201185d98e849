"""Which ops of a captured graph run on the host although the device might be asked: marked ones and constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..graph import Value, op_name

HOST_MARK = "spyre.host"  # an identity op: what it is given is computed on the host, and only its result moves

# Comparisons are never folded: they are how masks are built, and the stack has no comparison of integers (N35).
COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
WEIGHTED = frozenset(f"aten.{name}" for name in "linear addmm embedding layer_norm conv1d conv2d".split())
ASSERTIONS = frozenset({"aten._assert_tensor_metadata", "aten._assert_scalar", "aten._assert_async"})
FACTORIES = frozenset(
    "arange full zeros ones empty scalar_tensor new_ones new_zeros new_full new_empty zeros_like ones_like full_like"
    " empty_like eye linspace lift_fresh_copy".split()
)


def marked_for_host(nodes: Sequence[torch.fx.Node], sources: Any) -> set[torch.fx.Node]:
    """The nodes that run on the host because a host mark wants their value.

    What is marked always does; what feeds it does as long as nothing else reads it and no parameter is in its past,
    so that a mark at a model's end does not pull the whole model over.
    """
    weighty = _depends_on_parameters(nodes, sources)
    chosen: set[torch.fx.Node] = set()
    for node in reversed(nodes):
        readers = [reader for reader in node.users if op_name(reader.target) not in ASSERTIONS]
        if node.op != "call_function" or not readers:
            continue
        if is_mark(node):
            chosen.add(node)
        elif any(is_mark(reader) for reader in readers) or (
            node not in weighty and all(reader in chosen for reader in readers)
        ):
            chosen.add(node)
    return chosen


def is_mark(node: torch.fx.Node) -> bool:
    """Is this node `torch.ops.spyre.host`?"""
    return node.op == "call_function" and op_name(node.target) == HOST_MARK


def folds(node: torch.fx.Node, known: set[torch.fx.Node]) -> bool:
    """Is this integer or shape arithmetic on compile-time values, which the host does once while tracing?

    `known`: the nodes whose values are compile-time constants.
    """
    base = op_name(node.target).removeprefix("aten.")
    inputs = node.all_input_nodes
    if base in FACTORIES and not base.endswith("_like") and not base.startswith("new_"):
        return all(item in known for item in inputs)
    if base in FACTORIES:
        return True  # of its argument only the shape and the dtype count
    if base in COMPARISONS or not inputs:
        return False
    meta = node.meta.get("val")
    if not isinstance(meta, torch.Tensor) or not all(item in known for item in inputs):
        return False
    return not meta.dtype.is_floating_point or 0 in meta.shape  # an empty cache to start from never gets to the device


def _depends_on_parameters(nodes: Sequence[torch.fx.Node], sources: Any) -> set[torch.fx.Node]:
    """Parameters, the layers that have weights (folded ones are buffers), and all that comes after."""
    reached: set[torch.fx.Node] = set()
    for node in nodes:
        source = sources.get(node.name) if node.op == "placeholder" else None
        weighted = node.op == "call_function" and op_name(node.target) in WEIGHTED
        if (source is not None and source.kind == "parameter") or weighted:
            reached.add(node)
        elif any(item in reached for item in node.all_input_nodes):
            reached.add(node)
    return reached


def is_parameter(item: Any) -> bool:
    """Is this a weight of the model that has not been computed with?"""
    return isinstance(item, Value) and item.source is not None and item.source.kind == "parameter"
