"""Where a node comes from: the module that ran it and the line of the model's code that asked for it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache

import torch

_FRAME = re.compile(r'File "([^"]+)", line (\d+), in \S+')
_REPEATED_CALL = re.compile(r"@\d+")
_PLUMBING = (f"{os.sep}torch{os.sep}", f"{os.sep}transformers{os.sep}integrations{os.sep}")
"""Code that models call but nobody looks into for the cause of an op."""

_NOT_A_MODULE = "_empty_nn_module_stack_from_metadata_hook"


def module_stack_of(fx: torch.fx.Node) -> tuple[tuple[str, str], ...]:
    """(path, qualified class name) of every module that was running when ``fx`` was traced, outermost first."""
    return tuple([(path, class_path) for _, path, class_path in calls_of(fx)])


def calls_of(fx: torch.fx.Node) -> tuple[tuple[str, str, str], ...]:
    """(key that is unique to the call, path, qualified class name) of the running modules, outermost first."""
    stack = fx.meta.get("nn_module_stack")
    return _read_stack(tuple(stack.items())) if stack else ()


@lru_cache(maxsize=4096)
def _read_stack(stack: tuple[tuple[str, tuple[str, str | type]], ...]) -> tuple[tuple[str, str, str], ...]:
    return tuple(
        [
            (key, _REPEATED_CALL.sub("", path), class_path if isinstance(class_path, str) else _qualified(class_path))
            for key, (path, class_path) in stack
            if path != _NOT_A_MODULE
        ]
    )


def module_path_of(fx: torch.fx.Node) -> str:
    """The dotted path of the innermost module that was running; ``""`` for the root, and where it is unknown."""
    stack = module_stack_of(fx)
    return stack[-1][0] if stack else ""


def class_path_of(fx: torch.fx.Node) -> str:
    """The qualified class name of the innermost module that was running; ``""`` where it is unknown."""
    stack = module_stack_of(fx)
    return stack[-1][1] if stack else ""


def source_line_of(fx: torch.fx.Node) -> str:
    """``file:line`` of the innermost frame of the model's own code; ``""`` if the trace has none.

    Frames inside torch are passed over, unless there are no others.
    """
    trace = fx.meta.get("stack_trace")
    return _innermost(trace) if trace else ""


def own_frames(trace: str) -> list[tuple[str, str]]:
    """(file, line) of the frames that are the model's own code, outermost first."""
    return [(path, line) for path, line in _FRAME.findall(trace) if not any(part in path for part in _PLUMBING)]


@lru_cache(maxsize=4096)
def _innermost(trace: str) -> str:
    frames = own_frames(trace) or _FRAME.findall(trace)
    return f"{os.path.basename(frames[-1][0])}:{frames[-1][1]}" if frames else ""


def owner_of(fx_nodes: Iterable[torch.fx.Node]) -> str:
    """The path of the deepest module whose one call ran all of ``fx_nodes``; ``""`` is the root.

    Nodes without a module (sizes, inputs) have no say. Two calls of one shared module are two: what spans them
    belongs to the module that made both calls.
    """
    calls = {calls_of(fx) for fx in fx_nodes}
    calls.discard(())
    if not calls:
        return ""
    common = os.path.commonprefix([*calls])
    return str(common[-1][1]) if common else ""


def moved_path(name: str, old: str, new: str) -> str:
    """The path of what is called ``name`` below the module ``old``, once that module is called ``new``."""
    return ".".join(filter(None, (new, name.removeprefix(old).removeprefix("."))))


def _qualified(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
