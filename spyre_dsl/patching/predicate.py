"""When a graph holds: the sizes that torch.export assumed, as a check on the leaves of a call."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
import torch
from torch._guards import detect_fake_mode
from torch.utils._sympy.printers import PythonPrinter

from spyre_dsl.patching.errors import RewriteError
from spyre_dsl.patching.export_owner import ExportedOwner

_SIZE = r"L\['leaves'\]\[\d+\]\.size\(\)\[\d+\]"
_COVERED = re.compile(rf"{_SIZE} == (\d+|{_SIZE})")
"""Guards that repeat what the placeholders' own shapes say: a fixed size, or two equal ones."""


@dataclass(frozen=True)
class SizePredicate:
    """Sizes are named by (leaf, dim).

    ``fixed``: must be this number. ``equal``: must be as large as an earlier one. ``ranges``: must lie between two
    numbers (None: no upper bound). ``guards``: torch.export's remaining conditions, as one function of the leaves.
    """

    fixed: tuple[tuple[int, int, int], ...]
    equal: tuple[tuple[int, int, int, int], ...]
    ranges: tuple[tuple[int, int, int, int | None], ...]
    guards: Callable[[Sequence[Any]], bool] | None
    texts: tuple[str, ...] = ()

    def holds(self, leaves: Sequence[Any]) -> bool:
        """Whether the graph may run on these leaves (of the kinds it was made for)."""
        for leaf, dim, size in self.fixed:
            if leaves[leaf].shape[dim] != size:
                return False
        for leaf, dim, other, other_dim in self.equal:
            if leaves[leaf].shape[dim] != leaves[other].shape[other_dim]:
                return False
        for leaf, dim, low, high in self.ranges:
            size = leaves[leaf].shape[dim]
            if size < low or (high is not None and size > high):
                return False
        return self.guards is None or self.guards(leaves)


def guards_so_far(exported: ExportedOwner) -> int:
    """How many conditions torch has noted for this graph up to now; rewriting it may add some."""
    environment = _shape_environment(exported)
    return len(environment.guards) if environment is not None else 0


def predicate_of(exported: ExportedOwner, guards_before: int) -> SizePredicate:
    """What ``exported`` assumes about the sizes of its leaves, as it stands.

    ``guards_before`` is what ``guards_so_far`` gave before the graph was rewritten.
    """
    fixed: list[tuple[int, int, int]] = []
    equal: list[tuple[int, int, int, int]] = []
    ranges: list[tuple[int, int, int, int | None]] = []
    first: dict[sympy.Symbol, tuple[int, int]] = {}
    placeholders = [node for node in exported.graph_module.graph.nodes if node.op == "placeholder"]
    for placeholder, source in zip(placeholders, exported.sources):
        value = placeholder.meta.get("val")
        if source.kind != "leaf" or not isinstance(value, torch.Tensor):
            continue
        for dim, size in enumerate(value.shape):
            expression = size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(int(size))
            if expression.is_number:
                fixed.append((source.index, dim, int(expression)))
            elif expression in first:
                equal.append((source.index, dim, *first[expression]))
            elif isinstance(expression, sympy.Symbol):
                first[expression] = (source.index, dim)
                ranges.extend(_range(exported.program, expression, source.index, dim))
    texts = _other_guards(exported.program) + _later_guards(exported, guards_before, first)
    return SizePredicate(tuple(fixed), tuple(equal), tuple(ranges), _compiled(texts), texts)


def _range(
    program: torch.export.ExportedProgram, symbol: sympy.Symbol, leaf: int, dim: int
) -> list[tuple[int, int, int, int | None]]:
    bounds = program.range_constraints.get(symbol)
    if bounds is None:
        return []
    low = int(bounds.lower) if isinstance(bounds.lower, sympy.Integer) else 0
    high = int(bounds.upper) if isinstance(bounds.upper, sympy.Integer) else None
    return [] if low <= 2 and high is None else [(leaf, dim, low, high)]


def _other_guards(program: torch.export.ExportedProgram) -> tuple[str, ...]:
    return tuple(text for text in getattr(program, "_guards_code", None) or () if not _COVERED.fullmatch(text))


def _later_guards(exported: ExportedOwner, before: int, first: dict[sympy.Symbol, tuple[int, int]]) -> tuple[str, ...]:
    """Conditions that rewriting added, beyond sizes that it fixed (those show in the shapes themselves)."""
    environment = _shape_environment(exported)
    texts = []
    for guard in environment.guards[before:] if environment is not None else ():
        condition = environment.simplify(guard.expr)
        if condition is sympy.true:
            continue
        names = {symbol: f"L['leaves'][{leaf}].size()[{dim}]" for symbol, (leaf, dim) in first.items()}
        if not condition.free_symbols <= names.keys():
            raise RewriteError(f"a rewrite holds only where {condition}, which no input's size decides")
        printed = PythonPrinter().doprint(condition)
        for symbol, name in names.items():
            printed = re.sub(rf"\b{symbol}\b", name, printed)
        texts.append(printed)
    return tuple(texts)


def _shape_environment(exported: ExportedOwner) -> Any:
    values = [node.meta.get("val") for node in exported.graph_module.graph.nodes if node.op == "placeholder"]
    mode = detect_fake_mode([value for value in values if isinstance(value, torch.Tensor)])
    return mode.shape_env if mode is not None else None


def _compiled(texts: tuple[str, ...]) -> Callable[[Sequence[Any]], bool] | None:
    """The guards as a function. Their text is torch's own, made of sizes and numbers, never of a rule file's."""
    if not texts:
        return None
    body = " and ".join(f"({text})" for text in texts)
    scope: dict[str, Any] = {"math": math, "torch": torch}
    exec(f"def guards(leaves):\n    L = {{'leaves': leaves}}\n    return {body}\n", scope)
    found: Callable[[Sequence[Any]], bool] = scope["guards"]
    return found
