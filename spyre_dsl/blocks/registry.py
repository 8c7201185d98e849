"""The blocks that rules can name: those that ship with the product, and those of plug-ins.

A plug-in registers an object with the attributes of ``Block`` under the entry point group ``spyre_dsl.blocks``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

import torch

from spyre_dsl.language.diagnostics import SpyreDslError

GROUP = "spyre_dsl.blocks"

Forward = Callable[..., Any]
Build = Callable[[torch.nn.Module, Forward, Mapping[str, Any]], Forward]


class BlockError(SpyreDslError):
    """No such block, or arguments or a module that it does not take."""


@dataclass(frozen=True)
class Block:
    """A way to compute a module that no expression can say.

    ``build(module, original, arguments)`` returns what computes the module from now on: a function of the module and
    of what its forward takes. ``original`` is the forward as it was, taking the module first as well. The result must
    be traceable by torch.export, and must not hold ``module``: it is called with copies of it too.
    """

    name: str
    summary: str
    parameters: tuple[str, ...]
    build: Build


BLOCKS: dict[str, Block] = {}


def block(name: str, summary: str, *parameters: str) -> Callable[[Build], Build]:
    """Register the function under the decorator as the block ``name``."""

    def register(build: Build) -> Build:
        if name in BLOCKS:
            raise ValueError(f"two blocks are called {name}")
        BLOCKS[name] = Block(name, summary, parameters, build)
        return build

    return register


def find_block(name: str) -> Block:
    """The block called ``name``. BlockError, with the names that there are, if there is none."""
    if name in BLOCKS:
        return BLOCKS[name]
    plugins = {point.name: point for point in entry_points(group=GROUP)}
    if name not in plugins:
        raise BlockError(f"there is no block `{name}`; there are {', '.join(sorted({*BLOCKS, *plugins}))}")
    found = plugins[name].load()
    if not all(hasattr(found, part) for part in ("name", "summary", "parameters", "build")):
        raise BlockError(f"the plug-in `{name}` ({plugins[name].value}) is no block")
    BLOCKS[name] = found
    return BLOCKS[name]
