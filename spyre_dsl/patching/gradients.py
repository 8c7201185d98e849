"""What a forward does about gradients, which a trace without gradients would lose.

A module is exported under ``no_grad``, and its graph serves calls with gradients too. So a forward that asks whether
gradients are enabled is told how that is in the call at hand, and its graph holds for such calls only. And what a
forward computes after it switched gradients off reads everything detached in its graph.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import get_proxy_mode

_SWITCHES = "torch.autograd.grad_mode"
"""The module of ``no_grad`` and its kind: they ask what to put back later on."""
_DECORATORS = "torch.utils._contextlib"
"""The module of what they are as decorators."""
_MODEL_CODE_OF_TORCH = ("torch.nn.", "torch.utils.checkpoint")
_SWITCHED_OFF = "spyre-dsl: gradients are switched off"
"""The mark of a node in ``meta["custom"]``, which torch hands on when it traces a graph again."""


class GradientLog:
    """How a call stands to gradients (``enabled``), and whether the forward ``asked`` for it."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self.asked = False
        self._off = False
        self._before: set[torch.fx.Node] = set()

    def ask(self) -> bool:
        """What a forward is told; where it has switched gradients off itself, that does not depend on the call."""
        self.asked = self.asked or not self._off
        return self.enabled and not self._off

    def is_on(self) -> bool:
        """What ``no_grad`` and its kind are told: whether the forward has not switched gradients off."""
        return not self._off

    def switch(self, on: bool) -> None:
        """The forward switches gradients on or off: the nodes that are made while they are off are marked."""
        nodes = _nodes_so_far()
        if self._off:
            for node in nodes - self._before:
                node.meta.setdefault("custom", {})[_SWITCHED_OFF] = True
        self._off, self._before = not on, nodes

    def mode(self) -> bool | None:
        """What a graph depends on: the mode of the call, if the forward asked for it."""
        return self.enabled if self.asked else None


def _nodes_so_far() -> set[torch.fx.Node]:
    tracing = get_proxy_mode()
    return set(tracing.tracer.graph.nodes) if tracing is not None else set()


@contextmanager
def watching(log: GradientLog) -> Iterator[None]:
    """While this holds, ``log`` answers for this thread's gradient mode, which itself stays as it is."""
    asked: Callable[[], bool] = torch.is_grad_enabled
    switched: Callable[[bool], None] = torch._C._set_grad_enabled
    thread = threading.get_ident()

    def is_grad_enabled() -> bool:
        direct, asker = _callers()
        if threading.get_ident() != thread or _is_machinery(asker):
            return asked()
        return log.is_on() if direct == _SWITCHES else log.ask()

    def set_grad_enabled(mode: bool) -> None:
        if threading.get_ident() != thread or _is_machinery(_callers()[1]):
            switched(mode)
        elif mode != log.is_on():
            log.switch(mode)

    torch.is_grad_enabled = is_grad_enabled
    torch._C._set_grad_enabled = set_grad_enabled  # type: ignore[assignment]
    try:
        yield
    finally:
        torch.is_grad_enabled = asked
        torch._C._set_grad_enabled = switched  # type: ignore[assignment]


def _callers() -> tuple[str, str]:
    """The module that called our caller, and the module for which it did, if it was ``no_grad`` or one of its kind."""
    frame: FrameType | None = sys._getframe(2)
    direct = _module_of(frame)
    while (name := _module_of(frame)) in (_SWITCHES, _DECORATORS):
        assert frame is not None
        if name == _DECORATORS and "func" in frame.f_locals:
            return direct, str(frame.f_locals["func"].__module__)
        frame = frame.f_back
    return direct, name


def _module_of(frame: FrameType | None) -> str:
    return str(frame.f_globals.get("__name__", "")) if frame is not None else ""


def _is_machinery(module: str) -> bool:
    """Whether code of ``module`` asks on behalf of torch, and not of a model."""
    return module.startswith("torch.") and not module.startswith(_MODEL_CODE_OF_TORCH)


def write_detached(graph: torch.fx.Graph) -> None:
    """Let every node that was made with gradients switched off read what was made with them on detached."""
    off = {node for node in graph.nodes if (node.meta.get("custom") or {}).get(_SWITCHED_OFF)}
    for node in off:
        for source in node.all_input_nodes:
            value = source.meta.get("val")
            if source not in off and isinstance(value, torch.Tensor) and value.is_floating_point():
                with graph.inserting_before(node):
                    node.replace_input_with(source, _detached(graph, source, node))


def _detached(graph: torch.fx.Graph, source: torch.fx.Node, reader: torch.fx.Node) -> torch.fx.Node:
    made = graph.call_function(torch.ops.aten.detach.default, (source,))
    meta: dict[str, Any] = {key: reader.meta[key] for key in ("nn_module_stack", "stack_trace") if key in reader.meta}
    made.meta = meta | {"val": source.meta["val"]}
    return made
