"""Values are seeded, stay within their dtype, and reach its edges."""

from __future__ import annotations

import pytest
import torch

from spyre_dsl.evidence.values import EXCEPTIONS, HUGE, KINDS, MASKED_ROWS, NONFINITE, draw, kinds_for

FLOATS = [torch.float16, torch.bfloat16, torch.float32]


def drawn(kind, shape=(16, 64), dtype=torch.float16, seed=0) -> torch.Tensor:
    return draw(kind, shape, dtype, torch.Generator().manual_seed(seed))


def named(name: str):
    return next(kind for kind in KINDS if kind.name == name)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_values_repeat_with_their_seed_and_fit_their_dtype(kind, dtype) -> None:
    values = drawn(kind, dtype=dtype)
    assert values.dtype == torch.float64 and values.shape == (16, 64)
    assert torch.equal(values, drawn(kind, dtype=dtype)) or values.isnan().any()
    finite = values[values.isfinite()]
    assert finite.abs().max() <= torch.finfo(dtype).max


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3)])
def test_every_shape_can_be_drawn(kind, shape) -> None:
    for dtype in (torch.float16, torch.bool, torch.int64):
        assert drawn(kind, shape, dtype).shape == shape


def test_edges_reach_the_ends_of_the_dtype() -> None:
    values = set(drawn(named("edges")).reshape(-1).tolist())
    assert {65504.0, -65504.0, 0.0, 2.0**-24, 2.0**-14} <= values


def test_nonfinite_values_are_among_ordinary_ones() -> None:
    one = drawn(named("one nonfinite"))
    assert int((~one.isfinite()).sum()) == 1
    assert int((~drawn(named("many nonfinite")).isfinite()).sum()) > 10


def test_a_mask_lets_something_through_in_every_row_unless_asked() -> None:
    for seed in range(20):
        assert drawn(named("normal"), (8, 4), torch.bool, seed).any(-1).all()
        assert not drawn(named("masked rows"), (8, 4), torch.bool, seed).any(-1).all()


def test_what_a_claim_leaves_out_is_not_drawn() -> None:
    assert kinds_for(()) == KINDS
    for exception in EXCEPTIONS:
        assert set(kinds_for((exception,))) < set(KINDS)
    quiet = kinds_for((NONFINITE, HUGE, MASKED_ROWS))
    for kind in quiet:
        values = drawn(kind)
        assert values.isfinite().all() and values.abs().max() < 100
