"""Other shapes and dtypes for an in-file test, so that a claim is tried where its author did not look.

The test's dimensions are atoms: each distinct extent, and each literal of ``before`` that could be one. A variant
gives every atom a new value; one that is a multiple or a product of smaller atoms stays so (384 beside 12 and 32
becomes 5 * 80). Whether the guesses hold together is not argued but tried: ``before`` must have a value on the meta
device, and the rule must still match. Numbers that are no extents, such as what a mask is filled with, vary by
themselves: a pattern that takes any number must claim what is true of any.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import islice
from typing import Any, Final, get_args

import torch

from spyre_dsl.evidence.expressions import EvaluationError, Scope, evaluate
from spyre_dsl.language.adapter import TestCase, TestInput
from spyre_dsl.language.functions import FLOAT_DTYPES
from spyre_dsl.language.syntax import Expression, Keyword, ListExpression, Name, Number, walk

_EXTENTS: Final = (1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 32, 40, 48, 64, 80, 96, 128)
_LEAST_ATOM: Final = 4
"""Smaller literals are more likely dims, exponents or counts than extents."""

_OTHER_NUMBERS: Final = (0.25, 3.0)
_MOST_NUMBERS: Final = 3
"""How many numbers of a test are replaced, one at a time."""

_MOST_ELEMENTS: Final = 40_000
_DTYPES: Final = ("float16", "bfloat16", "float32")


def variants(case: TestCase, roots: Mapping[str, Any], seed: int, attempts: int = 200) -> Iterator[TestCase]:
    """``case`` itself, then versions of it with other extents, ranks and dtypes on which ``before`` has a value.

    ``roots`` is what ``stack``, ``config`` and ``self`` mean. Nothing comes twice.
    """
    seen = {_key(case)}
    yield case
    if case.before is None:
        return
    chance = random.Random(seed)
    for _ in range(attempts):
        variant = _variant(case, chance)
        if _key(variant) not in seen and _has_value(variant, roots):
            seen.add(_key(variant))
            yield variant


def other_numbers(case: TestCase) -> Iterator[TestCase]:
    """``case`` with one of the fractions (``0.5``, ``1e-6``, not ``2``) of ``before`` replaced by an ordinary number.

    Where the pattern or a guard asks for the number, the rule does not match what comes of it.
    """
    nodes = walk(case.before) if case.before is not None else ()
    found = dict.fromkeys(node.value for node in nodes if isinstance(node, Number) and isinstance(node.value, float))
    for old in islice(found, _MOST_NUMBERS):
        new = next(value for value in _OTHER_NUMBERS if value != old)
        yield replace(case, before=_with_number(case.before, old, new), after=None)


def _with_number(node: Any, old: float, new: float) -> Any:
    if isinstance(node, Number):
        return replace(node, value=new) if isinstance(node.value, float) and node.value == old else node
    if isinstance(node, tuple):
        return tuple(_with_number(item, old, new) for item in node)
    if isinstance(node, _NODES):
        return replace(node, **{part.name: _with_number(getattr(node, part.name), old, new) for part in fields(node)})
    return node


def _key(case: TestCase) -> Any:
    return case.inputs, case.before


def _variant(case: TestCase, chance: random.Random) -> TestCase:
    mapping = _new_extents(_atoms(case), _lists(case), chance)
    dtype = chance.choice((None, None, *_DTYPES))
    leading = chance.choice((None, None, None, "more", "fewer"))
    inputs = tuple(_changed(given, mapping, dtype, leading, chance.choice((2, 3))) for given in case.inputs)
    dtypes = {old.dtype: new.dtype for old, new in zip(case.inputs, inputs)}
    return replace(case, inputs=inputs, before=_rewritten(case.before, mapping, dtypes), after=None)


def _atoms(case: TestCase) -> list[int]:
    extents = {extent for given in case.inputs for extent in given.shape if extent > 1}
    literals = {
        node.value for node in walk(case.before) if isinstance(node, Number) and isinstance(node.value, int)
    } if case.before is not None else set()  # fmt: skip
    return sorted(extents | {value for value in literals if value >= _LEAST_ATOM})


def _lists(case: TestCase) -> list[tuple[int, ...]]:
    """The lists of plain numbers in ``before``, of which some say how an extent is cut."""
    found = [node.items for node in walk(case.before) if isinstance(node, ListExpression)] if case.before else []
    return [
        tuple(item.value for item in items)  # type: ignore[union-attr, misc]
        for items in found
        if len(items) > 1 and all(isinstance(item, Number) and isinstance(item.value, int) for item in items)
    ]


def _new_extents(atoms: Sequence[int], lists: Sequence[tuple[int, ...]], chance: random.Random) -> dict[int, int]:
    mapping: dict[int, int] = {}
    for atom in atoms:
        choices = _derived(atom, lists, mapping)
        mapping[atom] = chance.choice(choices) if choices else chance.choice((atom, *_EXTENTS))
    return mapping


def _derived(atom: int, lists: Sequence[tuple[int, ...]], mapping: Mapping[int, int]) -> list[int]:
    """The new values of an atom that is made of smaller ones: cut into parts, ``a * b``, or ``a`` a few times."""
    sums = [sum(mapping.get(part, part) for part in parts) for parts in lists if sum(parts) == atom]
    products = [mapping[a] * mapping[atom // a] for a in mapping if a > 1 and atom % a == 0 and atom // a in mapping]
    multiples = [mapping[a] * (atom // a) for a in mapping if a >= _LEAST_ATOM and atom % a == 0 and atom // a <= 8]
    return sums or products or multiples


def _changed(
    given: TestInput, mapping: Mapping[int, int], dtype: str | None, leading: str | None, extra: int
) -> TestInput:
    shape = tuple(mapping.get(extent, extent) for extent in given.shape)
    if leading == "more" and not given.parameter:
        shape = (extra, *shape)
    if leading == "fewer" and not given.parameter:
        shape = shape[1:]
    new_dtype = dtype if dtype is not None and given.dtype in FLOAT_DTYPES else given.dtype
    return replace(given, shape=shape, dtype=new_dtype)


_NODES: Final = (*get_args(Expression), Keyword)


def _rewritten(node: Any, mapping: Mapping[int, int], dtypes: Mapping[str, str], in_list: bool = False) -> Any:
    """The expression with its extents and dtypes replaced. A small number is an extent only in a list of sizes."""
    if isinstance(node, Number):
        known = isinstance(node.value, int) and (in_list or node.value >= _LEAST_ATOM)
        return replace(node, value=mapping.get(int(node.value), node.value)) if known else node
    if isinstance(node, Name):
        return replace(node, name=dtypes.get(node.name, node.name))
    if isinstance(node, tuple):
        return tuple(_rewritten(item, mapping, dtypes, in_list) for item in node)
    if isinstance(node, _NODES):
        inside = isinstance(node, ListExpression)
        parts = {part.name: getattr(node, part.name) for part in fields(node)}
        return replace(node, **{k: _rewritten(value, mapping, dtypes, inside) for k, value in parts.items()})
    return node


def _has_value(case: TestCase, roots: Mapping[str, Any]) -> bool:
    if sum(_elements(given.shape) for given in case.inputs) > _MOST_ELEMENTS:
        return False
    names = {
        given.name: torch.empty(given.shape, dtype=getattr(torch, given.dtype), device="meta") for given in case.inputs
    }
    assert case.before is not None
    try:
        evaluate(case.before, Scope(names=names, roots=roots))
    except EvaluationError:
        return False
    return True


def _elements(shape: Sequence[int]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count
