"""Hooks on modules inside a patched one: its graph does not call those modules, so their hooks would not run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from transformers.utils import output_capturing

from spyre_dsl.patching.errors import PatchError, patched

_CAPTURING = output_capturing.__name__
"""The module whose hooks transformers leaves on every model that was ever asked for its hidden states."""


def refuse_inner_hooks(owner: torch.nn.Module, path: str) -> None:
    """PatchError if a module below ``owner`` has a hook that would do something now.

    Hooks on ``owner`` itself run as ever.
    """
    for name, inner in owner.named_modules():
        if inner is not owner and any(_is_active(hook) for hook in _hooks(inner)):
            place, whole = patched(path)
            raise PatchError(
                f"`{name}` inside {place} has a forward or backward hook, which would not run: the patch computes "
                f"{whole} as a whole. Hook {whole} instead, or leave it unpatched"
            )


def _hooks(module: torch.nn.Module) -> Iterator[Callable[..., Any]]:
    yield from module._forward_hooks.values()
    yield from module._forward_pre_hooks.values()
    if torch.is_grad_enabled():
        yield from module._backward_hooks.values()
        yield from module._backward_pre_hooks.values()


def _is_active(hook: Callable[..., Any]) -> bool:
    """transformers' hooks do nothing unless the call asked for what they collect."""
    if getattr(hook, "__module__", "") != _CAPTURING:
        return True
    collector = output_capturing._active_collector.get()  # type: ignore[no-untyped-call]
    return collector is not None and _closed_over(hook, "key") in collector


def _closed_over(function: Any, name: str) -> Any:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    return cells[name].cell_contents if name in cells else None
