"""Run a rewritten graph while somebody else traces it, so that the new nodes say where they come from.

The graph of a patched module is flat: a tracer would give all its nodes to the module that holds the patch, and to the
line that called it. Here each node takes along the modules that ran it when its owner was exported, below the place
where the owner is now, and the line of the model's own code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch._dynamo.symbolic_convert import InstructionTranslator
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
    with preserve_node_meta():
        return torch.fx.Interpreter(graph_module, graph=_placed(graph_module.graph, outer)).run(*values)


def graph_here(graph_module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """``graph_module`` for ``torch.compile``, which traces through this call: its nodes say where they run.

    Dynamo runs the code of a graph line by line, and gives each new node the stacks of the graph's node that the line
    stands for. What it is given hangs on the shared graph, not on the instance: what was compiled for one layer serves
    all of them, as it does for the stock model.
    """
    name = _place(graph_module)
    placed: torch.fx.GraphModule = getattr(graph_module.placed, name)
    return placed


class _Placed:
    """The copies of a graph by place: an attribute for each, since dynamo guards those one by one."""

    def __init__(self) -> None:
        self.names: dict[tuple[Any, ...], str] = {}


@torch._dynamo.assume_constant_result  # type: ignore[untyped-decorator]
def _place(graph_module: torch.fx.GraphModule) -> str:
    """The name of the attribute that holds the copy for the modules that dynamo knows to be running."""
    held: _Placed = vars(graph_module).setdefault("placed", _Placed())
    outer = _dynamo_stack() or {"owner": ("L['self']", _owner_class(graph_module.graph))}
    name = held.names.setdefault(tuple(outer.items()), f"graph_{len(held.names)}")
    if name not in vars(held):
        copy = torch.fx.GraphModule(graph_module, _placed(graph_module.graph, outer), class_name="Patched")
        setattr(held, name, copy)
    return name


def _dynamo_stack() -> Stack:
    """The running modules; empty where dynamo started with the patched module itself."""
    return dict(InstructionTranslator.current_tx().output.current_tx.nn_module_stack)


def _owner_class(graph: torch.fx.Graph) -> Any:
    """The class of the module that was exported."""
    stacks = (node.meta.get("nn_module_stack") for node in graph.nodes)
    return next((next(iter(stack.values()))[1] for stack in stacks if stack), "")


def _placed(graph: torch.fx.Graph, outer: Stack) -> torch.fx.Graph:
    placed = torch.fx.Graph()
    copies: dict[torch.fx.Node, torch.fx.Node] = {}
    result = placed.graph_copy(graph, copies)
    placed.output(result)
    for node, copy in copies.items():
        copy.meta = _meta_at(node.meta, outer)
    return placed


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
