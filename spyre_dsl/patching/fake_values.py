"""What an op gives on fake tensors, remembered: the layers of a model ask for the same thing again and again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import FakeTensorMode


class FakeValues:
    """Runs ops in the fake mode of one graph. Two calls with arguments of the same sizes give the same fake tensor."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Any] = {}

    def compute(self, mode: FakeTensorMode | None, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The fake result of ``function(*args, **kwargs)``; raises what torch raises."""
        key = (function, _key(args), _key(kwargs))
        if key not in self._known:
            self._known[key] = _run(mode, function, args, kwargs)
        return self._known[key]


def _run(mode: FakeTensorMode | None, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    with torch.no_grad():
        if mode is None:
            return function(*args, **kwargs)
        with mode, enable_python_dispatcher():  # without it torch's C++ kernels fix dynamic sizes
            return function(*args, **kwargs)


def _key(value: Any) -> Hashable:
    if isinstance(value, torch.Tensor):
        return ("tensor", _key(tuple(value.shape)), _key(value.stride()), value.dtype, value.device)
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return ("symbol", value.node.expr)
    if isinstance(value, (list, tuple)):
        return tuple(map(_key, value))
    if isinstance(value, dict):
        return tuple((name, _key(item)) for name, item in value.items())
    return (type(value), value)
