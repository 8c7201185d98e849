"""Write the expression of a rewrite into an FX graph.

Every new node carries ``meta["val"]`` from the graph's own fake mode, and the module stack and stack trace of the
node that the rewrite replaces.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import sympy
import torch
from torch._guards import detect_fake_mode

from spyre_dsl.graphs.node import Node
from spyre_dsl.graphs.sizes import Sizes, SymbolicSize, dtype_name
from spyre_dsl.language.functions import FLOAT_DTYPES
from spyre_dsl.language.source import Source
from spyre_dsl.matching.environment import Environment
from spyre_dsl.patching.fake_values import FakeValues
from spyre_dsl.patching.fold import EMITTED
from spyre_dsl.patching.overloads import PlannedCall
from spyre_dsl.patching.writing import ExpressionWriter, refused

LINEAGE = "spyre_lineage"
"""The key of ``node.meta`` that names the rules which led to a node, oldest first."""

NodeOf = Callable[[Any], "torch.fx.Node | None"]


class Emitter(ExpressionWriter):
    """Writes nodes before ``anchor``, which is the node that the rewrite will replace.

    ``environment`` holds the match's captures and the roots ``self``, ``config`` and ``stack``; ``parameter`` finds the
    placeholder of one of the model's own tensors; ``current`` gives, for a node of the graph as it was matched, the
    node that stands for it now; ``source`` is the rule's file, for places in errors.
    """

    def __init__(
        self,
        anchor: torch.fx.Node,
        environment: Environment,
        label: str,
        parameter: NodeOf = lambda tensor: None,
        current: Callable[[torch.fx.Node], torch.fx.Node] = lambda node: node,
        fake_values: FakeValues | None = None,
        source: Source | None = None,
    ) -> None:
        example = _example(anchor)
        is_tensor = isinstance(example, torch.Tensor)
        name = dtype_name(example.dtype) if is_tensor else "float32"
        device = example.device if is_tensor else torch.device("cpu")
        super().__init__(environment, label, device, name if name in FLOAT_DTYPES else "float32", source)
        self.graph = anchor.graph
        self.anchor = anchor
        self.parameter = parameter
        self.current = current
        self.graph_sizes = environment.sizes or Sizes()
        self.fake_values = fake_values or FakeValues()
        self.fake_mode = detect_fake_mode(example)
        self.made: list[torch.fx.Node] = []

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, torch.fx.Node) and isinstance(value_of(value), torch.Tensor)

    def sizes(self, x: Any) -> tuple[Any, ...]:
        return self.graph_sizes.shape(value_of(x))

    def call(self, planned: PlannedCall) -> torch.fx.Node:
        """A node for the call, with its value on fake tensors."""
        args, kwargs = self._to_fx(planned.args), self._to_fx(planned.kwargs)
        try:
            value = self._compute(planned.overload, args, kwargs)
        except Exception as problem:  # whatever torch has against these arguments
            raise refused(problem) from problem
        return self.write(planned.overload, args, kwargs, value)

    def output(self, value: Any, index: int) -> torch.fx.Node | None:
        values = value_of(value)
        if not isinstance(values, (list, tuple)) or not -len(values) <= index < len(values):
            return None
        return self.write(operator.getitem, (value, index % len(values)), {}, values[index])

    def named(self, value: Any) -> Any:
        if isinstance(value, torch.fx.Node):
            return Node("emitted", str(value.target), (), value, self.graph_sizes, 0)
        return tuple(map(self.named, value)) if isinstance(value, tuple) else value

    def plain(self, value: Any) -> Any:
        if isinstance(value, Node):
            return self.current(value.fx)
        if isinstance(value, torch.Tensor):
            found = self.parameter(value)
            if found is None:
                raise self.refuse(f"a tensor of shape {list(value.shape)} is no parameter or buffer of this module")
            return found
        return tuple(map(self.plain, value)) if isinstance(value, tuple) else value

    def write(self, function: Any, args: Any, kwargs: Any, value: Any) -> torch.fx.Node:
        """A node before the anchor, marked as this rule's."""
        with self.graph.inserting_before(self.anchor):
            node = self.graph.call_function(function, tuple(args), dict(kwargs))
        node.meta["val"] = value
        for key in ("nn_module_stack", "stack_trace"):
            if key in self.anchor.meta:
                node.meta[key] = self.anchor.meta[key]
        node.meta[EMITTED] = self.label
        node.meta[LINEAGE] = (*self.anchor.meta.get(LINEAGE, ()), self.label)
        self.made.append(node)
        return node

    def _compute(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        real_args, real_kwargs = torch.fx.node.map_arg((tuple(args), kwargs), value_of)
        return self.fake_values.compute(self.fake_mode, function, real_args, real_kwargs)

    def _to_fx(self, value: Any) -> Any:
        if isinstance(value, SymbolicSize):
            return self._size(value)
        if isinstance(value, (list, tuple)):
            return [self._to_fx(item) for item in value]
        if isinstance(value, dict):
            return {key: self._to_fx(item) for key, item in value.items()}
        return value

    def _size(self, size: SymbolicSize) -> torch.fx.Node:
        """A node for a dynamic size: one that is there already, a dimension of an input, or arithmetic on those."""
        if size.fx is not None and size.fx < self.anchor:
            return size.fx
        if size.origin is not None:
            tensor, dim = size.origin
            return self.write(torch.ops.aten.sym_size.int, (tensor, dim), {}, size.value)
        node: torch.fx.Node = self._arithmetic(size.expression, size)
        return node

    def _arithmetic(self, expression: sympy.Expr, size: SymbolicSize) -> Any:
        if expression.is_Integer:
            return int(expression)
        known = self.graph_sizes.of_symbol(expression)
        if known is not None and known is not size:
            return self._size(known)
        function = _SYMPY_OPERATORS.get(type(expression).__name__)
        if function is None or not expression.args:
            raise self.refuse(f"the size {expression} cannot be computed at this point of the graph")
        parts = [self._arithmetic(part, size) for part in expression.args]
        result = parts[0]
        for part in parts[1:]:
            result = self.write(function, (result, part), {}, function(value_of(result), value_of(part)))
        return result


_SYMPY_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "Mul": operator.mul, "FloorDiv": operator.floordiv, "CleanDiv": operator.floordiv,
    "Mod": operator.mod, "PythonMod": operator.mod,
}  # fmt: skip


def value_of(argument: Any) -> Any:
    """The fake value of an FX node; anything else as it is."""
    return argument.meta.get("val") if isinstance(argument, torch.fx.Node) else argument


def _example(anchor: torch.fx.Node) -> Any:
    """A tensor that tells the graph's fake mode and device: the anchor's own value, or its first."""
    value = anchor.meta.get("val")
    return value[0] if isinstance(value, (list, tuple)) and value else value
