"""Stick expressions: the stack's text for a view, and whether what the text says is what the elements do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spyre_sim.layout import StickView, contiguous_stride, stick_expression


@pytest.mark.parametrize(
    ("size", "stride", "offset", "base", "kind", "text"),
    [
        pytest.param([2, 16, 768], None, 0, [2, 16, 768], "mod", "Mod(d2, 64)", id="a plain tensor"),
        pytest.param([2, 16, 64], None, 0, [2, 16, 64], "variable", "d2", id="a tensor of one stick"),
        pytest.param([2, 16, 12, 64], None, 0, [2, 16, 768], "variable", "d3", id="heads of one stick"),
        pytest.param([2, 16, 6, 128], None, 0, [2, 16, 768], "mod", "Mod(d3, 64)", id="heads of two sticks"),
        pytest.param([2, 16, 12, 32], None, 0, [2, 16, 384], "unexpected", "32*d2 + d3", id="heads below a stick E10"),
        pytest.param(
            [2, 12, 16, 32], [6144, 32, 384, 1], 0, [2, 16, 384], "unexpected", "32*d1 + d3", id="and transposed"
        ),
        pytest.param([4, 64], [128, 2], 0, [4, 128], "unexpected", "2*(Mod(d1, 32))", id="every other element E10"),
        pytest.param([4, 32], [64, 1], 32, [4, 64], "variable", "d1 + 32", id="second half of a stick O14"),
        pytest.param([4, 128], [384, 1], 128, [4, 384], "mod", "Mod(d1, 64)", id="a slice at whole sticks"),
        pytest.param([4, 100], [384, 1], 36, [4, 384], "mod", "Mod(d1, 64) + 36", id="a slice inside a stick E14"),
        pytest.param([4], [128], 3, [4, 128], "unexpected", "3", id="a single element of each row E10"),
        pytest.param([4], [128], 64, [4, 128], "zero", "0", id="the first element of the second stick"),
        pytest.param([4, 1], [768, 1], 0, [4, 768], "zero", "0", id="the first element of each row"),
        pytest.param([4, 768], None, 0, [4, 12, 64], "mod", "Mod(d1, 64)", id="heads merged again"),
        pytest.param([4, 384], None, 0, [4, 12, 32], "unexpected", "Mod(d1, 32)", id="narrow heads merged"),
        pytest.param([16, 4], [1, 16], 0, [4, 16], "variable", "d0", id="transposed"),
        pytest.param([8, 4], [0, 1], 0, [4], "variable", "d1", id="expanded"),
        pytest.param([4, 50], [100, 1], 80, [4, 100], "unexpected", "Mod(d1 + 80, 100)", id="into the next row"),
    ],
)
def test_the_expression_of_a_view(size, stride, offset, base, kind, text):
    found = stick_expression(size, stride or contiguous_stride(size), offset, base_size=base)
    assert (found.kind, found.text) == (kind, text)
    assert found.supported == (kind != "unexpected")


def test_a_layout_with_another_stick_dim():
    found = stick_expression([40, 60], [60, 1], base_size=[40, 60], stick_dim=0)
    assert (found.kind, found.variable) == ("variable", 0)


def test_a_scalar_stays_on_one_lane():
    assert stick_expression([], [], base_size=[]).text == "0"


def test_an_offset_of_whole_sticks_is_aligned_and_another_is_not():
    view = {"size": [4, 64], "stride": [256, 1], "base_size": [4, 256]}
    assert stick_expression(**view, offset=128).aligned
    assert stick_expression(**view, offset=128).start == 128
    assert not stick_expression(**view, offset=96).aligned


@st.composite
def views(draw):
    """A contiguous buffer with its sticks along any dim, reshaped, permuted, sliced with a step: what torch can make.

    Returns the buffer's size and stick dim, lanes per stick, and the view's size, stride and offset.
    """
    base = draw(st.lists(st.sampled_from([1, 2, 3, 32, 48, 64, 96, 100, 128]), min_size=1, max_size=3))
    shape: list[int] = []
    rest = math.prod(base)
    while rest > 1 and len(shape) < 4:
        shape.append(draw(st.sampled_from([n for n in (2, 3, 4, 16, 32, 50, 64, 96, 128, rest) if rest % n == 0])))
        rest //= shape[-1]
    shape.append(rest)
    stride = contiguous_stride(shape)
    order = draw(st.permutations(range(len(shape))))
    size, stride = [shape[d] for d in order], [stride[d] for d in order]
    offset = 0
    for dim in draw(st.sets(st.integers(0, len(size) - 1), max_size=2)):
        start = draw(st.integers(0, size[dim] - 1))
        step = draw(st.sampled_from([1, 1, 1, 2, 64]))
        offset += start * stride[dim]
        size[dim], stride[dim] = -(-draw(st.integers(1, size[dim] - start)) // step), stride[dim] * step
    lanes = draw(st.sampled_from([32, 64]))
    return base, draw(st.integers(0, len(base) - 1)), lanes, size, stride, offset


def coordinates(base, stick_dim, size, stride, offset):
    """Where the elements of a view lie along the stick dim, worked out one by one."""
    places = np.full(size, offset)
    for index, step in zip(np.indices(size, sparse=True), stride, strict=True):
        places = places + index * step
    return places // contiguous_stride(base)[stick_dim] % base[stick_dim]


def counts_up(lanes_of, dim, lanes):
    """Whether the lane is the index along `dim` plus a constant, for every element of the view."""
    along = np.arange(lanes_of.shape[dim]).reshape([-1 if d == dim else 1 for d in range(lanes_of.ndim)])
    return len(np.unique((lanes_of - along) % lanes)) == 1


@settings(max_examples=150, deadline=None)
@given(views())
def test_what_it_says_is_what_the_elements_do(view):
    base, stick_dim, lanes, size, stride, offset = view
    found = stick_expression(size, stride, offset, base_size=base, stick_dim=stick_dim, lanes=lanes)
    lanes_of = coordinates(base, stick_dim, size, stride, offset) % lanes
    if found.kind == "zero":
        assert not lanes_of.any()
    elif found.supported:
        assert counts_up(lanes_of, found.variable, lanes)
        assert lanes_of.flat[0] == found.offset
    else:
        regular = [dim for dim, n in enumerate(size) if n > 2 and counts_up(lanes_of, dim, lanes)]
        assert not regular or max(size) == 2


@settings(max_examples=100, deadline=None)
@given(views())
def test_a_view_of_a_value_is_decided_alike(view):
    """Both callers get their answer from one place: layouts of host tensors, and values of a device graph."""
    base, stick_dim, lanes, size, stride, offset = view
    fresh = StickView.dense(tuple(base), lanes, stick_dim)
    seen = StickView(tuple(size), tuple(stride), offset, fresh.extent, fresh.step, lanes)
    assert seen.expression == stick_expression(size, stride, offset, base_size=base, stick_dim=stick_dim, lanes=lanes)
