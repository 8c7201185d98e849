"""The arguments of aten ops by their schema names."""

from __future__ import annotations

from typing import Any

import torch


def bound_arguments(node: torch.fx.Node, resolve: Any) -> dict[str, Any]:
    """The op's arguments under their schema names, defaults filled in, nodes replaced by what they stand for."""
    schema = node.target._schema  # type: ignore[union-attr]
    given: dict[str, Any] = {}
    for position, argument in enumerate(schema.arguments):
        if argument.name in node.kwargs:
            given[argument.name] = node.kwargs[argument.name]
        elif position < len(node.args):
            given[argument.name] = node.args[position]
        elif argument.has_default_value():
            given[argument.name] = argument.default_value
    return {name: torch.fx.map_arg(item, resolve) for name, item in given.items()}


def call(target: Any, names: list[str], values: list[Any]) -> Any:
    """Call an aten op with arguments given by name, keyword-only ones as keywords."""
    keyword_only = {argument.name for argument in target._schema.arguments if argument.kwarg_only}
    positional = [value for name, value in zip(names, values, strict=True) if name not in keyword_only]
    keywords = {name: value for name, value in zip(names, values, strict=True) if name in keyword_only}
    return target(*positional, **keywords)
