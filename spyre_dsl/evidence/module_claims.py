"""The claims of rules that change a module (``forward``, ``parameters``, ``attributes``, ``config``, ``use``).

There is no expression on the other side, so the module of the test is run as a whole, stock and patched, in float64 on
drawn inputs. Modules may compute in float32 inside whatever they are given, so the two may differ by what float32 makes
of it: ``FLOAT32_ROUNDING`` of the largest number of each result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import torch
from torch.utils import _pytree as pytree

from spyre_dsl.evidence.comparison import Difference, Sides, bound_of, difference
from spyre_dsl.evidence.models_of_tests import TestModel, build
from spyre_dsl.evidence.results import (
    CapturedValue,
    Counterexample,
    Finding,
    describe,
    failed,
    ok,
    place_of,
    refuted,
    skipped,
)
from spyre_dsl.evidence.values import Kind, draw, kinds_for
from spyre_dsl.language.adapter import Adapter, AdapterSet, MathClaim, OpRewrite, PlaceRewrite, Rule, TestCase
from spyre_dsl.patching.plan import plan

FLOAT32_ROUNDING: Final = 1e-5
TRIALS: Final = 8


def module_rules(adapter: Adapter) -> tuple[Rule, ...]:
    """The rules of an adapter that change a module and make a claim about it."""
    return tuple(
        rule for rule in adapter.rules if rule.math and not isinstance(rule.rewrite, (OpRewrite, PlaceRewrite))
    )


def check_module_claims(adapter: Adapter, case: TestCase, stack: Any, seed: int) -> Finding:
    """Try the claims of the module rules that fire in the module of ``case``."""
    if case.module is None or not module_rules(adapter):
        return skipped("no claim to check")
    stock, patched = (_in_float64(build(case, {"stack": stack}, seed)) for _ in range(2))
    made = plan(patched.module, AdapterSet((adapter,)), (), dict(patched.inputs), stack=stack)
    fired = {patch.rule for patch in made.patches}
    rules = [rule for rule in module_rules(adapter) if rule.name in fired]
    if not rules:
        return skipped("the rule does not fire in float64")
    claim = _weakest([rule.math for rule in rules if rule.math])
    with made.applied(patched.module):
        for trial in range(TRIALS):
            kind = kinds_for(claim.unless)[trial % len(kinds_for(claim.unless))]
            inputs = _drawn(stock.inputs, case, kind, seed + trial)
            wrong = _differ(TestModel(stock.module, inputs), TestModel(patched.module, inputs), claim)
            if wrong is not None:
                shown = _counterexample(inputs, kind, seed + trial, wrong, claim)
                names = ", ".join(rule.name for rule in rules)
                return failed(
                    refuted(claim.kind, shown), f"rule {names}", *describe(shown),
                    counterexample=shown, trials=trial + 1, place=place_of(adapter.source, claim.span),
                )  # fmt: skip
    return ok(f"{TRIALS} trials", trials=TRIALS, shapes=1, rules=tuple(rule.name for rule in rules))


def _in_float64(model: TestModel) -> TestModel:
    return TestModel(model.module.double(), {name: _double(value) for name, value in model.inputs.items()})


def _double(value: torch.Tensor) -> torch.Tensor:
    return value.double() if value.is_floating_point() else value


def _weakest(claims: list[MathClaim]) -> MathClaim:
    """What holds if all of these do: the largest errors, and every exception. It stands where the loosest one does."""
    unless = tuple(dict.fromkeys(name for claim in claims for name in claim.unless))
    relative = max((claim.max_relative for claim in claims if claim.max_relative is not None), default=None)
    absolute = max((claim.max_absolute for claim in claims if claim.max_absolute is not None), default=None)
    loosest = max(claims, key=lambda claim: (claim.kind == "approximate", claim.max_relative or 0.0))
    return MathClaim(loosest.kind, relative, unless, absolute, loosest.span)


def _drawn(inputs: Mapping[str, torch.Tensor], case: TestCase, kind: Kind, seed: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    declared = {given.name: getattr(torch, given.dtype) for given in case.inputs}
    return {
        name: draw(kind, tuple(value.shape), declared[name], generator) if value.is_floating_point() else value
        for name, value in inputs.items()
    }


def _differ(stock: TestModel, patched: TestModel, claim: MathClaim) -> Difference | None:
    for left, right in zip(pytree.tree_leaves(stock.run()), pytree.tree_leaves(patched.run()), strict=True):
        if isinstance(left, torch.Tensor):
            largest = torch.where(left.double().isfinite(), left.double(), 0.0).abs().max() if left.numel() else 0.0
            room = _sides(left, FLOAT32_ROUNDING * float(largest))
            found = difference(room, _sides(right, 0.0), bound_of(claim))
            if found is not None:
                return found
    return None


def _sides(value: torch.Tensor, room: float) -> Sides:
    """A result that counts as moved by ``room`` where rounding is measured."""
    wide = _double(value)
    return Sides(wide, wide, wide + room / 4 if wide.is_floating_point() else wide)


def _counterexample(
    inputs: Mapping[str, torch.Tensor], kind: Kind, seed: int, wrong: Difference, claim: MathClaim
) -> Counterexample:
    shown = tuple(
        CapturedValue(name, str(value.dtype).removeprefix("torch."), tuple(value.shape), "drawn")
        for name, value in inputs.items()
    )
    broken = bound_of(claim).broken(wrong.before, wrong.after)
    return Counterexample(shown, kind.name, seed, wrong.index, wrong.before, wrong.after, wrong.allowed, broken=broken)
