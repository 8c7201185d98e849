"""DLFloat16: the published bits, all 65,536 words, and two implementations that must agree (facts N1-N7)."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from spyre_sim.formats import (
    EPSILON,
    MAX_FINITE,
    MIN_POSITIVE,
    NAN_WORD,
    Rounding,
    decode_dl16,
    decode_table,
    encode_dl16,
    round_dl16,
)
from spyre_sim.formats.dlfloat import decode_dl16_numpy, encode_dl16_numpy, round_dl16_numpy

WORDS = np.arange(1 << 16, dtype=np.uint16)
ROUNDINGS = [
    Rounding(mode, overflow, underflow)
    for mode in ("ties-up", "ties-even", "truncate")
    for overflow in ("infinity", "saturate")
    for underflow in ("zero", "nearest", "smallest")
]
patterns = hnp.arrays(np.uint32, st.integers(0, 300), elements=st.integers(0, 2**32 - 1))


def bits(array):
    return np.asarray(array).view(np.uint32)


def test_the_worked_example():
    word = 0 << 15 | 0b100011 << 9 | 0b001000011
    assert encode_dl16(np.float32(18.09375)) == word  # N1
    assert decode_dl16(np.uint16(word)) == 18.09375


@pytest.mark.parametrize(
    ("word", "value"),
    [
        (0x7FFE, 2.0**32 * (1 + 510 / 512)),  # N5
        (0x0001, 2.0**-31 * (1 + 1 / 512)),
        (0x0200, 2.0**-30),
        (0xEFFF, -33_521_664.0),  # N14
        (0x3E00, 1.0),
        (0x3E01, 1.0 + 2.0**-9),
        (0x0000, 0.0),
    ],
)
def test_values_of_words(word, value):
    assert decode_dl16(np.uint16(word)) == value


def test_limits():
    assert MAX_FINITE == pytest.approx(8.573157376e9)
    assert MIN_POSITIVE == pytest.approx(4.6657e-10, rel=1e-4)
    assert EPSILON == 2.0**-9


def test_one_magnitude_is_not_a_number_and_the_rest_of_its_binade_is_finite():
    not_numbers = np.flatnonzero(np.isnan(decode_dl16(WORDS)))
    assert not_numbers.tolist() == [0x7FFF, 0xFFFF]  # N2
    assert not np.isinf(decode_dl16(WORDS)).any()


def test_every_word_survives_decoding_and_encoding():
    numbers = ~np.isnan(decode_dl16(WORDS))
    assert np.array_equal(encode_dl16(decode_dl16(WORDS))[numbers], WORDS[numbers])
    assert encode_dl16(np.float32(np.nan)) == NAN_WORD


def test_values_grow_with_their_words():
    assert (np.diff(decode_dl16(WORDS[: NAN_WORD - 1])) > 0).all()


def test_the_compiled_decoder_is_the_table():
    assert np.array_equal(bits(decode_dl16(WORDS))[:0x7FFF], bits(decode_table())[:0x7FFF])
    assert np.array_equal(decode_dl16(WORDS), decode_dl16_numpy(WORDS), equal_nan=True)


def test_a_tie_goes_away_from_zero():
    tie = 1 + EPSILON / 2
    assert round_dl16(np.float32([tie, -tie])).tolist() == [1 + EPSILON, -1 - EPSILON]  # N2: ties up
    assert round_dl16(np.float32(np.nextafter(np.float32(tie), np.float32(0)))) == 1


@pytest.mark.parametrize(
    ("rounding", "of_tie", "of_overflow", "of_underflow"),
    [
        (Rounding(), 1 + EPSILON, np.nan, 0.0),
        (Rounding("ties-even", "saturate", "nearest"), 1.0, MAX_FINITE, MIN_POSITIVE),
        (Rounding("truncate", "saturate", "smallest"), 1.0, MAX_FINITE, MIN_POSITIVE),
    ],
)
def test_the_documented_options(rounding, of_tie, of_overflow, of_underflow):  # D2
    values = np.float32([1 + EPSILON / 2, 1e10, MIN_POSITIVE * 0.75])
    expected = np.float32([of_tie, of_overflow, of_underflow])
    assert np.array_equal(round_dl16(values, rounding=rounding), expected, equal_nan=True)


def test_infinity_becomes_the_merged_word_and_large_values_saturate_on_request():
    assert encode_dl16(np.float32(np.inf)) == NAN_WORD
    assert encode_dl16(np.float32(np.inf), rounding=Rounding(overflow="saturate")) == 0x7FFE
    assert encode_dl16(np.float32(np.nan), rounding=Rounding(overflow="saturate")) == NAN_WORD


def test_there_are_no_subnormals():
    assert round_dl16(np.float32([MIN_POSITIVE / 4, 2.0**-31])).tolist() == [0, 0]


def test_the_sign_of_zero_is_kept():
    assert encode_dl16(np.float32([0.0, -0.0])).tolist() == [0x0000, 0x8000]  # U8


@pytest.mark.parametrize("rounding", ROUNDINGS, ids=str)
@settings(deadline=None, max_examples=15)
@given(pattern=patterns)
def test_the_compiled_loops_equal_their_numpy_twins_word_for_word(rounding, pattern):
    values = pattern.view(np.float32)
    compiled, plain = round_dl16(values, rounding=rounding), round_dl16_numpy(values, rounding=rounding)
    assert np.array_equal(bits(compiled), bits(plain))
    assert np.array_equal(encode_dl16(values, rounding=rounding), encode_dl16_numpy(values, rounding=rounding))


def test_twins_agree_on_half_a_million_patterns_and_on_every_boundary():
    near = np.array([0, 1, 2, 0x1FFF, 0x2000, 0x2001, 0x3FFF], np.uint32)
    grid = bits(decode_table()[:0x7FFF])[:, None] + near
    random = np.random.default_rng(0).integers(0, 2**32, 300_000, dtype=np.uint32)
    pattern = np.concatenate([grid.ravel(), random, np.arange(0xFFFFDFF0, 0xFFFFE010, dtype=np.uint32)])
    values = pattern.view(np.float32)
    assert np.array_equal(bits(round_dl16(values)), bits(round_dl16_numpy(values)))


@settings(deadline=None)
@given(hnp.arrays(np.float32, st.integers(1, 50), elements=st.floats(2.0**-30, 2.0**32, width=32)))
def test_rounding_picks_the_nearest_word(values):
    rounded = round_dl16(values).astype(np.float64)
    assert (np.abs(rounded - values) <= np.abs(values) * 2.0**-10).all()
    assert np.array_equal(round_dl16(rounded.astype(np.float32)), rounded)


def test_in_place_and_strided_outputs():
    values = np.linspace(-3, 3, 24, dtype=np.float32).reshape(4, 6)
    expected = round_dl16(values)
    out = np.zeros((4, 12), np.float32)[:, ::2]
    assert round_dl16(values, out) is out
    assert np.array_equal(out, expected)
    assert np.array_equal(round_dl16(values.T), expected.T)
    assert round_dl16(values, values) is values
    assert np.array_equal(values, expected)


def test_shapes_are_kept_down_to_none():
    assert round_dl16(np.float32(1.0)).shape == ()
    assert encode_dl16(np.zeros((0, 3), np.float32)).shape == (0, 3)
    assert decode_dl16(np.zeros((2, 0), np.uint16)).shape == (2, 0)


def test_float64_is_not_rounded_twice():
    below_tie = 1 + EPSILON / 2 - 2.0**-40  # float32 rounds this to the tie itself
    assert np.float32(below_tie) == np.float32(1 + EPSILON / 2)
    assert round_dl16(np.float64(below_tie)) == 1
    assert round_dl16(np.float64(-below_tie)) == -1


def test_narrow_floats_are_taken_as_they_are():
    assert round_dl16(np.float16([0.5])).tolist() == [0.5]
    assert round_dl16(np.array([0.5], ml_dtypes.bfloat16)).tolist() == [0.5]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: round_dl16(np.arange(3)), "expected floating values, not int64"),
        (lambda: decode_dl16(np.zeros(1, np.int16)), "DLFloat16 words are uint16, not int16"),
        (lambda: round_dl16(np.zeros(2, np.float32), np.zeros(2)), "out must be float32, not float64"),
    ],
)
def test_other_dtypes_are_refused(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_an_output_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="out has shape"):
        round_dl16(np.zeros(2, np.float32), np.zeros(3, np.float32))
