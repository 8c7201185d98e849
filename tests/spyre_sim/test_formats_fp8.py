"""FP8 and element arrangements (facts N40-N49, N60-N62)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spyre_sim.formats import (
    ElementArrangement,
    arrangement_after,
    decode_fp8,
    encode_fp8,
    per_token_scale,
    stagger,
    stagger_sticks,
    unstagger,
)


def test_values_are_clamped_to_448():
    assert decode_fp8(encode_fp8(np.float32([500, -500, 1000]))).tolist() == [448, -448, 448]  # N60


def test_scaled_by_the_reciprocal_of_a_tenth():
    scaled = np.float32([1, -1, 50]) * np.reciprocal(np.float32(0.1))
    assert decode_fp8(encode_fp8(scaled)).tolist() == [10, -10, 448]  # N60


def test_round_trip_within_the_published_tolerance():
    values = np.random.default_rng(0).normal(1, 2, (1, 128, 512)).astype(np.float32)
    back = decode_fp8(encode_fp8(values))
    assert (np.abs(back - values) <= 0.5 + 0.1 * np.abs(values)).all()  # N61


def test_the_second_format_trades_a_fraction_bit_for_an_exponent_bit():
    assert decode_fp8(encode_fp8(np.float32([2.0**-14, 1.125]), "1-5-2")).tolist() == [2.0**-14, 1.0]
    assert decode_fp8(encode_fp8(np.float32([2.0**-14, 1.125]), "1-4-3")).tolist() == [0.0, 1.125]


def test_a_scale_per_token():
    values = np.float32([[[1, -448, 3], [0.5, 0.25, -0.125]]])
    assert per_token_scale(values).tolist() == [[[1.0], [np.float32(0.5 / 448)]]]  # N62


def test_only_fp8_words_are_decoded():
    with pytest.raises(TypeError, match="not uint8"):
        decode_fp8(np.zeros(1, np.uint8))


def test_widening_leaves_even_elements_in_the_first_stick_and_odd_ones_in_the_second():
    staggered = stagger(np.arange(64))
    assert staggered[:32].tolist() == list(range(0, 64, 2))  # N41
    assert staggered[32:].tolist() == list(range(1, 64, 2))


def test_the_host_side_inverse_is_the_published_one():
    staggered = np.random.default_rng(1).permutation(256)
    published = staggered.reshape(4, 2, 32).transpose(0, 2, 1).reshape(256)
    assert np.array_equal(unstagger(staggered), published)  # N42


def test_a_readback_that_ignores_the_arrangement_is_a_permutation():
    values = np.arange(256)
    read = stagger(values)
    assert sorted(read) == values.tolist()  # N45: the same multiset
    assert int((read != values).sum()) == 248  # two of each 64 stay; the report counts 207, by value


@given(st.integers(1, 5), st.integers(1, 3))
def test_out_and_back_is_the_identity(sticks, rows):
    values = np.arange(rows * sticks * 64).reshape(rows, sticks * 64)
    assert np.array_equal(unstagger(stagger(values)), values)
    assert np.array_equal(stagger(unstagger(values)), values)


def test_packing_alternates_two_sticks():
    first, second = np.arange(32), np.arange(100, 132)
    packed = unstagger(np.concatenate([first, second]))
    assert packed[::2].tolist() == first.tolist()  # N44
    assert packed[1::2].tolist() == second.tolist()


def test_a_row_narrower_than_a_stick_loses_its_second_half():
    stick = np.zeros((4, 64))
    stick[:, :32] = 25.0
    widened = stagger_sticks(stick, sticks=1)  # 32 elements are one stick of float32
    assert (widened[:, :16] == 25).all()  # N48, S37
    assert (widened[:, 16:] == 0).all()


def test_unpaired_sticks_are_refused():
    with pytest.raises(ValueError, match="multiple of 64"):
        stagger(np.zeros(96))  # N49


def test_labels_follow_the_published_rules():
    standard, widened = ElementArrangement.STANDARD, ElementArrangement.DL16_TO_FP32
    assert arrangement_after(standard, "float32") is widened  # N43
    assert arrangement_after(standard, "float16") is ElementArrangement.FP32_TO_DL16
    assert arrangement_after(widened, "float16") is standard
    with pytest.raises(ValueError, match="no rule"):
        arrangement_after(widened, "float32")
