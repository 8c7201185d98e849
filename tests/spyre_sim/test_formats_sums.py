"""Sums and means of rows: the published figures to the bit, and the loop against its twin (facts A1, A10, S47)."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from spyre_sim.formats import encode_dl16, round_dl16, to_host, values_from_host
from spyre_sim.formats.sums import sum_rows, sum_rows_numpy
from spyre_sim.stacks import load_stack

JUNE_1ST = load_stack("2026-06-01")  # the day of issue #2400, before the copies were rewritten


@pytest.fixture(scope="module")
def tiny():
    """The input of #2400: 0.001 * randn(4096) of seed 42 in float16, whose squares add up to 4.0634e-03."""
    values = (torch.randn(4096, generator=torch.Generator().manual_seed(42)) * 0.001).to(torch.float16).numpy()
    assert float((values.astype(np.float64) ** 2).sum()) == pytest.approx(4.0634e-03, rel=2e-5)
    return values


def squares(values, dtype):
    grid = values_from_host(values.astype(dtype), JUNE_1ST)
    return round_dl16(grid * grid)


def read(value, dtype):
    return float(to_host(encode_dl16(value), dtype, JUNE_1ST).astype(np.float64))


@pytest.mark.parametrize(("dtype", "total"), [("float16", 4.0741e-03), ("bfloat16", 4.0588e-03)])
def test_the_published_sums(tiny, dtype, total):
    host = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
    assert read(sum_rows(squares(tiny, host)), dtype) == pytest.approx(total, rel=2e-5)  # A10


@pytest.mark.parametrize(("dtype", "mean"), [("float16", 1.8120e-05), ("bfloat16", 6.1467e-07)])
def test_the_published_means(tiny, dtype, mean):
    """0.6 of the truth, since small elements vanish when 1/N multiplies them; in float16 the readback does the rest."""
    host = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
    on_device = sum_rows(squares(tiny, host), 1 / 4096)
    assert on_device == pytest.approx(0.62 * 9.92e-07, rel=0.01)
    assert read(on_device, dtype) == pytest.approx(mean, rel=3e-5)  # A10, S47: 18.265 times too large


def test_the_published_quotient_of_sum_and_length(tiny):
    quotient = round_dl16(sum_rows(squares(tiny, np.float16)) / np.float32(4096))
    assert read(quotient, "float16") == pytest.approx(2.6226e-06, rel=2e-5)  # A10: 2.644 times


def test_small_integers_are_added_exactly():
    values = np.random.default_rng(0).integers(-4, 5, (40, 64)).astype(np.float32)
    assert np.array_equal(sum_rows(values), values.sum(-1))  # A1


def test_an_empty_row_and_a_row_of_one():
    assert sum_rows(np.zeros((2, 0), np.float32)).tolist() == [0, 0]
    assert sum_rows(np.float32([[3], [4]])).tolist() == [3, 4]
    assert sum_rows(np.float32([1, 2, 3])).shape == ()


def test_a_factor_loses_what_falls_below_the_smallest_number():
    values = np.full((1, 64), 2.0**-20, np.float32)
    assert sum_rows(values, 2.0**-12) == 0
    assert sum_rows(values) * np.float32(2.0**-12) > 0


@settings(deadline=None, max_examples=60)
@given(
    hnp.arrays(np.float32, st.tuples(st.integers(1, 3), st.integers(0, 300)), elements=st.floats(-100, 100, width=32)),
    st.sampled_from([1.0, 1 / 4096, 1 / 384, 1 / 3]),
)
def test_the_compiled_loop_equals_its_numpy_twin_word_for_word(values, factor):
    grid = round_dl16(values)
    assert np.array_equal(encode_dl16(sum_rows(grid, factor)), encode_dl16(sum_rows_numpy(grid, factor)))


def test_relative_error_stays_within_a_few_units():
    values = round_dl16(np.abs(np.random.default_rng(1).standard_normal((20, 1024))).astype(np.float32))
    exact = values.astype(np.float64).sum(-1)
    assert (np.abs(sum_rows(values) - exact) <= exact * 2.0**-7).all()
