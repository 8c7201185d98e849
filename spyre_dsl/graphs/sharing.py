"""Which values of a graph may share memory, and which are written in place: the one place that says so.

Whatever depends on writes in place asks here: what a write changes beside its target (``mutation``), whether it can
be written as a functional op (``functional``), and what is no constant because it is written (``patching.fold``).
The answer errs on one side only: values that share memory are always found to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import torch

from spyre_dsl.graphs.arguments import binding_of

_HAND_ON = frozenset(
    {
        "align_tensors", "alpha_dropout", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_tensors",
        "cartesian_prod", "chain_matmul", "combinations", "conj_physical", "dropout", "einsum", "feature_alpha_dropout",
        "feature_dropout", "fix", "linalg_multi_dot", "meshgrid", "native_dropout", "rrelu", "sum_to_size", "to_dense",
        "type_as",
    }
)  # fmt: skip
"""Ops of ATen that may give their argument or a view of it, of which their schemas say nothing."""

_RUNNING_STATISTICS = {
    "aten.batch_norm.default": ("training", ("running_mean", "running_var")),
    "aten.native_batch_norm.default": ("training", ("running_mean", "running_var")),
    "aten.cudnn_batch_norm.default": ("training", ("running_mean", "running_var")),
    "aten.instance_norm.default": ("use_input_stats", ("running_mean", "running_var")),
}
"""Ops that write to arguments though their schemas do not say so: where which flag is set, and to which ones."""


def writes_in_place(fx: torch.fx.Node) -> bool:
    """Whether this call changes the value of one of its arguments (``detach_`` changes gradients only)."""
    target = fx.target
    return (
        isinstance(target, torch._ops.OpOverload)
        and bool(target._schema.is_mutable)
        and target is not torch.ops.aten.detach_.default
    )


def written_by(fx: torch.fx.Node) -> Iterator[torch.fx.Node]:
    """The arguments that this call writes to, the members of lists among them."""
    if not isinstance(fx.target, torch._ops.OpOverload):
        return
    binding = binding_of(fx.target)
    positions = binding.mutated if writes_in_place(fx) else ()
    if (hidden := _RUNNING_STATISTICS.get(str(fx.target))) is not None:
        flag, names = hidden
        if binding.raw(binding.schema_names.index(flag), fx.args, fx.kwargs) is not False:
            positions = (*positions, *(binding.schema_names.index(name) for name in names))
    for position in positions:
        yield from nodes_of(binding.raw(position, fx.args, fx.kwargs))


class Sharing:
    """The values of a graph in *families*: two that may share memory are in one.

    Three things say so, and any will do: the schemas of the ops; a list of those whose schemas are silent (``dropout``
    hands on its argument in evaluation, ``type_as`` where nothing changes); and the storages of the fake tensors that
    the ops gave while the graph was traced. That storages differ says nothing: a fake ``dropout`` makes a new one.
    """

    def __init__(self, nodes: Iterable[torch.fx.Node]) -> None:
        self._nodes = list(nodes)
        self._above: dict[Any, Any] = {}

    def family(self, node: torch.fx.Node) -> Sequence[torch.fx.Node]:
        """Every value that may share memory with ``node``, itself included, in graph order."""
        return self._families.get(self._head(node), [node])

    def written(self) -> set[torch.fx.Node]:
        """Every value whose memory something in the graph may write to, at any time."""
        targets = {target for node in self._nodes for target in written_by(node)}
        return {member for target in targets for member in self.family(target)}

    @cached_property
    def _families(self) -> dict[Any, list[torch.fx.Node]]:
        """By the head of each; made when it is asked for, as most graphs write nothing."""
        for node in self._nodes:
            for shared in (*shared_arguments(node), *storages(node)):
                self._above[self._head(node)] = self._head(shared)
        families: dict[Any, list[torch.fx.Node]] = {}
        for node in self._nodes:
            families.setdefault(self._head(node), []).append(node)
        return families

    def _head(self, member: Any) -> Any:
        while member in self._above and self._above[member] is not member:
            member = self._above[member]
        return member


def shared_arguments(fx: torch.fx.Node) -> Iterator[torch.fx.Node]:
    """The arguments of which ``fx`` may be a view, or that it may hand on, as far as the op itself tells."""
    if fx.op != "call_function":
        return
    if not isinstance(fx.target, torch._ops.OpOverload):
        yield from fx.all_input_nodes  # getitem; of other calls nothing is known
    elif any(returned.alias_info is not None for returned in fx.target._schema.returns):
        binding = binding_of(fx.target)
        for position in binding.aliased:
            yield from nodes_of(binding.raw(position, fx.args, fx.kwargs))
    elif hands_on_silently(fx):
        yield from fx.all_input_nodes


def hands_on_silently(fx: torch.fx.Node) -> bool:
    """Whether ``fx`` may give an argument of its, or a view of one, though its schema says that it makes a new value.

    (torch's own functionalization believes the schema.)
    """
    if not isinstance(fx.target, torch._ops.OpOverload):
        return False
    namespace, packet, _ = str(fx.target).split(".")
    if namespace != "aten" or packet not in _HAND_ON:
        return False
    drops = "dropout" in packet and len(fx.args) == 3 and fx.args[1] != 0 and fx.args[2] is True
    return not drops


def storages(fx: torch.fx.Node) -> Iterator[int]:
    """The storages of what ``fx`` gives, as numbers that are unique while the graph lives."""
    value = fx.meta.get("val")
    for each in value if isinstance(value, (list, tuple)) else (value,):
        if isinstance(each, torch.Tensor) and each.layout is torch.strided:
            yield each.untyped_storage()._cdata


def nodes_of(argument: Any) -> Iterator[torch.fx.Node]:
    """The nodes in an argument, which may be a list."""
    for each in argument if isinstance(argument, (list, tuple)) else (argument,):
        if isinstance(each, torch.fx.Node):
            yield each
