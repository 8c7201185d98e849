"""What layouts become from op to op (facts L30-L51)."""

from __future__ import annotations

import pytest

from spyre_sim.layout import LayoutError, default_device_layout
from spyre_sim.layout.propagation import (
    copy_kind,
    device_position,
    is_factorised,
    is_sparse,
    linear_weight_layout,
    padded_contraction,
    position_first_cache_layout,
    reduced_layout,
    restickify_dims,
    slot_major_cache_layout,
    tail_lanes,
)


def test_a_reduction_over_the_stick_is_sparse_and_any_other_dense():
    assert is_sparse(reduced_layout([512, 256], [-1]))  # L43
    assert reduced_layout([512, 256], [1]).device_size == (1, 1, 512, 64)
    assert not is_sparse(reduced_layout([512, 256], [0]))
    assert reduced_layout([512, 256], [0]).device_size == (4, 1, 64)


def test_november_2025_could_not_reduce_stick_and_other_dims_together():
    reduced_layout([4, 8, 64], [1, 2])
    with pytest.raises(LayoutError, match=r"reduction on both stick and non-stick dimensions \[1, 2\]"):
        reduced_layout([4, 8, 64], [1, 2], joint=False)


def test_another_stick_dim_must_be_whole_sticks():
    assert restickify_dims([2, 128, 96, 64]) == (1, 3)  # L40
    assert restickify_dims([2, 128, 96], "float32") == (1, 2)


def test_a_contraction_runs_to_the_end_of_its_last_stick():
    assert [padded_contraction(k) for k in (64, 65, 4304)] == [64, 128, 4352]  # L41
    assert [tail_lanes(n) for n in (64, 65, 10)] == [0, 63, 54]


def test_copies_between_ops():
    assert copy_kind("Mod(d2, 64)", "Mod(d2, 64)") == "identity"  # L46
    assert copy_kind("Mod(d2, 64)", "Mod(d1, 64)") == "restickify"


def test_the_weight_of_a_linear_has_its_stick_on_out_features():
    assert linear_weight_layout([512, 256]) == default_device_layout([512, 256], dim_order=[1, 0])  # L30
    with pytest.raises(LayoutError):
        linear_weight_layout([512])


def test_a_cache_is_pinned_with_positions_outermost():
    pinned = position_first_cache_layout(1, 8, 576, 128)  # L32
    assert pinned.device_size == (576, 8, 2, 1, 64)
    assert pinned.stride_map == (128, 576 * 128, 64, 8 * 576 * 128, 1)
    assert device_position(pinned, 128) == 0
    default = default_device_layout([1, 8, 576, 128])
    assert default.device_size == (8, 576, 2, 1, 64)  # L32: measured
    assert device_position(default, 128) == 1
    assert slot_major_cache_layout(10, 8, 2).stride_map == (1024, 128, 64, 1)  # L33


def test_attention_output_spreads_its_contraction_over_two_device_axes():
    size, stride = [128, 2, 32, 64], [4096, 64, 128, 1]
    assert is_factorised(size, stride, [1, 2, 3])  # L51
    assert not is_factorised([128, 32, 2, 64], [4096, 128, 64, 1], [1, 2, 3])
