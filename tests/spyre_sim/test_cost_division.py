"""Work division: spans, the planner's matmul cost, and padded vocabularies (facts W1-W5, M20, T19)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spyre_sim.cost import (
    Axis,
    Division,
    DivisionError,
    Operand,
    PlannerRates,
    checked_cores,
    core_split,
    distribute,
    divide_matmul,
    generic_split,
    largest_prime_factor,
    max_residual_sticks,
    reduce_spans,
    smooth_vocabulary,
    span,
    split_cost,
)
from spyre_sim.cost.division import MAX_SPAN_BYTES

# ---- cores


@pytest.mark.parametrize("cores", [0, 33, -1])
def test_cores_are_1_to_32(cores):
    with pytest.raises(DivisionError, match=f"invalid SENCORES value {cores}"):  # W1
        checked_cores(cores)
    assert checked_cores(32) == 32


@pytest.mark.parametrize(("extent", "split"), [(12, 12), (64, 32), (100, 25), (37, 1), (1, 1), (769, 1), (200, 25)])
def test_a_dim_takes_the_largest_divisor_of_cores(extent, split):
    assert core_split(extent, 32) == split  # W5


# ---- spans


def head(sticks, hidden):
    """The weight of an output head as the loader lays it out: sticks of vocabulary, then rows (L30)."""
    return Operand("weight", ("n", "k"), (sticks, hidden)), [Axis("n", sticks), Axis("k", hidden // 64, reduction=True)]


def test_the_span_runs_from_the_outermost_dim_of_more_than_one_step():
    operand = Operand("x", ("a", "b"), (4, 512))
    assert span(operand, {}) == 4 * 512 * 128  # W2
    assert span(operand, {"a": 2}) == 2 * 512 * 128
    assert span(operand, {"a": 4}) == 512 * 128
    assert span(operand, {"a": 4, "b": 2}) == 256 * 128
    assert span(operand, {"b": 2}) == 4 * 512 * 128  # inner splits do not shorten it


def test_a_span_within_the_limit_needs_no_split():
    weight, axes = head(800, 2048)
    assert reduce_spans(axes, [weight]) == Division({})


def test_the_fewest_cores_that_bring_the_span_within_the_limit():
    weight, axes = head(2375, 2048)
    found = reduce_spans(axes, [weight])
    assert found.splits["n"] == 5  # of 5, 19 and 25
    assert not found.overflowing


def test_a_vocabulary_with_a_large_prime_overflows_and_the_stack_goes_on():
    weight, axes = head(2374, 2048)  # 2 * 1187
    found = reduce_spans(axes, [weight])
    assert found.splits["n"] == 2
    assert span(weight, found.splits) == 1187 * 2048 * 128  # T19: 297 MB
    assert found.overflowing == ("weight",)  # S29, W3


def test_two_reduction_dims_cannot_be_split():
    axes = [Axis("r", 8192, reduction=True), Axis("s", 8192, reduction=True)]
    operands = [Operand("x", ("r",), (8192,), 2**16), Operand("y", ("s",), (8192,), 2**16)]
    with pytest.raises(DivisionError, match=r"without splitting 2 reduction dimension\(s\) \(r, s\), but the backend"):
        reduce_spans(axes, operands)


def test_a_split_that_does_not_fit_beside_the_committed_ones():
    axes = [Axis("a", 31), Axis("b", 4096)]
    operands = [Operand("x", ("a",), (31,), 2**24), Operand("y", ("b", ""), (4096, 4096), 128)]
    assert reduce_spans(axes, operands).splits["a"] == 31
    assert reduce_spans(axes, operands).overflowing == ("y",)


@given(st.integers(1, 4000), st.sampled_from([512, 1024, 2048, 4096]))
def test_no_valid_split_within_the_limit_is_overlooked(sticks, hidden):
    weight, axes = head(sticks, hidden)
    found = reduce_spans(axes, [weight])
    possible = any(span(weight, {"n": n}) <= MAX_SPAN_BYTES for n in range(1, 33) if sticks % n == 0)
    assert bool(found.overflowing) != possible
    assert found.cores <= 32


# ---- distribution


def test_outputs_first_by_size_then_one_reduction_dim():
    axes = [Axis("m", 8), Axis("n", 12), Axis("k", 64, reduction=True), Axis("l", 2, reduction=True)]
    assert distribute(axes).splits == {"n": 12, "m": 2}  # 12 then 2 of the 8: 24 cores leave room for nothing
    assert distribute([Axis("m", 4), Axis("k", 64, reduction=True)]).splits == {"m": 4, "k": 8}


def test_committed_splits_are_minimums():
    assert distribute([Axis("m", 64), Axis("n", 8)], {"n": 4}).splits == {"n": 4, "m": 8}


@given(st.lists(st.integers(1, 300), min_size=1, max_size=4), st.integers(1, 32))
def test_a_distribution_divides_every_dim_and_fits_the_cores(extents, cores):
    axes = [Axis(f"v{i}", n, reduction=i == 3) for i, n in enumerate(extents)]
    found = distribute(axes, {}, cores)
    assert found.cores <= cores
    assert all(axis.extent % found.splits.get(axis.name, 1) == 0 for axis in axes)


# ---- matmul


def test_the_planner_reckons_with_the_rates_of_the_profile():
    twice = PlannerRates(mac_per_us=2 * 1_536_000.0, hbm_gb_s=2 * 204.8)
    whole = (1, 1024, 1024, 1024, (1, 1, 1, 1))
    assert split_cost(*whole, twice) == pytest.approx(split_cost(*whole) / 2)


def test_the_cost_of_a_split_by_hand():
    assert split_cost(1, 64, 64, 64, (1, 1, 1, 1)) == pytest.approx(64**3 / 1_536_000 + 3 * 64 * 64 * 2 / 204_800)  # W4
    compute = 64**3 / 8 / (1_536_000 * math.sqrt(1 / 8))
    assert split_cost(1, 64, 64, 64, (1, 8, 1, 1)) == pytest.approx(compute + 0.12 + 3 * 50)  # one pass: a tie of 150


def test_splitting_the_contraction_pays_for_partial_sums():
    whole, halves = (split_cost(1, 512, 512, 4096, (1, 1, 1, k)) for k in (1, 2))
    compute = 512 * 512 * 4096 / 1_536_000
    assert halves - whole == pytest.approx(512 * 512 * 1.4e-4 - compute / 2)


def test_splitting_batches_is_dear():
    single = split_cost(4, 512, 512, 64, (1, 1, 1, 1))
    assert split_cost(4, 512, 512, 64, (2, 1, 1, 1)) > single / 2 * 2**1.4 * 0.5


def test_the_published_product_is_split_in_rows_and_columns():
    found = divide_matmul(1, 1024, 12800, 4096)
    assert (found.b, found.m, found.n, found.k, found.cores) == (1, 4, 8, 1, 32)
    assert generic_split(2, 512, 12800, 4096).m == 32


def test_a_weight_shared_by_a_batch_is_declined():
    assert divide_matmul(2, 512, 12800, 4096, shared_weight=True) is None  # W4: two candidates for the rows


def test_a_split_that_would_use_fewer_cores_is_declined():
    found = divide_matmul(1, 4, 64, 64)
    assert found is None or found.cores >= generic_split(1, 4, 64, 64).cores


# ---- vocabularies


@pytest.mark.parametrize(
    ("vocabulary", "hidden", "padded"),
    [
        (151936, 2048, 152000),  # 2375 = 5^3 * 19 sticks instead of 2 * 1187 (M20, D16)
        (151936, 1024, 151936),
        (151936, 1536, 151936),
        (152064, 2048, 152064),  # 2376 = 2^3 * 3^3 * 11
        (49216, 1024, 49216),
    ],
)
def test_the_smooth_vocabulary(vocabulary, hidden, padded):
    assert smooth_vocabulary(vocabulary, hidden) == padded


@pytest.mark.parametrize(("hidden", "sticks"), [(1024, 2048), (1536, 1365), (2048, 1024), (4096, 512)])
def test_the_most_sticks_a_core_addresses(hidden, sticks):
    assert max_residual_sticks(hidden) == sticks  # M20


def test_a_hidden_size_that_fills_the_span_with_one_stick():
    with pytest.raises(ValueError, match="no stick count fits"):
        smooth_vocabulary(100, 2**21)


@given(st.integers(1, 100_000))
def test_largest_prime_factor(number):
    factor = largest_prime_factor(number)
    assert number % factor == 0
    assert factor == 1 or all(factor % n for n in range(2, math.isqrt(factor) + 1))
