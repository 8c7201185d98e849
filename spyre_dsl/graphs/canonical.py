"""From an FX graph of ATen overloads to the canonical graph."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind

from spyre_dsl.graphs.arguments import ONE_MORE_DIM, Binding, binding_of
from spyre_dsl.graphs.canonicalizers import Call, canonicalizer_of
from spyre_dsl.graphs.mutation import Mutations
from spyre_dsl.graphs.node import CanonicalGraph, Node, Value, nodes_in
from spyre_dsl.graphs.numbering import Numbering
from spyre_dsl.graphs.sizes import Sizes, dtype_name

_NO_VALUE = frozenset(
    {
        "aten._assert_tensor_metadata.default",
        "aten._assert_scalar.default",
        "aten._assert_async.msg",
        "aten._assert_async.default",
        "aten.sym_constrain_range.default",
        "aten.sym_constrain_range_for_size.default",
        "aten._functional_assert_async.msg",
        "aten._functional_assert_scalar.default",
    }
)
"""Calls that check something and compute nothing."""

_FILLED = {"full": 1, "scalar_tensor": 0}
"""Ops that make a tensor of one number, and which argument the number is."""

_LEAF_OF_KIND = {
    InputKind.PARAMETER: "parameter",
    InputKind.BUFFER: "buffer",
    InputKind.CONSTANT_TENSOR: "constant",
    InputKind.CUSTOM_OBJ: "constant",
    InputKind.USER_INPUT: "input",
    InputKind.TOKEN: "input",
}


def canonicalize(source: ExportedProgram | torch.fx.GraphModule | torch.fx.Graph) -> CanonicalGraph:
    """The canonical graph of an exported program, or of any FX graph of ATen overloads with ``meta["val"]``.

    The source is left as it is. In a bare graph every placeholder is an ``input``; what ``get_attr`` fetches from the
    owning module is a ``parameter``, a ``buffer`` or a ``constant``.
    """
    graph = source if isinstance(source, torch.fx.Graph) else source.graph
    if isinstance(source, ExportedProgram):
        return _Walk(graph, _leaves(source.graph_signature), source.constants).run()
    return _Walk(graph, {}, {}).run()


def _leaves(signature: Any) -> dict[str, tuple[str, str, Any]]:
    """For each placeholder: the leaf op, the qualified name, and the constant (or None) that it stands for."""
    return {
        spec.arg.name: (
            _LEAF_OF_KIND[spec.kind],
            spec.target or "",
            spec.arg if isinstance(spec.arg, ConstantArgument) else None,
        )
        for spec in signature.input_specs
    }


class _Walk:
    """One pass over an FX graph."""

    def __init__(
        self, graph: torch.fx.Graph, leaves: Mapping[str, tuple[str, str, Any]], constants: Mapping[str, Any]
    ) -> None:
        self.graph = graph
        self.leaves = leaves
        self.constants = constants
        self.sizes = Sizes()
        self.values: dict[torch.fx.Node, Value] = {}
        self.nodes: list[Node] = []
        self.effects: list[Node] = []
        self.outputs: tuple[Value, ...] = ()
        self.numbering = Numbering()
        self.mutations = Mutations(graph, self.values)

    def run(self) -> CanonicalGraph:
        for position, fx in enumerate(self.graph.nodes):
            self.values[fx] = self.visit(fx, position)
        live = _live(self.nodes, nodes_in(self.outputs), self.effects)
        inputs = tuple(node for node in self.nodes if node.op == "input")
        return CanonicalGraph(self.graph, live, inputs, self.outputs, self.values, self.sizes)

    def visit(self, fx: torch.fx.Node, position: int) -> Value:
        if fx.op == "call_function":
            if isinstance(fx.target, torch._ops.OpOverload):
                return self.overload(fx, position)
            return self.function(fx, position)
        if fx.op == "placeholder":
            return self.placeholder(fx, position)
        if fx.op == "get_attr":
            return self.attribute(fx, position)
        if fx.op == "output":
            result = self.value(fx.args[0])
            self.outputs = result if isinstance(result, tuple) else (result,)
            return result
        return self.opaque(fx, position, f"{fx.op}.{fx.target}")

    def value(self, argument: Any) -> Value:
        """The canonical form of one FX argument."""
        kind = type(argument)
        if kind is torch.fx.Node:
            return self.values[argument]
        if kind is int or kind is float or kind is bool or kind is str or argument is None:
            return argument  # type: ignore[no-any-return]
        if isinstance(argument, (list, tuple)):
            return tuple([self.value(item) for item in argument])
        if kind is torch.dtype:
            return dtype_name(argument)
        if isinstance(argument, dict):
            return tuple([self.value(item) for item in argument.values()])
        if isinstance(argument, (torch.device, torch.layout, torch.memory_format)):
            return str(argument)
        if isinstance(argument, complex):
            return argument
        if isinstance(argument, slice):
            return tuple([self.value(item) for item in (argument.start, argument.stop, argument.step)])
        known: Value = self.sizes.of(argument)
        return known

    def overload(self, fx: torch.fx.Node, position: int) -> Value:
        binding = binding_of(fx.target)
        if binding.overload in _NO_VALUE:
            return None
        result = fx.meta.get("val")
        if isinstance(result, (torch.SymInt, torch.SymFloat, torch.SymBool)) or type(result) in (int, float, bool):
            return self.sizes.computed_by(fx, result)  # type: ignore[no-any-return]
        arguments = binding.values(fx.args, fx.kwargs, self.value)
        rank = _normalise(binding, arguments) if binding.op is not None else 0
        call = Call(binding, arguments, fx, self.sizes, rank)
        function = canonicalizer_of(binding.name)
        if function is not None:
            same = function(call)
            if same is not None:
                return same
        node = self.node(call.op, binding.overload, tuple(call.arguments), fx, position)
        node.dim_rank = call.dim_rank
        self.number(node, binding.deterministic)
        if node.op in _FILLED:
            node.literal = _number_filled(node)
        if self.mutations.possible:
            self.mutate(binding, node)
        return node

    def mutate(self, binding: Binding, node: Node) -> None:
        if binding.mutated:
            self.effects.append(node)
        for alias, old in self.mutations.written(node):
            changed = self.node("changed", binding.overload, (old, node), alias, node.position)
            self.number(changed, False)
            self.values[alias] = changed

    def function(self, fx: torch.fx.Node, position: int) -> Value:
        """``getitem``, arithmetic on sizes, higher-order ops."""
        if fx.target is operator.getitem:
            base, index = self.value(fx.args[0]), self.value(fx.args[1])
            if isinstance(base, tuple) and isinstance(index, int):
                return base[index]
            node = self.node("getitem", "getitem", (base, index), fx, position)
            self.number(node, True)
            return node
        result = fx.meta.get("val")
        if isinstance(result, (int, float, torch.SymInt, torch.SymFloat, torch.SymBool)):
            return self.sizes.computed_by(fx, result)  # type: ignore[no-any-return]
        return self.opaque(fx, position, _name_of(fx.target))

    def opaque(self, fx: torch.fx.Node, position: int, name: str) -> Node:
        arguments = tuple([self.value(argument) for argument in (*fx.args, *fx.kwargs.values())])
        node = self.node(name, name, arguments, fx, position)
        self.number(node, False)
        return node

    def placeholder(self, fx: torch.fx.Node, position: int) -> Value:
        op, target, constant = self.leaves.get(fx.name, ("input", "", None))
        value = fx.meta.get("val")
        if constant is not None:
            return self.value(constant.value)
        if value is not None and not isinstance(value, torch.Tensor):
            return self.value(self.sizes.computed_by(fx, value))
        if op == "input":
            self.sizes.held_by(fx)
        return self.leaf(op, target, fx, position, self.constants.get(target))

    def attribute(self, fx: torch.fx.Node, position: int) -> Node:
        owner: Any = self.graph.owning_module
        value: Any = None
        if owner is not None:
            try:
                value = operator.attrgetter(str(fx.target))(owner)
            except AttributeError:
                value = None
            fx_value = fx.meta.get("val")
            value = value if fx_value is None or value is not None else fx_value
        if isinstance(value, torch.nn.Parameter):
            op = "parameter"
        else:
            op = "buffer" if owner is not None and str(fx.target) in dict(owner.named_buffers()) else "constant"
        return self.leaf(op, str(fx.target), fx, position, value)

    def leaf(self, op: str, target: str, fx: torch.fx.Node, position: int, held: Any = None) -> Node:
        node = self.node(op, op, (), fx, position)
        node.target = target
        written = self.mutations.is_ever_written(fx)
        node.is_constant = op != "input" and not written
        if op == "constant" and not written:
            node.literal = _number_in(held)
        node.number = self.numbering.fresh()
        return node

    def node(self, op: str, overload: str, arguments: tuple[Value, ...], fx: torch.fx.Node, position: int) -> Node:
        node = Node(op, overload, arguments, fx, self.sizes, position)
        self.nodes.append(node)
        return node

    def number(self, node: Node, deterministic: bool) -> None:
        node.number, fixed = self.numbering.of(node, deterministic)
        node.is_constant = fixed and not self.mutations.is_ever_written(node.fx)


def _normalise(binding: Binding, arguments: list[Value]) -> int:
    """Makes lists of single ints and dims non-negative, in place; returns the rank that dims are relative to."""
    for place, slot in enumerate(binding.slots):
        if slot.kind == "ints" and type(arguments[place]) is int and binding.name != "split":
            arguments[place] = (arguments[place],)
    if not binding.has_dims:
        return 0
    rank = _rank(arguments[0])
    if rank is None:
        return 0
    rank = rank + 1 if binding.name in ONE_MORE_DIM else max(rank, 1)
    for place, slot in enumerate(binding.slots):
        if slot.is_dim:
            arguments[place] = _from_front(arguments[place], rank)
    return rank


def _rank(value: Value) -> int | None:
    if isinstance(value, tuple) and value:
        value = value[0]
    if not isinstance(value, Node):
        return None
    tensor = value.fx.meta.get("val")
    return tensor.dim() if isinstance(tensor, torch.Tensor) else None


def _from_front(dim: Value, rank: int) -> Value:
    if type(dim) is int:
        return dim + rank if dim < 0 else dim
    if isinstance(dim, tuple):
        return tuple([_from_front(item, rank) for item in dim])
    return dim


def _live(nodes: list[Node], outputs: Iterable[Node], effects: Iterable[Node]) -> tuple[Node, ...]:
    """The nodes that something depends on, in order; fills in ``users`` and ``is_output``."""
    read: dict[Node, list[Node]] = {}
    stack = [*effects]
    for node in outputs:
        node.is_output = True
        stack.append(node)
    while stack:
        node = stack.pop()
        if node not in read:
            read[node] = inputs = nodes_in(node.arguments)
            stack.extend(inputs)
    live = tuple([node for node in nodes if node in read or node.op == "input"])
    for node in live:
        for used in dict.fromkeys(read.get(node, ())):
            used.users.append(node)
    return live


def _number_in(tensor: Any) -> int | float | bool | None:
    """The number in a real tensor without dimensions; None for anything else."""
    if not isinstance(tensor, torch.Tensor) or isinstance(tensor, FakeTensor) or tensor.dim() or tensor.is_meta:
        return None
    value = tensor.item()
    return value if isinstance(value, (int, float)) else None


def _number_filled(node: Node) -> int | float | bool | None:
    """The number that ``full([], n)`` or ``scalar_tensor(n)`` holds; None where there are dimensions."""
    value = node.arguments[_FILLED[node.op]]
    return value if isinstance(value, (int, float)) and node.rank == 0 else None


def _name_of(target: Any) -> str:
    if isinstance(target, torch._ops.HigherOrderOperator):
        return f"higher_order.{target._name}"
    return f"{getattr(target, '__module__', '')}.{getattr(target, '__name__', target)}".removeprefix("_")
