"""A simulator of the Spyre stack: its compiler's limits, its device's arithmetic, its defects, by date.

`compile` and `check` take a torch module or function with example arguments; `load_stack` and `stack_names` give the
dated profiles; `formats` and `layout` hold the number formats and the device layouts. Importing this package imports
neither torch nor numba.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PUBLIC = {
    "compile": "compiling",
    "check": "compiling",
    "CompiledModel": "compiling",
    "load_stack": "stacks",
    "stack_names": "stacks",
    "Stack": "stacks",
    "Refusal": "errors",
    "CompileError": "errors",
    "RunError": "errors",
    "DeviceError": "errors",
    "SilentDefectWarning": "errors",
    "Trace": "trace",
    "Report": "report",
    "Fallback": "report",
}
_MODULES = ("formats", "layout", "stacks", "cost", "errors")

__all__ = sorted([*_PUBLIC, *_MODULES])


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        value = getattr(import_module(f".{_PUBLIC[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
