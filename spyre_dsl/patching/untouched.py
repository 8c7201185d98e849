"""torch.export puts copies in place of a module's lists, tuples and dicts; here everything is put back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

_OWN = frozenset(vars(torch.nn.Module()))


@contextmanager
def untouched(model: torch.nn.Module) -> Iterator[None]:
    """Whatever happens inside, every module of ``model`` has the very attributes afterwards that it had before.

    That includes what a forward stored on its module while it was traced, which would be a fake tensor, and the hooks
    that transformers leaves on a model the first time it is asked for hidden states.
    """
    before = [(module, dict(vars(module)), _tables(module)) for module in model.modules()]
    try:
        yield
    finally:
        for module, attributes, tables in before:
            _restore(vars(module), attributes)
            for table, content in tables:
                _restore(table, content)


def _tables(module: torch.nn.Module) -> list[tuple[dict[Any, Any], dict[Any, Any]]]:
    """torch's own tables on a module (parameters, hooks, ...), each with what is in it."""
    return [(value, dict(value)) for name, value in vars(module).items() if name in _OWN and isinstance(value, dict)]


def _restore(held: dict[Any, Any], attributes: dict[Any, Any]) -> None:
    if held.keys() != attributes.keys():
        held.clear()
        held.update(attributes)
        return
    for name, value in attributes.items():
        if held[name] is not value:
            held[name] = value
