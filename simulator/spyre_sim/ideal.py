"""The stack without limits and defects: every real number a float64, the oracle for exactness (D14)."""

from __future__ import annotations

from typing import Any, NoReturn

import torch
from torch.utils import _pytree as pytree

from .capture import Captured, flat_inputs, require_apart_inputs
from .copying import NotCopied
from .errors import RunError, misuse
from .execute import Observer
from .graph import DeviceOp, Format, Value, site_of
from .report import Report
from .sharing import storage_of, write_back
from .stacks import Stack
from .trace import Trace, record
from .weights import Weights

KERNEL = "ideal"  # of every op: torch itself computes it


class IdealModel(NotCopied):
    """A captured graph run in float64, conversions between real dtypes left out.

    Results are float64 too, so that nothing of the oracle is lost; torch.compile gives those of the model's dtypes.
    """

    def __init__(self, captured: Captured, stack: Stack, owner: Any) -> None:
        self._captured = captured
        self._weights = Weights(captured, owner)
        self.stack = stack
        count = sum(node.op == "call_function" for node in captured.nodes)
        self.report = Report(stack.name, count, (), (), 0, (), 0)

    def __repr__(self) -> str:
        return f"<IdealModel: {self.report.kernels} ops in float64>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.observe(_nothing, *args, **kwargs)

    def in_dtypes_of_the_model(self, *args: Any, **kwargs: Any) -> Any:
        """As a call, with results rounded to the dtypes that the model itself returns."""
        leaves, spec = pytree.tree_flatten(self(*args, **kwargs))
        rounded = [_as_declared(node, leaf) for node, leaf in zip(self._captured.outputs, leaves, strict=True)]
        return pytree.tree_unflatten(rounded, spec)

    def trace(self, *args: Any, **kwargs: Any) -> Trace:
        """As a call, but every value on the way is kept under its node's name, reals in float64."""
        return record(lambda recorder: self.observe(recorder, *args, **kwargs))

    def cost(self) -> NoReturn:
        """Raises RunError (misuse): the ideal stack has no hardware."""
        raise _no_hardware("cost")

    def plan(self) -> NoReturn:
        """Raises RunError (misuse): the ideal stack has no hardware."""
        raise _no_hardware("plan")

    def observe(self, observe: Observer, *args: Any, **kwargs: Any) -> Any:
        """As a call: `observe(op, value)` sees every node of the graph, as an op of the kernel "ideal"."""
        leaves = flat_inputs(self._captured, args, kwargs)
        held = self._weights.all()
        if self._captured.writes:
            require_apart_inputs(self._captured, leaves, held)
        env: dict[torch.fx.Node, Any] = {}
        with torch.no_grad():
            for node in self._captured.nodes:
                if node.op == "placeholder":
                    source = self._captured.sources[node.name]
                    env[node] = exact(leaves[source.index] if source.kind == "input" else held.get(source.name))
                elif node.op == "call_function":
                    env[node] = _call(node, env)
                    observe(_as_op(node), env[node])
        outputs = [env[item] if isinstance(item, torch.fx.Node) else item for item in self._captured.outputs]
        places = [(leaves[to] if isinstance(to, int) else held[to], env[node]) for node, to in self._captured.writes]
        constants = set(map(storage_of, held.values())) - set(map(storage_of, self._weights.owned()))
        results = write_back(places, outputs, constants)
        return pytree.tree_unflatten(results, self._captured.out_spec)


def _nothing(op: DeviceOp, value: Any) -> None:
    """The observer of a plain call."""


def _as_op(node: torch.fx.Node) -> DeviceOp:
    site = site_of(node)
    declared = node.meta.get("val")
    shape, dtype = (tuple(declared.shape), str(declared.dtype)) if isinstance(declared, torch.Tensor) else ((), "")
    return DeviceOp(KERNEL, (), Value(shape, dtype.removeprefix("torch."), Format.HOST, name=node.name), site)


def _as_declared(node: Any, result: Any) -> Any:
    declared = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
    if isinstance(declared, torch.Tensor) and isinstance(result, torch.Tensor):
        return result.to(declared.dtype)
    return result


def _no_hardware(what: str) -> RunError:
    text = f"the ideal stack has no hardware, so there is no {what}: compile for a dated one"
    return RunError(misuse(what, text, "run"))


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
