"""torch.autocast: a call under it is a call of another kind, and its graph says itself which values are cast.

torch.export notes the ops of a forward as the forward wrote them, whatever autocast makes of their arguments. Here the
casts are written into the graph, so that rules see the dtypes that are computed with, and the graph runs without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from spyre_dsl.patching.errors import ExportError

Autocast = tuple[tuple[str, torch.dtype], ...]
"""The device types that autocast is enabled for, each with the dtype it casts to; empty without autocast."""

_DEVICES = ("cpu", "cuda", "xpu", "mps", torch._C._get_privateuse1_backend_name())


def autocast_now() -> Autocast:
    """The state of autocast in this thread. ``torch.compile`` traces through it, and guards the state by itself."""
    return tuple([(each, torch.get_autocast_dtype(each)) for each in _DEVICES if torch.is_autocast_enabled(each)])


def without_autocast(state: Autocast, function: Callable[..., Any], *args: Any) -> Any:
    """``function(*args)``, run with autocast switched off for the devices of ``state``."""
    if not state:
        return function(*args)
    with torch.autocast(state[0][0], enabled=False):
        return without_autocast(state[1:], function, *args)


def write_casts(graph: torch.fx.Graph, state: Autocast) -> None:
    """Write into an exported graph, traced under ``state``, the casts that autocast makes on the arguments of its ops.

    Raises ExportError for an op whose dtype autocast changes by other means.
    """
    for node in list(graph.nodes) if state else ():
        if isinstance(node.target, torch._ops.OpOverload):
            casts = _casts(node, state)
            with graph.inserting_before(node):
                made = {source: _cast(graph, source, dtype, node) for source, dtype in casts.items()}
            for source, cast in made.items():
                node.replace_input_with(source, cast)
            _check(node)


class _Seen(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Which of some tensors are copied into another dtype: autocast does so before the op itself runs."""

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.casts: list[torch.dtype | None] = [None] * len(tensors)
        self._tensors = tensors

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is torch.ops.aten._to_copy.default:
            for place, tensor in enumerate(self._tensors):
                if args[0] is tensor:
                    self.casts[place] = (kwargs or {}).get("dtype")
        return func(*args, **(kwargs or {}))


def _casts(node: torch.fx.Node, state: Autocast) -> dict[torch.fx.Node, torch.dtype]:
    """The inputs of ``node`` that autocast casts, each with its new dtype."""
    inputs = [each for each in node.all_input_nodes if isinstance(each.meta.get("val"), torch.Tensor)]
    stand_ins = {each: each.meta["val"].detach() for each in inputs}  # nobody else's tensors, so that they are known
    seen = _Seen(list(stand_ins.values()))
    with ExitStack() as stack:
        for device, dtype in state:
            stack.enter_context(torch.autocast(device, dtype=dtype, cache_enabled=False))
        stack.enter_context(seen)
        _call(node, stand_ins)
    return {each: dtype for each, dtype in zip(inputs, seen.casts) if dtype not in (None, each.meta["val"].dtype)}


def _call(node: torch.fx.Node, values: dict[torch.fx.Node, Any]) -> Any:
    def value(each: torch.fx.Node) -> Any:
        return values.get(each, each.meta.get("val"))

    args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), value)
    with torch.no_grad():
        return node.target(*args, **kwargs)  # type: ignore[operator]


def _cast(graph: torch.fx.Graph, source: torch.fx.Node, dtype: torch.dtype, reader: torch.fx.Node) -> torch.fx.Node:
    made = graph.call_function(torch.ops.aten.to.dtype, (source, dtype))
    made.meta = {key: reader.meta[key] for key in ("nn_module_stack", "stack_trace") if key in reader.meta}
    made.meta["val"] = source.meta["val"].to(dtype)
    return made


def _check(node: torch.fx.Node) -> None:
    wanted = node.meta.get("val")
    if not isinstance(wanted, torch.Tensor):
        return
    found = without_autocast(autocast_now(), _call, node, {})
    if isinstance(found, torch.Tensor) and found.dtype != wanted.dtype:
        raise ExportError(f"autocast makes {wanted.dtype} of `{node.target}` in a way that is not known here")
