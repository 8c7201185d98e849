"""The copy between host and device, date by date (facts N10-N17, N30-N32, N50)."""

from __future__ import annotations

import warnings

import ml_dtypes
import numpy as np
import pytest

from spyre_sim.formats import (
    HOST_DTYPES,
    UnsupportedTransfer,
    decode_dl16,
    device_format,
    encode_dl16,
    from_host,
    set_downcast_warning,
    to_host,
    values_from_host,
    values_to_host,
)
from spyre_sim.stacks import load_stack, stack_names

REAL = [name for name in stack_names() if name != "ideal"]


def trip(values, stack="2026-06", dtype=np.float16):
    host = np.array(values, dtype)
    return to_host(from_host(host, stack), host.dtype, stack)


def same(left, right):
    with np.errstate(invalid="ignore"):
        return np.array_equal(left.astype(np.float64), right.astype(np.float64), equal_nan=True)


def test_minus_infinity_becomes_a_large_finite_word():
    words = from_host(np.array([-np.inf, np.inf], np.float16), "2026-06")
    assert words.tolist() == [0xEFFF, 0x6FFF]  # N13
    assert decode_dl16(words)[0] == -33_521_664  # N14


def test_and_reads_back_as_infinity():
    assert trip([-np.inf, np.inf]).tolist() == [-np.inf, np.inf]  # N16


def test_the_copy_does_not_know_nan():
    assert from_host(np.array([np.nan], np.float16), "2026-06")[0] & 0x7FFF == 0x6FFF  # N13
    assert np.isnan(to_host(np.array([0x7FFF], np.uint16), "float16", "2026-06")).all()


def test_the_largest_float16_saturates_its_carry():
    assert trip([-65504, 65504]).tolist() == [-65472, 65472]  # N11


def test_subnormals_lose_half_a_trip_and_the_loss_adds_up():
    value = np.array([2.9981e-05, 1.9550e-05, 5.96e-08], np.float16)
    seen = []
    for _ in range(3):
        value = trip(value)
        seen.append(value.astype(np.float64).tolist())
    published = [[1.4961e-05, 9.7752e-06, 0], [7.4506e-06, 4.8876e-06, 0], [3.6955e-06, 2.4438e-06, 0]]
    assert np.allclose(seen, published, rtol=1e-4, atol=0)  # N17


def test_every_normal_value_within_nine_bits_comes_back_exactly():
    values = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    with np.errstate(invalid="ignore"):
        normal = np.isfinite(values) & (np.abs(values) >= 6.1035156e-05)
    nine_bits = normal & (values.view(np.uint16) & 1 == 0)
    assert np.array_equal(trip(values[nine_bits]), values[nine_bits])  # N17


def test_before_june_2026_small_values_were_read_as_their_fraction_alone():
    words = encode_dl16(np.float32([9.9465e-07]))
    assert to_host(words, "float16", "2026-04").astype(float) == pytest.approx(2.6226e-06, rel=2e-5)  # A10
    assert to_host(words, "float16", "2026-06").astype(float) == pytest.approx(9.9465e-07, rel=0.05)


def test_a_tiny_probability_was_read_as_a_leak_of_softmax():
    floor = load_stack("2026-04").numerics.exp_floor
    probabilities = encode_dl16(np.float32(floor) / np.linspace(1.1, 20, 50, dtype=np.float32))
    leaks = to_host(probabilities, "float16", "2026-04").astype(np.float64)
    assert 1.5e-5 < leaks.mean() < 4e-5  # A31: about 2e-5 each, up to 4.9e-5
    assert leaks.max() < 6.2e-5
    assert to_host(probabilities, "float16", "2026-06").max() < 1e-7


def test_bfloat16_is_not_halved():
    assert trip([2.9981e-05], dtype=ml_dtypes.bfloat16) == np.array([2.9981e-05], ml_dtypes.bfloat16)  # N17


