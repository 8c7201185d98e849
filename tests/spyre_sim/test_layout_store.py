"""Words in device order: every layout that the public tests send to the device and back (fact L16)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spyre_sim.layout import (
    PADDING,
    DeviceLayout,
    LayoutError,
    contiguous_stride,
    default_device_layout,
    host_elements,
    read_words,
    write_words,
)


def numbered(*size):
    return np.arange(1, np.prod(size) + 1, dtype=np.uint16).reshape(size)


def strides_of(array):
    return tuple(step // array.itemsize for step in array.strides)


EXPLICIT = {
    "stick on dim 0": (numbered(40, 60), [1, 60, 64], [3840, 1, 60]),
    "oversized": (numbered(40, 60), [1, 512, 64], [64, 60, 1]),
    "folded": (numbered(40, 60), [38, 64], [64, 1]),
    "expanded": (numbered(60), [1, 512, 64], [64, 0, 1]),
    "leading ones": (numbered(60), [1, 1, 64], [64, 60, 1]),
    "overlapping windows": (numbered(60), [1, 60, 64], [64, 1, 1]),
    "view split": (numbered(60), [1, 2, 64], [64, 30, 1]),
    "view split twice": (numbered(60), [2, 1, 2, 64], [15, 64, 30, 1]),
    "tiled": (numbered(4800), [3, 2, 14, 64], [120, 64, 360, 1]),
    "tiled rows": (numbered(40, 60), [24, 1, 2, 64], [60, 64, 1440, 1]),
    "permuted host": (numbered(60, 40).T, [1, 40, 64], [2560, 1, 40]),
    "sliced batch": (numbered(120)[60:], [1, 64], [64, 1]),
}


@pytest.mark.parametrize("name", EXPLICIT)
def test_explicit_layouts_come_back_as_they_went(name):
    host, device_size, stride_map = EXPLICIT[name]
    layout = DeviceLayout(tuple(device_size), tuple(stride_map))
    words = write_words(host, layout)
    assert words.shape == layout.device_size
    assert np.array_equal(read_words(words, layout, host.shape, strides_of(host)), host)


def test_an_expanded_layout_holds_each_element_many_times():
    host, device_size, stride_map = EXPLICIT["expanded"]
    words = write_words(host, DeviceLayout(tuple(device_size), tuple(stride_map)))
    assert (words[0, :, :60] == host).all()


def test_lanes_beyond_the_size_keep_what_they_held():
    garbage = np.full((1, 3, 64), 0x7FFF, np.uint16)
    words = write_words(numbered(3, 7), default_device_layout([3, 7]), garbage)
    assert np.array_equal(words[0, :, :7], numbered(3, 7))
    assert (words[0, :, 7:] == 0x7FFF).all()  # L4


def test_sparse_layouts_hold_one_element_a_stick():
    layout = default_device_layout([4, 3], dim_order=[0, 1, -1])
    slots = host_elements(layout, (4, 3), (3, 1))
    assert (slots[..., 0] != PADDING).all()
    assert (slots[..., 1:] == PADDING).all()  # L43


def test_a_layout_that_leaves_elements_out_is_refused_in_the_stacks_words():
    with pytest.raises(LayoutError, match="Invalid device sizes and stride map for host sizes and strides"):
        write_words(numbered(40, 60), DeviceLayout((1, 30, 64), (64, 60, 1)))  # E21


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(1, 70), max_size=3).filter(lambda size: np.prod(size) <= 5000), st.data())
def test_every_default_layout_round_trips(size, data):
    order = data.draw(st.permutations(range(len(size)))) if size else None
    sparse = [-1] if size and data.draw(st.booleans()) else []
    layout = default_device_layout(size, dim_order=None if order is None else [*order, *sparse])
    host = numbered(*size) if size else np.array(7, np.uint16)
    assert np.array_equal(read_words(write_words(host, layout), layout, size), host)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=4), st.data())
def test_a_permuted_host_tensor_keeps_its_elements(size, data):
    order = data.draw(st.permutations(range(len(size))))
    host = numbered(*size).transpose(order)
    layout = default_device_layout(host.shape, strides_of(host))
    assert np.array_equal(read_words(write_words(host, layout), layout, host.shape, strides_of(host)), host)
    assert contiguous_stride(size) == strides_of(numbered(*size)) or 1 in size
