"""Write a graph's in-place ops as functional ones, where nobody can tell the difference.

``run_decompositions`` makes any exported program functional, by tracing all of it again, which costs more than the
export did. What models write in place is mostly plainer than that: ``scores += bias``, on a value that nothing else
shares, or that nobody reads afterwards but through the write. Such a write becomes the functional op at its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram

from spyre_dsl.graphs.arguments import binding_of
from spyre_dsl.graphs.memory import is_contiguous
from spyre_dsl.graphs.mutation import may_alias, writes_in_place


def without_own_writes(program: ExportedProgram) -> bool:
    """Replace, in the graph of ``program``, each write that is seen only through its own result by that result.

    A write to ``x`` stays as it is where ``x`` may share memory with an input, a parameter or a buffer; where
    something else that shares memory with ``x`` is read later on; and where the functional op might give another dtype
    or other strides than ``x`` has. No condition on dynamic sizes is added.

    Returns whether the graph writes nothing any more.
    """
    writes = [node for node in program.graph.nodes if writes_in_place(node)]
    memory = _Memory(program.graph.nodes) if writes else None
    functional = [memory is not None and _make_functional(write, memory, program) for write in writes]
    return all(functional)


def _make_functional(write: torch.fx.Node, memory: _Memory, program: ExportedProgram) -> bool:
    """Make ``write`` a functional op, if that can be."""
    overload = _functional_overload(write.target)
    if overload is None or not memory.is_seen_only_through(write) or not _keeps_kind(write, overload):
        return False
    written = write.args[0]
    assert isinstance(written, torch.fx.Node)
    write.target = overload
    written.replace_all_uses_with(write, delete_user_cb=lambda user: memory.is_later(user, write))
    if any(each is write for each in write.graph.output_node().all_input_nodes):
        program.graph_signature.replace_all_uses(written.name, write.name)
    return True


class _Memory:
    """Which nodes may share memory: the members of one *family*.

    Two things say so, and either will do: the schemas of the ops, and the storages of the fake tensors that the ops
    gave while the graph was traced (in evaluation ``dropout`` hands on its argument, of which its schema is silent).
    """

    def __init__(self, nodes: Sequence[torch.fx.Node]) -> None:
        self._place = {node: place for place, node in enumerate(nodes)}
        self._above: dict[Any, Any] = {}
        self._families: dict[Any, list[torch.fx.Node]] = {}
        for node in nodes:
            for shared in (*_arguments_shared(node), *_storages(node)):
                self._above[self._family(node)] = self._family(shared)
        for node in nodes:
            self._families.setdefault(self._family(node), []).append(node)

    def is_later(self, node: torch.fx.Node, other: torch.fx.Node) -> bool:
        return self._place[node] > self._place[other]

    def is_seen_only_through(self, write: torch.fx.Node) -> bool:
        """Whether after ``write`` this memory is read through its result or its target only.

        (What an earlier write left in the family has no readers by then, or that write was not made functional.)
        """
        for member in self._families[self._family(write)]:
            if member.op != "call_function":
                return False
            seen = member is not write.args[0] and self.is_later(write, member)
            if seen and any(self.is_later(user, write) for user in member.users):
                return False
        return True

    def _family(self, member: Any) -> Any:
        while member in self._above and self._above[member] is not member:
            member = self._above[member]
        return member


def _arguments_shared(node: torch.fx.Node) -> Iterator[torch.fx.Node]:
    """The arguments of which ``node`` may be a view, or that it hands on."""
    if isinstance(node.target, torch._ops.OpOverload):
        if may_alias(node):
            binding = binding_of(node.target)
            for position in binding.aliased:
                shared = binding.raw(position, node.args, node.kwargs)
                yield from (each for each in _listed(shared) if isinstance(each, torch.fx.Node))
    elif node.op == "call_function":
        yield from node.all_input_nodes  # getitem; of other calls nothing is known


def _storages(node: torch.fx.Node) -> Iterator[int]:
    """The storages of what ``node`` gives, as numbers that are unique while the graph lives."""
    for value in _listed(node.meta.get("val")):
        if isinstance(value, torch.Tensor) and value.layout is torch.strided:
            yield value.untyped_storage()._cdata


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else (value,)


def _functional_overload(target: Any) -> torch._ops.OpOverload | None:
    """``aten.add.Tensor`` for ``aten.add_.Tensor``; None unless elementwise and writing its first argument only."""
    namespace, packet, name = str(target).split(".")
    if namespace != "aten" or not packet.endswith("_") or binding_of(target).mutated != (0,):
        return None
    found = getattr(getattr(torch.ops.aten, packet[:-1], None), name, None)
    if found is None or torch.Tag.pointwise not in found.tags or torch.Tag.nondeterministic_seeded in found.tags:
        return None
    same = [argument.name for argument in found._schema.arguments] == list(binding_of(target).schema_names)
    return found if same else None


def _keeps_kind(write: torch.fx.Node, functional: torch._ops.OpOverload) -> bool:
    """Whether ``functional`` gives the dtype and the strides that the written value has.

    An elementwise op gives contiguous results for a contiguous first argument of the result's sizes, which the written
    value has. Dtypes depend on dtypes and ranks only: they are asked for on sizes of 1.
    """
    value = write.meta.get("val")
    if not isinstance(value, torch.Tensor) or not is_contiguous(value):
        return False
    args, kwargs = torch.fx.node.map_arg((write.args, dict(write.kwargs)), _smallest)
    result = functional(*args, **kwargs)
    return isinstance(result, torch.Tensor) and result.dtype == value.dtype


def _smallest(node: torch.fx.Node) -> Any:
    """A value of the kind that ``node`` gives: a tensor without data of its dtype and rank, or the number 1."""
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        return torch.empty([1] * value.dim(), dtype=value.dtype, device="meta")
    return 1.0 if isinstance(value, (float, torch.SymFloat)) else 1
