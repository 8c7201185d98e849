"""Everything that depends on how transformers makes its own models exportable; no other file imports its exporters."""

from __future__ import annotations

import io
import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from typing import Any, cast

import torch
from transformers import PreTrainedModel
from transformers.exporters.exporter_dynamo import (
    get_auto_dynamic_shapes,
    register_cache_pytrees_for_model,
    reset_model_state,
)

CACHE_COUNTERS = frozenset({"cumulative_length", "cumulative_length_int", "prefill_cumulative_length", "_seen_tokens"})
"""Attributes of caches, or of their layers, that count tokens in a Python number (or, elsewhere, in a tensor)."""

_CHATTING = ("torch._export.non_strict_utils", "torch.fx.experimental.symbolic_shapes")


def dynamic_shapes(inputs: Any) -> Any:
    """The ``dynamic_shapes`` of ``torch.export.export`` that leave every dimension of every tensor open.

    Args: any nesting of tensors, scalars, None, lists, dicts and registered pytree nodes (caches included).
    """
    return get_auto_dynamic_shapes(inputs)


@contextmanager
def exportable(model: torch.nn.Module) -> Iterator[None]:
    """What must hold while ``model`` is exported: caches are pytrees, and state that a forward would keep is put aside.

    Of the exporter's patches only these two are used: they change nothing that a rule could see. (Its patches of
    attention and of mixtures of experts rewrite the very code that rules are written against.)
    """
    register_cache_pytrees_for_model(cast(PreTrainedModel, model))  # works for any module
    with reset_model_state(model), _without_chatter():
        yield


@contextmanager
def _without_chatter() -> Iterator[None]:
    """Every dimension of size 1 would be announced as fixed, torch deprecates what torch itself calls, and a refusal
    would come with the graph so far beside its own words."""
    loggers = [logging.getLogger(name) for name in _CHATTING]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*LeafSpec.*", category=FutureWarning)
            with _without_graph():
                yield
    finally:
        for logger, level in zip(loggers, levels):
            logger.setLevel(level)


@contextmanager
def _without_graph() -> Iterator[None]:
    """torch.export prints the graph so far of what it refuses, perhaps twice: all else on stderr comes through."""
    held, graph = io.StringIO(), ""
    try:
        with redirect_stderr(held):
            yield
    except Exception as problem:
        found = [getattr(each, "partial_fx_graph", None) for each in (problem, problem.__cause__)]
        graph = next((f"{each}\n" for each in found if each is not None), "")
        raise
    finally:
        text = held.getvalue()
        sys.stderr.write(text.replace(graph, "") if graph else text)
