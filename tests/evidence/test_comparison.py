"""Two float64 results are one real number, or they are not."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from spyre_dsl.evidence.comparison import Sides, difference

inf, nan = torch.inf, torch.nan


def sides(formula, *inputs: torch.Tensor) -> Sides:
    return Sides(formula(*(i.double() for i in inputs)), formula(*(i.float() for i in inputs)))


def exactly(*values: float) -> Sides:
    tensor = torch.tensor(values, dtype=torch.float64)
    return Sides(tensor, tensor.float())


@given(st.integers(0, 10_000), st.sampled_from([1e-6, 1.0, 1e4]))
def test_a_sum_in_another_order_is_the_same_number(seed: int, scale: float) -> None:
    x = torch.randn(4, 100, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * scale
    before = sides(lambda x: x.sum(-1), x)
    after = sides(lambda x: x.flip(-1).cumsum(-1)[..., -1], x)
    assert difference(before, after) is None


@given(st.integers(0, 10_000))
def test_cancellation_is_rounding_and_no_difference(seed: int) -> None:
    x = torch.rand(50, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    before, after = sides(lambda x: (1e6 + x) - 1e6, x), sides(lambda x: x * 1.0, x)
    assert difference(before, after) is None


@given(st.integers(0, 10_000), st.sampled_from([1e-9, 1e-6, 1e-3]))
def test_a_small_relative_error_is_a_difference(seed: int, error: float) -> None:
    x = torch.rand(50, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 0.5
    found = difference(sides(lambda x: x * x, x), sides(lambda x: x * x * (1 + error), x))
    assert found is not None and found.allowed < abs(found.after - found.before)


def test_an_approximate_claim_has_room_up_to_its_bound() -> None:
    before, inside, outside = exactly(100.0), exactly(100.09), exactly(100.11)
    assert difference(before, inside, max_relative=1e-3) is None
    assert difference(before, outside, max_relative=1e-3) is not None


def test_the_worst_element_is_named() -> None:
    found = difference(exactly(1.0, 2.0, 3.0), exactly(1.0, 2.5, 3.1))
    assert found is not None
    assert (found.index, found.before, found.after) == ((1,), 2.0, 2.5)


def test_infinities_and_nans_must_stand_in_the_same_places() -> None:
    assert difference(exactly(inf, -inf, nan, 1.0), exactly(inf, -inf, nan, 1.0)) is None
    for left, right in [(inf, -inf), (inf, 1e300), (1.0, nan), (nan, 1.0), (nan, inf)]:
        assert difference(exactly(left), exactly(right)) is not None, (left, right)


def test_zero_has_no_sign() -> None:
    assert difference(exactly(0.0), exactly(-0.0)) is None


def test_overflow_of_the_coarse_side_says_nothing() -> None:
    big = torch.tensor([1e30], dtype=torch.float64)
    before = sides(lambda x: x * x * x, big)
    assert not before.coarse.isfinite().all()
    assert difference(before, sides(lambda x: x * (x * x), big)) is None
    assert difference(before, sides(lambda x: x * x * x * 1.001, big)) is not None


def test_integers_and_truth_values_are_compared_as_they_are() -> None:
    left, right = torch.tensor([True, False]), torch.tensor([True, True])
    assert difference(Sides(left, left), Sides(left.clone(), left)) is None
    found = difference(Sides(left, left), Sides(right, right))
    assert found is not None and found.index == (1,)


def test_a_number_without_dimensions_and_an_empty_tensor() -> None:
    assert difference(sides(lambda x: x, torch.tensor(2.0)), sides(lambda x: x + 1, torch.tensor(2.0))) is not None
    assert difference(sides(lambda x: x, torch.empty(0)), sides(lambda x: x + 1, torch.empty(0))) is None