def test_before_june_2026_the_copy_truncated():
    assert trip([-2.002], "2026-04").tolist() == [-2.0]  # N10
    assert trip([-2.002], "2026-06").tolist() == [float(np.float16(-2.004))]  # N12


def test_readback_to_bfloat16_rounds_to_nearest_since_june_2026():
    words = encode_dl16(np.float32([18.09375]))
    assert to_host(words, "bfloat16", "2026-04").astype(float).tolist() == [18.0]  # N50
    assert to_host(words, "bfloat16", "2026-06").astype(float).tolist() == [18.125]


def test_values_beyond_float16_overflow_on_readback_only():
    words = encode_dl16(np.float32([65472.0, 66000.0, 8e9, -8e9]))
    assert to_host(words, "float16", "2026-06").tolist() == [65472, np.inf, np.inf, -np.inf]  # N15, R6
    assert to_host(words, "bfloat16", "2026-06").astype(np.float32)[2] == pytest.approx(8e9, rel=2**-8)


def test_bool_is_stored_as_zero_and_one():
    assert from_host(np.array([True, False]), "2026-06").tolist() == [0x3E00, 0]  # N30
    assert trip([True, False], dtype=bool).tolist() == [True, False]


def test_float32_is_copied_as_it_is():
    assert trip([1 + 2.0**-23], dtype=np.float32).tolist() == [1 + 2.0**-23]


def test_int64_wraps_to_int32_and_says_so():
    with pytest.warns(UserWarning, match="Backend Spyre does not support int64; downcasting to int32"):  # N32
        words = from_host(np.array([7, 2**33 + 5]), "2026-06")
    assert words.dtype == np.int32
    assert to_host(words, "int64", "2026-06").tolist() == [7, 5]


def test_the_warning_can_be_switched_off(monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monkeypatch.setenv("TORCH_SPYRE_DOWNCAST_WARN", "0")
        from_host(np.array([1]), "2026-06")
        monkeypatch.delenv("TORCH_SPYRE_DOWNCAST_WARN")
        set_downcast_warning(False)
        try:
            from_host(np.array([1]), "2026-06")
        finally:
            set_downcast_warning(True)


def test_dtypes_without_a_format_are_refused_in_the_stacks_words():
    with pytest.raises(UnsupportedTransfer, match="Unsupported CPU tensor dtype for DMA transfer: float64"):  # E21
        from_host(np.zeros(1), "2026-06")


def test_words_of_another_format_are_refused():
    with pytest.raises(TypeError, match="float16 is SEN169_FP16 on the device: uint16, not float32"):
        to_host(np.zeros(1, np.float32), "float16", "2026-06")


def test_formats_changed_with_the_dates():
    assert device_format("bfloat16", "2025-11") == "BFLOAT16"  # N31
    assert device_format("bfloat16", "2026-06") == "SEN169_FP16"  # N30
    assert (device_format("bool", "2025-11"), device_format("int64", "2025-11")) == ("SENINT8", "IEEE_INT64")


@pytest.mark.parametrize("stack", REAL)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "bool", "float32", "int32"])
def test_values_on_the_grid_are_the_words_decoded(stack, dtype):
    host = np.arange(1 << 16, dtype=np.uint16)
    host = host % 2 == 0 if dtype == "bool" else host.view(HOST_DTYPES[dtype]) if "16" in dtype else host.astype(dtype)
    words, values = from_host(host, stack), values_from_host(host, stack)
    if words.dtype == np.uint16:
        words = decode_dl16(words)
    assert same(values, words)
    assert same(values_to_host(values, dtype, stack), to_host(from_host(host, stack), dtype, stack))


def test_the_ideal_stack_changes_nothing():
    values = np.array([-65504, np.inf, 5.96e-08, -2.002], np.float16)
    assert from_host(values, "ideal").dtype == np.float64
    assert np.array_equal(trip(values, "ideal"), values)
