"""Is a rule's ``math`` claim true where the rule matched?

The captures are given seeded random values in float64, within the range of the dtypes that they are declared with;
the pattern's root is computed from them along the captured graph, the rewrite along its expression, and the two must
be the same real number (``spyre_dsl.evidence.comparison`` says what rounding may do). What the captures hold in the
model plays no part: a claim is about the rule.

``exact`` covers infinities and NaNs: they must come out in the same places. A rewrite that multiplies by a zero
where the original has no product (``0 * inf`` is NaN) has to say so: ``math: {exact: {unless: [nonfinite]}}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.utils import _pytree as pytree

from spyre_dsl.evidence.comparison import SHAKE, Difference, Sides, agree, bound_of, difference
from spyre_dsl.evidence.expressions import EvaluationError, Scope, evaluate, evaluate_lets
from spyre_dsl.evidence.graph_values import GraphValues, Sizes, shape_of
from spyre_dsl.evidence.operations import OperationError
from spyre_dsl.evidence.results import CapturedValue, Counterexample
from spyre_dsl.evidence.tensors import Lifted, LiftedTensors
from spyre_dsl.evidence.values import Kind, draw, kinds_for
from spyre_dsl.graphs.node import Node, Value
from spyre_dsl.language.adapter import MathClaim, OpRewrite

Drawn = Mapping[Node, torch.Tensor]
"""A float64 (or bool, or int) tensor for every captured node."""

REALS, COARSE = LiftedTensors(torch.float64), LiftedTensors(torch.float32)


@dataclass(frozen=True)
class Site:
    """A place where a rule matched, with the extents at which its claim is tried."""

    root: Node
    bindings: Mapping[str, Value]
    rewrite: OpRewrite
    claim: MathClaim
    sizes: Sizes
    roots: Mapping[str, Any] = field(default_factory=dict)

    def captured(self) -> tuple[Node, ...]:
        """The captured tensors, each once."""
        leaves = (leaf for value in self.bindings.values() for leaf in pytree.tree_leaves(value))
        return tuple(dict.fromkeys(leaf for leaf in leaves if isinstance(leaf, Node) and leaf.dtype))


def check_site(site: Site, *, seed: int, trials: int, first: int = 0) -> tuple[int, Counterexample | None]:
    """Try the claim on ``trials`` drawings, from kind number ``first`` on: how many were made, and a failure if any."""
    kinds = kinds_for(site.claim.unless)
    for trial in range(trials):
        kind = kinds[(first + trial) % len(kinds)]
        drawn = _draw_all(site, kind, seed + trial)
        problem = _problem(site, drawn, seed + trial)
        if problem is not None:
            simple = _simplify(site, drawn, seed + trial)
            return trial + 1, replace(
                _counterexample(site, simple, kind, seed + trial), broken_as_drawn=_broken(site, problem)
            )
    return trials, None


def _draw_all(site: Site, kind: Kind, seed: int) -> dict[Node, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {
        node: draw(kind, shape_of(node, site.sizes), getattr(torch, node.dtype), generator)
        for node in site.captured()
    }


def _problem(site: Site, drawn: Drawn, seed: int) -> Difference | str | None:
    """What is wrong on these values: a difference, or a reason why there are no two numbers to compare."""
    exact = _both(site, drawn, seed)
    if isinstance(exact, str):
        return exact
    left, right = exact
    if left.declared.shape != right.declared.shape:
        return f"the rewrite has shape {list(right.declared.shape)}, the original {list(left.declared.shape)}"
    if left.declared.dtype != right.declared.dtype:
        return f"the rewrite has dtype {_name(right.declared.dtype)}, the original {_name(left.declared.dtype)}"
    if agree(left.value, right.value):
        return None
    coarse, shaken = _both(site, drawn, seed, COARSE), _both(site, _shaken(drawn, seed), seed)
    if isinstance(coarse, str) or isinstance(shaken, str):
        return coarse if isinstance(coarse, str) else str(shaken)
    before, after = (
        Sides(fine.value, rough.value, moved.value) for fine, rough, moved in zip(exact, coarse, shaken)
    )  # fmt: skip
    return difference(before, after, bound_of(site.claim))


def _shaken(drawn: Drawn, seed: int) -> Drawn:
    generator = torch.Generator().manual_seed(seed)
    return {node: _off_by_a_little(value, generator) for node, value in drawn.items()}


def _off_by_a_little(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    if not value.is_floating_point():
        return value
    return value * (1.0 + SHAKE * (2.0 * torch.rand(value.shape, generator=generator, dtype=torch.float64) - 1.0))


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _both(
    site: Site, drawn: Drawn, seed: int, tensors: LiftedTensors = REALS
) -> tuple[Lifted, Lifted] | str:
    """The pattern's root and the rewrite on these values, or why the rewrite has no value."""
    given = {node: tensors.lift(value, getattr(torch, node.dtype)) for node, value in drawn.items()}
    graph = GraphValues(tensors, site.sizes, given, _leaf_maker(tensors, site.sizes, seed))
    before = graph.node(site.root)
    captures = {name: graph.value(value) for name, value in site.bindings.items()}
    parameters = frozenset(id(value) for node, value in given.items() if node.is_constant)
    dtype = before.declared.dtype if before.declared.dtype.is_floating_point else torch.float32
    scope = Scope(captures=captures, roots=site.roots, tensors=tensors, parameters=parameters, dtype=dtype)
    try:
        after = evaluate(site.rewrite.expression, evaluate_lets(site.rewrite.let, scope))
    except (EvaluationError, OperationError) as problem:
        return f"the rewrite has no value here: {problem}"
    if not isinstance(after, Lifted):
        return f"the rewrite is no tensor but {after!r}"
    return before, after


