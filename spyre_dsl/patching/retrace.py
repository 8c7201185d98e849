"""Run a rewritten graph while somebody else traces it, so that the new nodes say where they come from.

The graph of a patched module is flat: a tracer would give all its nodes to the module that holds the patch, and to the
line that called it. Here each node takes along the modules that ran it when its owner was exported, below the place
where the owner is now, and the line of the model's own code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.fx.traceback import preserve_node_meta

from spyre_dsl.graphs.provenance import moved_path

Stack = dict[str, tuple[str, Any]]
"""What ``nn_module_stack`` holds: (path, class) by a key that is unique to the call, outermost first."""


def module_stack_now() -> Stack | None:
    """The modules that the tracer at work knows to be running; None where nobody traces, or modules are not kept."""
    mode = get_proxy_mode()
    stack: Stack | None = getattr(mode.tracer, "module_stack", None) if mode is not None else None
    return stack or None


def run_in_place(graph_module: torch.fx.GraphModule, values: Sequence[Any], outer: Stack) -> Any:
    """What ``graph_module(*values)`` returns; the tracer's nodes get ``outer`` and the stacks of the graph's nodes.

    The first entry of a node's stack is the owner that was exported, of which ``outer`` ends with this instance; the
    modules below it are told below that.
    """
    placed = torch.fx.Graph()
    copies: dict[torch.fx.Node, torch.fx.Node] = {}
    result = placed.graph_copy(graph_module.graph, copies)
    placed.output(result)
    for node, copy in copies.items():
        copy.meta = _meta_at(node.meta, outer)
    with preserve_node_meta():
        return torch.fx.Interpreter(graph_module, graph=placed).run(*values)


def _meta_at(meta: Mapping[str, Any], outer: Stack) -> dict[str, Any]:
    stack = tuple((meta.get("nn_module_stack") or {}).items())
    if not stack:
        return {}
    (_, (owner, _)), *inner = stack
    call = next(reversed(outer))
    path = outer[call][0]
    moved = {f"{call}.{key}": (moved_path(name, owner, path), cls) for key, (name, cls) in inner if name != owner}
    told = {"nn_module_stack": {**outer, **moved}}
    return told | ({"stack_trace": meta["stack_trace"]} if meta.get("stack_trace") else {})
