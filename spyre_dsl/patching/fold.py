"""Compute once what depends on parameters and literals only.

A rewrite such as ``linear($x, narrow($w, 0, 0, 768))`` leaves ops on parameters in the graph. Each such value becomes
a *fold*: a small program over the owner's own parameters, whose result is kept as a non-persistent buffer. Ops that
the model itself applies to its parameters stay as they are: only what a rule wrote is folded.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from spyre_dsl.graphs.sharing import Sharing
from spyre_dsl.patching.errors import RewriteError
from spyre_dsl.patching.export_owner import Source

EMITTED = "spyre_rule"
"""The key of ``node.meta`` that names the rule (``adapter/rule``) that a node was emitted by."""

_ASSERTIONS = frozenset(
    {
        "aten._assert_tensor_metadata.default", "aten._assert_scalar.default", "aten._assert_async.msg",
        "aten.sym_constrain_range.default", "aten.sym_constrain_range_for_size.default",
    }
)  # fmt: skip

_RANDOM = torch.Tag.nondeterministic_seeded
_NO_MEMORY = re.compile("not enough memory|out of memory|can't allocate|overflow", re.IGNORECASE)


@dataclass(frozen=True)
class Fold:
    """A value that the graph takes from the buffer ``name``; ``program`` computes it from ``sources``, in that order.

    Two graphs of one owner that need the same value get the same name.
    """

    name: str
    program: torch.fx.GraphModule
    sources: tuple[Source, ...]

    @property
    def rule(self) -> str:
        """The rule (``adapter/rule``) that wrote the last op of it."""
        labels = [node.meta[EMITTED] for node in self.program.graph.nodes if EMITTED in node.meta]
        return str(labels[-1]) if labels else "a rewrite"

    def compute(self, values: Sequence[torch.Tensor]) -> torch.Tensor:
        """The value, from those of ``sources``. Raises RewriteError, naming the rule, where it cannot be computed."""
        try:
            self._require_room()
            result: torch.Tensor = self.program(*values)
        except Exception as problem:  # torch raises what it likes: RuntimeError, MemoryError, TypeError, IndexError
            raise RewriteError(f"{self.rule}: {self._why(problem)}") from problem
        return result

    def _require_room(self) -> None:
        """Raise MemoryError for a step that the machine cannot hold, before the system starts to kill processes."""
        room = _memory()
        for node in self.program.graph.nodes:
            value = node.meta.get("val")
            if node.op == "call_function" and isinstance(value, torch.Tensor) and value.device.type == "cpu":
                needed = value.numel() * value.element_size()
                if room and isinstance(needed, int) and needed > room:
                    raise MemoryError(f"{_kind(value)} takes {needed / 2**30:.4g} GiB of {room / 2**30:.4g} GiB")

    def _why(self, problem: Exception) -> str:
        value = next(iter(self.program.graph.find_nodes(op="output"))).args[0].meta.get("val")
        what = f" {_kind(value)}" if isinstance(value, torch.Tensor) else ""
        told = (str(problem).strip() or type(problem).__name__).splitlines()[0]
        short = isinstance(problem, (MemoryError, torch.OutOfMemoryError)) or _NO_MEMORY.search(told)
        reason = "out of memory while folding" if short else "cannot fold"
        return f"{reason} what it makes of parameters and literals{what}: {told}"


def fold(
    graph_module: torch.fx.GraphModule, sources: Sequence[Source]
) -> tuple[torch.fx.GraphModule, tuple[Source, ...], tuple[Fold, ...]]:
    """Replace rule-made values of parameters by placeholders, drop what nobody reads, and say what each fold computes.

    Args: a graph whose placeholders are described by ``sources``; it is changed.
    Returns: a module for the changed graph, the sources of its placeholders (of kind ``folded`` for the new ones), and
        the folds.
    """
    graph = graph_module.graph
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    origin = dict(zip(placeholders, sources))
    folds: dict[str, Fold] = {}
    constant = _constants(graph, origin)
    for root in _roots(graph, constant):
        made = _program_of(root, origin, graph_module)
        folds.setdefault(made.name, made)
        _replace(root, Source("folded", made.name), origin, constant)
    remove_dead_code(graph)
    for node in list(origin):
        if not node.users:
            graph.erase_node(node)
            del origin[node]
    graph.lint()
    kept = tuple(origin[node] for node in graph.nodes if node.op == "placeholder")
    used = {source.target for source in kept if source.kind == "folded"}
    slim = torch.fx.GraphModule(graph_module, graph, class_name="Patched")
    return slim, kept, tuple(made for made in folds.values() if made.name in used)


def remove_dead_code(graph: torch.fx.Graph) -> None:
    """Erase what nobody reads, and torch.export's assertions about sizes and dtypes: the signature checks those.

    A random op that nobody reads goes too (an attention that was replaced is one, since it could drop out).
    """
    for node in graph.nodes:
        if node.op == "call_function" and str(node.target) in _ASSERTIONS:
            graph.erase_node(node)
    graph.eliminate_dead_code(is_impure_node=_has_effect)


def _has_effect(node: torch.fx.Node) -> bool:
    if node.op in ("placeholder", "output"):
        return True
    if isinstance(node.target, torch._ops.OpOverload):
        return bool(node.target._schema.is_mutable)
    return node.is_impure()


def _constants(graph: torch.fx.Graph, origin: dict[torch.fx.Node, Source]) -> set[torch.fx.Node]:
    """The nodes whose value depends on nothing that a call brings along, and that no call writes to.

    Of what the graph writes, in any view of it, nothing is constant: a reader sees what is there at its place in the
    graph, before the write or after it.
    """
    written = Sharing(graph.nodes).written()
    constant = {node for node, source in origin.items() if source.kind != "leaf" and node not in written}
    for node in graph.nodes:
        fixed = node.op == "call_function" and node not in written and _is_pure(node)
        if fixed and all(each in constant for each in node.all_input_nodes):
            constant.add(node)
    return constant


def _is_pure(node: torch.fx.Node) -> bool:
    tags = getattr(node.target, "tags", ())
    return not node.is_impure() and _RANDOM not in tags


def _roots(graph: torch.fx.Graph, constant: set[torch.fx.Node]) -> list[torch.fx.Node]:
    """The constant values that other nodes read, and that a rule had a part in."""
    emitted: set[torch.fx.Node] = set()
    roots = []
    for node in graph.nodes:
        if node not in constant or node.op != "call_function":
            continue
        if EMITTED in node.meta or any(each in emitted for each in node.all_input_nodes):
            emitted.add(node)
            is_tensor = isinstance(node.meta.get("val"), torch.Tensor)
            if is_tensor and any(user not in constant for user in node.users):
                roots.append(node)
    return roots


def _ancestors(root: torch.fx.Node) -> list[torch.fx.Node]:
    seen: set[torch.fx.Node] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting.extend(node.all_input_nodes)
    return [node for node in root.graph.nodes if node in seen]


def _program_of(root: torch.fx.Node, origin: dict[torch.fx.Node, Source], holder: torch.fx.GraphModule) -> Fold:
    nodes = _ancestors(root)
    inputs = [node for node in nodes if node.op == "placeholder"]
    program = torch.fx.Graph()
    copied: dict[torch.fx.Node, torch.fx.Node] = {}
    for node in [*inputs, *(node for node in nodes if node.op != "placeholder")]:
        copied[node] = program.node_copy(node, lambda used: copied[used])
    program.output(copied[root])
    sources = tuple(origin[node] for node in inputs)
    return Fold(_name(nodes, origin), torch.fx.GraphModule(holder, program, class_name="Fold"), sources)


def _name(nodes: Iterable[torch.fx.Node], origin: dict[torch.fx.Node, Source]) -> str:
    """A name made of what is computed: equal programs over equal sources have equal names."""
    number: dict[torch.fx.Node, int] = {}
    text = []
    for node in nodes:
        number[node] = len(number)
        if node.op == "placeholder":
            source = origin[node]
            text.append(f"{source.kind} {source.target} {id(source.value) if source.value is not None else ''}")
        else:
            text.append(f"{node.target} {_shown(node.args, number)} {_shown(node.kwargs, number)}")
    return "_spyre_folded_" + hashlib.sha1("\n".join(text).encode()).hexdigest()[:12]


def _shown(value: Any, number: dict[torch.fx.Node, int]) -> str:
    return repr(torch.fx.node.map_arg(value, lambda node: f"%{number[node]}"))


def _replace(
    root: torch.fx.Node, source: Source, origin: dict[torch.fx.Node, Source], constant: set[torch.fx.Node]
) -> None:
    """A placeholder for everybody who reads ``root`` at run time, or the one that is there already for an equal value.

    Constant readers keep the ops: their own folds are computed from parameters, whatever else is folded.
    """
    placeholder = next((node for node, known in origin.items() if known == source), None)
    if placeholder is None:
        first = next(iter(root.graph.nodes))
        with root.graph.inserting_before(first):
            placeholder = root.graph.placeholder(source.target.lstrip("_"))
        placeholder.meta["val"] = root.meta["val"]
        origin[placeholder] = source
    root.replace_all_uses_with(placeholder, delete_user_cb=lambda user: user not in constant)


def _memory() -> int:
    """The machine's memory in bytes; 0 where it does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0


def _kind(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"
