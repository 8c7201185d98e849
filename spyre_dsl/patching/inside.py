"""What is inside a patched module: its graphs were made from these modules, and call none of them.

A module put in place of one of them (an adapter around a projection), a forward or a hook given to one, a layer more in
a list of layers: all of that would be ignored without a word. So every call compares what is there with what was there
when the patch was applied, by identity, which costs a few microseconds.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch

from spyre_dsl.patching.errors import PatchError, patched
from spyre_dsl.patching.inner_hooks import refuse_inner_hooks

MakeUp = Mapping[str, tuple[Any, ...]]
"""For each module at or below an owner, by path: its class, its forward if it is not that of its class, its children,
and the shapes of its parameters."""


@dataclass(frozen=True, eq=False)
class Inside:
    """The modules at and below ``owner`` with what they held, in a form that is quick to compare."""

    owner: torch.nn.Module
    make_up: MakeUp
    classes: tuple[type, ...]
    children: tuple[dict[str, Any], ...]
    parameters: tuple[dict[str, Any], ...]
    attributes: tuple[dict[str, Any], ...]
    hooks: tuple[dict[Any, Any], ...]
    held: tuple[Any, ...]
    held_parameters: tuple[Any, ...]
    forwards: list[Any]
    modules: tuple[torch.nn.Module, ...]

    def unchanged(self, *, parameters: bool = True) -> bool:
        """Whether every module holds the very same modules and forwards, and (if asked for) parameters."""
        return (
            tuple(map(type, self.modules)) == self.classes
            and _same(self.children, self.held)
            and [each.get("forward") for each in self.attributes] == self.forwards
            and not (parameters and not _same(self.parameters, self.held_parameters))
        )


def inside(owner: torch.nn.Module, make_up: MakeUp | None = None) -> Inside:
    """What is inside ``owner`` now; ``make_up`` is what it must be like, if that is known."""
    modules = tuple(owner.modules())
    below = [vars(module) for module in modules[1:]]
    children = tuple(module._modules for module in modules)
    parameters = tuple(module._parameters for module in modules)
    return Inside(
        owner=owner,
        make_up=make_up if make_up is not None else make_up_of(owner),
        classes=tuple(map(type, modules)),
        children=children,
        parameters=parameters,
        attributes=tuple(below),
        hooks=tuple(held[name] for held in below for name in _HOOKS),
        held=tuple(_contents(children)),
        held_parameters=tuple(_contents(parameters)),
        forwards=[held.get("forward") for held in below],
        modules=modules,
    )


def make_up_of(owner: torch.nn.Module) -> MakeUp:
    """What must stay as it is inside ``owner``; equal for a deep copy of it."""
    return {
        path: (
            type(module),
            _function(vars(module).get("forward")) if module is not owner else None,
            tuple(module._modules),
            tuple((name, None if held is None else tuple(held.shape)) for name, held in module._parameters.items()),
        )
        for path, module in owner.named_modules(remove_duplicate=False)
    }


def check_inside(known: Inside, path: str, *, tracing: bool = False) -> Inside:
    """``known``, or what is there by now if that is equally made up (another module of the same class, say).

    While somebody is ``tracing``, parameters may be stand-ins and are not looked at. Raises PatchError where something
    is not as it was, and for a hook that would not run.
    """
    if any(known.hooks):
        refuse_inner_hooks(known.owner, path)
    if known.unchanged(parameters=not tracing):
        return known
    _refuse_changes(known, path)
    return known if tracing else check_hooks(inside(known.owner, known.make_up), path)


def check_hooks(known: Inside, path: str) -> Inside:
    """``known``; PatchError for a hook that would not run."""
    if any(known.hooks):
        refuse_inner_hooks(known.owner, path)
    return known


_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_WHAT = ("another class", "another forward", "other modules", "other parameters")


def _refuse_changes(known: Inside, path: str) -> None:
    found = make_up_of(known.owner)
    for name in [*known.make_up, *found]:
        before, after = known.make_up.get(name), found.get(name)
        if before != after:
            what = "other modules" if before is None or after is None else _what(before, after)
            place, whole = patched(path)
            raise PatchError(
                f"`{name}` has {what} inside {place} than when the patch was applied, which would be ignored: the "
                f"patch computes {whole} as a whole, as it was. Revert the patch first, change the model, then plan "
                "and apply again"
            )


def _what(before: tuple[Any, ...], after: tuple[Any, ...]) -> str:
    return next(what for what, old, new in zip(_WHAT, before, after) if old != new)


def _contents(tables: tuple[dict[str, Any], ...]) -> Iterator[Any]:
    return chain.from_iterable(map(dict.values, tables))


def _same(tables: tuple[dict[str, Any], ...], contents: tuple[Any, ...]) -> bool:
    found = tuple(_contents(tables))
    return len(found) == len(contents) and all(map(operator.is_, found, contents))


def _function(forward: Any) -> Any:
    """A forward without the module it is bound to: the same in a copy."""
    return getattr(forward, "__func__", getattr(forward, "func", forward))
