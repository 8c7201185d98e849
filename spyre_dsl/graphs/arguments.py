"""How the arguments of an ATen overload become those of the vocabulary's op."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from spyre_dsl.graphs.node import Value
from spyre_dsl.language.vocabulary import ALIASES, OPS, PLACEMENT_ARGUMENTS, Op, find_op

DIM_PARAMETERS = frozenset(
    {"dim", "dims", "dim0", "dim1", "dim2", "dimension", "start_dim", "end_dim", "source", "destination"}
)
"""Parameters that name dimensions, counted from either end."""

ONE_MORE_DIM = frozenset({"unsqueeze", "stack"})
"""Ops whose ``dim`` counts the dimensions of the result."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One argument of the canonical node: where the schema has it, and what it is where nothing is given."""

    name: str
    kind: str
    position: int | None
    default: Any
    is_dim: bool


@dataclass(frozen=True, slots=True)
class Binding:
    """An overload's place in the vocabulary. ``op`` is None for an op that the vocabulary does not have."""

    name: str
    overload: str
    op: Op | None
    slots: tuple[Slot, ...]
    schema_names: tuple[str, ...]
    mutated: tuple[int, ...]
    aliased: tuple[int, ...]
    deterministic: bool
    has_dims: bool

    def values(self, args: Sequence[Any], kwargs: Mapping[str, Any], convert: Callable[[Any], Value]) -> list[Value]:
        """The arguments in canonical order, defaults filled in."""
        given = len(args)
        found: list[Value] = []
        for slot in self.slots:
            position = slot.position
            if position is None:
                found.append(slot.default)
            elif position < given:
                found.append(convert(args[position]))
            else:
                name = self.schema_names[position]
                found.append(convert(kwargs[name]) if name in kwargs else slot.default)
        return found

    def raw(self, position: int, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The FX argument at a schema position; None if it is not given."""
        return args[position] if position < len(args) else kwargs.get(self.schema_names[position])


@cache
def binding_of(target: torch._ops.OpOverload) -> Binding:
    """The binding of an overload; the same overload always gives the same object."""
    schema = target._schema
    overload = str(target)
    op = _documented(overload)
    arguments = schema.arguments
    names = tuple(argument.name for argument in arguments)
    slots = _slots_of_op(op, arguments, overload) if op is not None else _slots_of_schema(arguments)
    return Binding(
        name=op.name if op is not None else overload,
        overload=overload,
        op=op,
        slots=slots,
        schema_names=names,
        mutated=tuple(i for i, a in enumerate(arguments) if a.alias_info is not None and a.alias_info.is_write),
        aliased=tuple(i for i, a in enumerate(arguments) if a.alias_info is not None),
        deterministic=torch.Tag.nondeterministic_seeded not in target.tags and "empty" not in overload,
        has_dims=any(slot.is_dim for slot in slots),
    )


def _documented(overload: str) -> Op | None:
    """The vocabulary's op for an overload that it lists, for its in-place form, and for an alias (``multiply``)."""
    namespace, packet, name = overload.split(".")
    if namespace != "aten":
        return None
    functional = packet[:-1] if packet.endswith("_") and not packet.startswith("__") else packet
    op = find_op(f"aten.{functional}.{name}")
    if op is not None and f"aten.{functional}.{name}" in op.overloads:
        return op
    return OPS[ALIASES[functional]] if functional in ALIASES else None


def _slots_of_op(op: Op, arguments: Sequence[Any], overload: str) -> tuple[Slot, ...]:
    """Arguments go by name; those of an alias, which may have other names for them, by place where no name fits."""
    aliased = overload.split(".")[1].rstrip("_") in ALIASES
    positions = {argument.name: position for position, argument in enumerate(arguments)}
    slots: list[Slot] = []
    for parameter in op.parameters:
        position = next((positions[name] for name in parameter.aten if name in positions), None)
        if position is None and aliased and len(slots) < len(arguments):
            position = len(slots)
        default = None if parameter.required else parameter.default
        if parameter.required and position is not None:
            default = _constant(_default_of(arguments[position]))
        slots.append(Slot(parameter.name, parameter.kind, position, default, parameter.name in DIM_PARAMETERS))
    return tuple(slots)


def _slots_of_schema(arguments: Sequence[Any]) -> tuple[Slot, ...]:
    return tuple(
        Slot(argument.name, "any", position, _constant(_default_of(argument)), False)
        for position, argument in enumerate(arguments)
        if argument.name not in PLACEMENT_ARGUMENTS
    )


def _default_of(argument: Any) -> Any:
    return argument.default_value if argument.has_default_value() else None


def _constant(value: Any) -> Any:
    return tuple(value) if isinstance(value, (list, tuple)) else value
