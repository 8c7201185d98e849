"""Adapters that are not tried at all: expired, or for another stack or other packages. Silence about them misleads."""

from __future__ import annotations

from typing import Any

import torch

from spyre_dsl.language.adapter import Adapter, AdapterSet
from spyre_dsl.matching.no_match import NoMatch
from spyre_dsl.matching.scope import MatchContext, adapter_fits


def set_aside(adapters: AdapterSet, model: torch.nn.Module, stack: Any, *, patched: bool) -> tuple[str, ...]:
    """A note for each reason for which adapters are left out of the plan, with their names.

    Those that have expired are always told. Those for another stack or other packages, of which any large set has
    some, only where nothing is ``patched``: they may be why.
    """
    context = MatchContext(model, stack=stack)
    names: dict[tuple[bool, str], list[str]] = {}
    for adapter in adapters.adapters:
        failure = adapter_fits(adapter, context)
        if failure is not None and (_expired(adapter, failure) or not patched):
            names.setdefault((_expired(adapter, failure), failure.reason), []).append(adapter.name)
    return tuple(_note(of, reason, expired, stack.name) for (expired, reason), of in names.items())


def _expired(adapter: Adapter, failure: NoMatch) -> bool:
    return adapter.expires is not None and failure.span == adapter.expires.span


def _note(names: list[str], reason: str, expired: bool, stack: str) -> str:
    if expired:
        return f"{', '.join(names)} {'has' if len(names) == 1 else 'have'} expired on {stack}"
    return f"{', '.join(names)} not tried: {reason}"
