"""The stack without limits and defects: every real number a float64, the oracle for exactness (D14)."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

from .capture import Captured, flat_inputs
from .report import Report
from .stacks import Stack


class IdealModel:
    """A captured graph run in float64, conversions between real dtypes left out; results are float64 too."""

    def __init__(self, captured: Captured, stack: Stack, owner: Any) -> None:
        self._captured = captured
        self._owner = owner
        self.stack = stack
        count = sum(node.op == "call_function" for node in captured.nodes)
        self.report = Report(stack.name, count, (), (), 0, (), 0)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves = flat_inputs(self._captured, args, kwargs)
        env: dict[torch.fx.Node, Any] = {}
        with torch.no_grad():
            for node in self._captured.nodes:
                if node.op == "placeholder":
                    source = self._captured.sources[node.name]
                    env[node] = exact(leaves[source.index] if source.kind == "input" else source.tensor)
                elif node.op == "call_function":
                    env[node] = _call(node, env)
            for node, target in self._captured.writes:
                held = leaves[target] if isinstance(target, int) else self._owner.get_buffer(target)
                held.copy_(env[node])
        results = [env[item] if isinstance(item, torch.fx.Node) else item for item in self._captured.outputs]
        return pytree.tree_unflatten(results, self._captured.out_spec)


def _call(node: torch.fx.Node, env: dict[torch.fx.Node, Any]) -> Any:
    args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda item: env[item])
    name = str(node.target)
    if "_assert_tensor_metadata" in name:
        return None
    if name == "spyre.host.default":
        return args[0]
    args = tuple(torch.float64 if _is_real(item) else item for item in args)
    kwargs = {key: torch.float64 if _is_real(item) else item for key, item in kwargs.items()}
    return pytree.tree_map(exact, node.target(*args, **kwargs))  # type: ignore[operator]


def _is_real(item: Any) -> bool:
    return isinstance(item, torch.dtype) and item.is_floating_point


def exact(item: Any) -> Any:
    """A real tensor in float64; anything else as it is."""
    return item.to(torch.float64) if isinstance(item, torch.Tensor) and item.is_floating_point() else item
