"""Write a graph's in-place ops as functional ones, where nobody can tell the difference.

``run_decompositions`` makes any exported program functional, by tracing all of it again, which costs more than the
export did. What models write in place is mostly plainer than that: ``scores += bias``, on a value that nothing else
shares, or that nobody reads afterwards but through the write. Such a write becomes the functional op at its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.export import ExportedProgram

from spyre_dsl.graphs.arguments import binding_of
from spyre_dsl.graphs.memory import is_contiguous
from spyre_dsl.graphs.sharing import Sharing, writes_in_place


def without_own_writes(program: ExportedProgram) -> bool:
    """Replace, in the graph of ``program``, each write that is seen only through its own result by that result.

    A write to ``x`` stays as it is where ``x`` may share memory with an input, a parameter or a buffer; where
    something else that shares memory with ``x`` is read later on; and where the functional op might give another dtype
    or other strides than ``x`` has. No condition on dynamic sizes is added.

    Returns whether the graph writes nothing any more.
    """
    writes = [node for node in program.graph.nodes if writes_in_place(node)]
    memory = _Memory(list(program.graph.nodes)) if writes else None
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
    """What is read when, of the values that may share memory."""

    def __init__(self, nodes: Sequence[torch.fx.Node]) -> None:
        self._place = {node: place for place, node in enumerate(nodes)}
        self._sharing = Sharing(nodes)

    def is_later(self, node: torch.fx.Node, other: torch.fx.Node) -> bool:
        return self._place[node] > self._place[other]

    def is_seen_only_through(self, write: torch.fx.Node) -> bool:
        """Whether after ``write`` this memory is read through its result or its target only.

        (What an earlier write left in the family has no readers by then, or that write was not made functional.)
        """
        for member in self._sharing.family(write):
            if member.op != "call_function":
                return False
            seen = member is not write.args[0] and self.is_later(write, member)
            if seen and any(self.is_later(user, write) for user in member.users):
                return False
        return True


def _functional_overload(target: Any) -> torch._ops.OpOverload | None:
    """``aten.add.Tensor`` for ``aten.add_.Tensor``; None unless elementwise and writing its first argument only."""
    namespace, packet, name = str(target).split(".")
    if namespace != "aten" or not packet.endswith("_") or binding_of(target).mutated != (0,):
        return None
    found = getattr(getattr(torch.ops.aten, packet[:-1], None), name, None)
    if found is None or torch.Tag.pointwise not in found.tags or torch.Tag.nondeterministic_seeded in found.tags:
        return None
    return found if _parameters(found) == _parameters(target) else None


def _parameters(overload: torch._ops.OpOverload) -> list[tuple[str, str]]:
    """Name and type of each argument: ``pow_.Scalar`` takes a tensor and a number, ``pow.Scalar`` two numbers."""
    return [(argument.name, str(argument.type)) for argument in overload._schema.arguments]


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
