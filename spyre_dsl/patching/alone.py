"""One thread traces at a time, and no module runs in any other thread meanwhile.

While torch.export traces, ``torch.nn.Module.__call__`` and ``__getattr__`` are replaced in the whole process: a module
that another thread calls would be noted as part of the traced one. Such a call waits here until the trace is done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch.fx.experimental.proxy_tensor import _ModuleStackTracer

TRACING = threading.RLock()
"""Held by the thread that traces."""


@contextmanager
def alone() -> Iterator[None]:
    """Wait until no other thread traces; then let other threads wait wherever they call a module."""
    with TRACING:
        tracer = threading.get_ident()
        own, own_getattr = _ModuleStackTracer.call_module, _ModuleStackTracer.getattr

        def call_module(
            self: Any, module: Any, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
        ) -> Any:
            if threading.get_ident() == tracer:
                return own(self, module, forward, args, kwargs)
            with TRACING:
                pass
            return forward(*args, **kwargs)

        def getattr_(self: Any, name: str, value: Any, cache: Any) -> Any:
            return own_getattr(self, name, value, cache) if threading.get_ident() == tracer else value

        _ModuleStackTracer.call_module = call_module  # type: ignore[assignment,method-assign]
        _ModuleStackTracer.getattr = getattr_  # type: ignore[assignment,method-assign]
        try:
            yield
        finally:
            _ModuleStackTracer.call_module = own  # type: ignore[method-assign]
            _ModuleStackTracer.getattr = own_getattr  # type: ignore[method-assign]
