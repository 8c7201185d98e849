"""torch.export puts copies in place of a module's lists, tuples and dicts; here everything is put back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def untouched(model: torch.nn.Module) -> Iterator[None]:
    """Whatever happens inside, every module of ``model`` has the very attributes afterwards that it had before.

    That includes what a forward stored on its module while it was traced, which would be a fake tensor.
    """
    before = [(module, dict(vars(module))) for module in model.modules()]
    try:
        yield
    finally:
        for module, attributes in before:
            _restore(vars(module), attributes)


def _restore(held: dict[str, object], attributes: dict[str, object]) -> None:
    if held.keys() != attributes.keys():
        held.clear()
        held.update(attributes)
        return
    for name, value in attributes.items():
        if held[name] is not value:
            held[name] = value
