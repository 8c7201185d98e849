"""Did you mean: what a rule most likely meant by a name that nothing has where it is looked up.

Only asked once a name was not found, so that rules whose names are right pay nothing for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from spyre_dsl.language.functions import DTYPES
from spyre_dsl.language.suggest import meant_member
from spyre_dsl.language.syntax import Attribute, Expression, Name, Span, walk
from spyre_dsl.matching.environment import Environment

_SHOWN = 8
"""How many names are listed where none is near."""


def hint(expression: Expression, span: Span, environment: Environment) -> str:
    """What to say behind the problem at ``span`` of ``expression``: empty unless an unknown name is the problem."""
    for node in walk(expression):
        if isinstance(node, Name) and node.span == span and node.name not in environment.names:
            return guess(node.name, [*environment.names, *DTYPES, "end"], list(environment.names), "here")
        if isinstance(node, Attribute) and node.root == "self" and node.span == span:
            return _attribute_hint(node, environment.module)
    return ""


def guess(name: str, candidates: Iterable[str], listed: Iterable[str], where: str) -> str:
    """The nearest of ``candidates``, or what there is (``listed``), as the end of a sentence."""
    near = meant_member(name, list(candidates))
    if near is not None:
        return f"; did you mean `{near}`?"
    shown = [f"`{known}`" for known in listed]
    if not shown:
        return ""
    more = ", ..." if len(shown) > _SHOWN else ""
    return f"; known {where}: {', '.join(shown[:_SHOWN])}{more}"


def attribute_names(holder: Any) -> list[str]:
    """The public names that rules may read from a module or another object, its own before its class's."""
    own: dict[str, None] = {}
    if isinstance(holder, torch.nn.Module):
        for held in (holder._parameters, holder._buffers, holder._modules):
            own.update(dict.fromkeys(held))
    own.update(dict.fromkeys(vars(holder) if hasattr(holder, "__dict__") else ()))
    inherited = (
        name
        for kind in type(holder).__mro__
        if kind not in (torch.nn.Module, object)
        for name, value in vars(kind).items()
        if not callable(value) and not isinstance(value, (classmethod, staticmethod))
    )
    own.update(dict.fromkeys(inherited))
    return [name for name in own if not name.startswith("_") and name not in _OF_EVERY_MODULE]


_OF_EVERY_MODULE = frozenset({"forward", "training", "dump_patches", "call_super_init"})
"""What belongs to torch, or to the patch itself, and is never what a rule means."""


def _attribute_hint(node: Attribute, holder: Any) -> str:
    for place, part in enumerate(node.path):
        names = attribute_names(holder)
        try:
            holder = getattr(holder, part)
        except Exception:  # a property of somebody else's class may raise anything; the problem has told what
            shown = ".".join((node.root, *node.path[:place]))
            return "" if part in names else guess(part, names, names, f"of `{shown}`")
    return ""
