"""Two float64 results are one real number, or they are not."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from spyre_dsl.evidence.comparison import SHAKE, Bound, Sides, difference

inf, nan = torch.inf, torch.nan


def sides(formula, *inputs: torch.Tensor) -> Sides:
    generator = torch.Generator().manual_seed(0)
    noise = [1 + SHAKE * (2 * torch.rand(i.shape, generator=generator, dtype=torch.float64) - 1) for i in inputs]
    exact, coarse = [i.double() for i in inputs], [i.float() for i in inputs]
    return Sides(formula(*exact), formula(*coarse), formula(*(i * n for i, n in zip(exact, noise))))


def exactly(*values: float) -> Sides:
    tensor = torch.tensor(values, dtype=torch.float64)
    return Sides(tensor, tensor.float(), tensor)


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
    assert difference(before, inside, Bound(relative=1e-3)) is None
    assert difference(before, outside, Bound(relative=1e-3)) is not None


def test_an_absolute_bound_has_room_where_a_relative_one_has_none() -> None:
    before, after = exactly(1e-6, 0.0), exactly(2e-6, 5e-6)
    assert difference(before, after, Bound(relative=0.5)) is not None
    assert difference(before, after, Bound(absolute=1e-5)) is None
    assert difference(before, after, Bound(absolute=2e-6)) is not None


def test_the_bounds_are_added() -> None:
    bound = Bound(relative=1e-2, absolute=1e-2)
    assert difference(exactly(1.0), exactly(1.0199), bound) is None
    assert difference(exactly(1.0), exactly(1.0201), bound) is not None


def test_a_bound_allows_no_infinity() -> None:
    for after in (inf, nan):
        assert difference(exactly(1.0), exactly(after), Bound(absolute=1e300)) is not None


def test_under_a_relative_bound_the_worst_element_is_the_one_with_the_largest_relative_error() -> None:
    found = difference(exactly(100.0, 1.0), exactly(102.0, 1.5), Bound(relative=0.01))
    assert found is not None and found.index == (1,)


@pytest.mark.parametrize(
    ("bound", "numbers", "says"),
    [
        (Bound(relative=0.01), (1e-4, 5.5e-5), "relative error 0.45 > max_relative 0.01"),
        (Bound(relative=0.01), (0.0, 5e-5), "absolute error 5e-05 at 0 > max_relative 0.01"),
        (Bound(absolute=1e-5), (1e-4, 5.5e-5), "absolute error 4.5e-05 > max_absolute 1e-05"),
        (
            Bound(0.1, 1e-5), (1e-4, 5.5e-5),
            "absolute error 4.5e-05 > 2e-05 = max_absolute 1e-05 + max_relative 0.1 * 0.0001",
        ),
        (Bound(), (1.0, 2.0), ""),
        (Bound(relative=0.01), (1.0, inf), ""),
    ],
)  # fmt: skip
def test_a_broken_bound_is_told_with_the_error(bound: Bound, numbers: tuple[float, float], says: str) -> None:
    assert bound.broken(*numbers) == says


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


def test_overflow_of_the_shaken_side_says_nothing() -> None:
    largest = torch.tensor([1.7976931348623157e308], dtype=torch.float64)
    before = sides(lambda x: x * 1.0, largest)
    assert difference(before, sides(lambda x: x / 1.0, largest)) is None


def test_integers_and_truth_values_are_compared_as_they_are() -> None:
    left, right = torch.tensor([True, False]), torch.tensor([True, True])
    assert difference(Sides(left, left, left), Sides(left.clone(), left, left)) is None
    found = difference(Sides(left, left, left), Sides(right, right, right))
    assert found is not None and found.index == (1,)


def test_what_the_inputs_hardly_determine_may_come_out_differently() -> None:
    x = torch.full((4,), 1e9, dtype=torch.float64)
    before = sides(lambda x: torch.sin(x * 1e3), x)
    assert difference(before, sides(lambda x: torch.sin(x * 1e3 * (1 + 1e-15)), x)) is None
    assert difference(before, sides(lambda x: torch.sin(x * 1e3 * (1 + 1e-11)), x)) is not None


def test_a_number_without_dimensions_and_an_empty_tensor() -> None:
    assert difference(sides(lambda x: x, torch.tensor(2.0)), sides(lambda x: x + 1, torch.tensor(2.0))) is not None
    assert difference(sides(lambda x: x, torch.empty(0)), sides(lambda x: x + 1, torch.empty(0))) is None