def _leaf_maker(tensors: LiftedTensors, sizes: Sizes, seed: int) -> Any:
    generator = torch.Generator().manual_seed(seed)

    def make(node: Node) -> Lifted:
        dtype = getattr(torch, node.dtype)
        return tensors.lift(draw(Kind("normal"), shape_of(node, sizes), dtype, generator), dtype)

    return make


def _simplify(site: Site, drawn: Drawn, seed: int) -> dict[Node, torch.Tensor]:
    """Simpler values on which the claim is still false: fewer distinct numbers, rounder ones, more zeros."""
    current = dict(drawn)
    for node in site.captured():
        for simpler in _simpler(current[node]):
            attempt = {**current, node: simpler}
            if _problem(site, attempt, seed) is not None:
                current = attempt
                break
    return current


def _simpler(values: torch.Tensor) -> list[torch.Tensor]:
    if not values.is_floating_point():
        return [torch.ones_like(values)]
    return [torch.zeros_like(values), torch.ones_like(values), torch.full_like(values, 2.0), values.round()]


def _counterexample(site: Site, drawn: Drawn, kind: Kind, seed: int) -> Counterexample:
    problem = _problem(site, drawn, seed)
    shown = tuple(_shown(name, value, site, drawn) for name, value in site.bindings.items())
    if isinstance(problem, Difference):
        return Counterexample(
            shown, kind.name, seed, problem.index, problem.before, problem.after, problem.allowed,
            broken=_broken(site, problem),
        )  # fmt: skip
    return Counterexample(shown, kind.name, seed, reason=problem or "")


def _broken(site: Site, problem: Difference | str | None) -> str:
    return bound_of(site.claim).broken(problem.before, problem.after) if isinstance(problem, Difference) else ""


def _shown(name: str, value: Value, site: Site, drawn: Drawn) -> CapturedValue:
    if isinstance(value, Node) and value in drawn:
        return CapturedValue(name, value.dtype, shape_of(value, site.sizes), _text(drawn[value]))
    return CapturedValue(name, "", (), str(value))


def _text(values: torch.Tensor) -> str:
    if values.numel() and bool((values == values.reshape(-1)[0]).all()):
        return f"all {values.reshape(-1)[0].item():g}"
    flat = [f"{number:.6g}" for number in values.reshape(-1)[:8].tolist()]
    return f"[{', '.join(flat)}{', ...' if values.numel() > 8 else ''}]"
