"""The ``math`` claims of an in-file test, tried over shapes, dtypes and values.

A test gives one shape; its variants (``spyre_dsl.evidence.variants``) give others. Each variant is captured, and what
the rules match there, guards and all, is tried on a few drawings of every kind of value. Counterexamples come from
the smallest variant on which the claim is false.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from spyre_dsl.evidence.claims import check_site
from spyre_dsl.evidence.matched import MatchedSite, claimed_sites
from spyre_dsl.evidence.models_of_tests import build
from spyre_dsl.evidence.module_claims import check_module_claims, module_rules
from spyre_dsl.evidence.operations import OperationError
from spyre_dsl.evidence.results import (
    Counterexample,
    Finding,
    Outcome,
    describe,
    failed,
    ok,
    place_of,
    refuted,
    skipped,
)
from spyre_dsl.evidence.variants import other_numbers, variants
from spyre_dsl.graphs.capture import CaptureError, capture
from spyre_dsl.language.adapter import Adapter, AdapterSet, TestCase

SHAPES: Final = 4
"""On how many shapes a claim is tried."""

CAPTURES: Final = 6
"""How many variants are captured at most to find those: the rule's guards may not hold for all."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard to try: at least ``trials`` drawings for each test, from ``seed`` on."""

    seed: int = 0
    trials: int = 48


def check_math(adapter: Adapter, case: TestCase, stack: Any, effort: Effort) -> Finding:
    """Try the claim of every rule of ``adapter`` that fires in ``case``, or matches in a variant of it."""
    about_ops = _check_op_claims(adapter, case, stack, effort)
    if about_ops.outcome is Outcome.FAILED or not module_rules(adapter):
        return about_ops
    about_modules = check_module_claims(adapter, case, stack, effort.seed)
    if Outcome.OK not in (about_ops.outcome, about_modules.outcome) or about_modules.outcome is Outcome.FAILED:
        return about_modules
    tried = about_ops.trials + about_modules.trials
    shapes = max(about_ops.shapes, about_modules.shapes)
    return ok(f"{tried} trials", trials=tried, shapes=shapes, rules=(*about_ops.rules, *about_modules.rules))


def _check_op_claims(adapter: Adapter, case: TestCase, stack: Any, effort: Effort) -> Finding:
    seed = effort.seed + zlib.crc32((case.name or "").encode()) % 10_000
    found = sorted(_matched_variants(adapter, case, stack, seed), key=lambda variant: _elements(variant[0]))
    tried = 0
    rules: set[str] = set()
    for each, sites in found:
        share = -(-effort.trials // (len(found) * len(sites)))
        for place, matched in enumerate(sites):
            made, wrong = _try(matched, seed + 1000 * place, share, first=tried)
            tried += made
            rules.add(matched.rule.name)
            if wrong is not None:
                return _failure(matched, each, wrong, tried)
    if not tried:
        return skipped("no claim to check")
    return ok(f"{tried} trials", trials=tried, shapes=len(found), rules=tuple(sorted(rules)))


def _matched_variants(
    adapter: Adapter, case: TestCase, stack: Any, seed: int
) -> Iterator[tuple[TestCase, Sequence[MatchedSite]]]:
    """Variants of ``case`` in which a rule with a claim matches: up to ``SHAPES`` shapes, and then other numbers."""
    shapes = islice(variants(case, {"stack": stack}, seed), CAPTURES)
    yield from islice(_matching(adapter, shapes, stack), SHAPES)
    yield from _matching(adapter, other_numbers(case), stack)


def _matching(
    adapter: Adapter, cases: Iterable[TestCase], stack: Any
) -> Iterator[tuple[TestCase, Sequence[MatchedSite]]]:
    every = ((each, _sites(adapter, each, stack)) for each in cases)
    return (variant for variant in every if variant[1])


def _try(matched: MatchedSite, seed: int, trials: int, first: int) -> tuple[int, Counterexample | None]:
    try:
        return check_site(matched.site, seed=seed, trials=trials, first=first)
    except OperationError as problem:
        return 0, Counterexample((), "", seed, reason=f"the original has no value here: {problem}")


def _sites(adapter: Adapter, case: TestCase, stack: Any) -> Sequence[MatchedSite]:
    model = build(case, {"stack": stack})
    try:
        captured = capture(model.module, (), model.inputs)
    except CaptureError:
        return ()
    return tuple(claimed_sites(captured, AdapterSet((adapter,)), stack))


def _elements(case: TestCase) -> int:
    total = 0
    for given in case.inputs:
        count = 1
        for extent in given.shape:
            count *= extent
        total += count
    return total


def _failure(matched: MatchedSite, case: TestCase, wrong: Counterexample, tried: int) -> Finding:
    inputs = ", ".join(f"{given.name}: {given.dtype}{list(given.shape)}" for given in case.inputs)
    claim = matched.site.claim
    return failed(
        refuted(claim.kind, wrong), f"rule {matched.rule.name}, inputs {inputs}", *describe(wrong),
        counterexample=wrong, trials=tried, place=place_of(matched.adapter.source, claim.span),
    )  # fmt: skip
