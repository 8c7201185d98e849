"""The structure of a call's arguments in one line: `model(_, [_, _], mask=_)`, where each _ is a tensor or a number."""

from __future__ import annotations

from typing import Any


def shown_call(spec: Any) -> str:
    """The call that a pytree spec of (args, kwargs) stands for."""
    positional, named = spec.children()
    given = [_shown(child) for child in positional.children()]
    given += [f"{key}={_shown(child)}" for key, child in zip(named.context, named.children(), strict=True)]
    return f"model({', '.join(given)})"


def _shown(spec: Any) -> str:
    if spec.is_leaf():
        return "_"
    inner = [_shown(child) for child in spec.children()]
    if spec.type is tuple:
        return f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"
    if spec.type is list:
        return f"[{', '.join(inner)}]"
    if issubclass(spec.type, dict):
        pairs = zip(_keys(spec), inner, strict=True)
        return "{" + ", ".join(f"{key!r}: {text}" for key, text in pairs) + "}"
    return f"{spec.type.__name__}({', '.join(inner)})"


def _keys(spec: Any) -> list[Any]:
    """The keys of a dict's spec; those of a defaultdict come after its factory."""
    context = spec.context
    has_factory = len(context) == 2 and isinstance(context[1], list)
    return list(context[1] if has_factory else context)
