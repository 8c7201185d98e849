"""Stick expressions: the stack's text for a view, and whether what the text says is what the elements do."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spyre_sim.layout import contiguous_stride, stick_expression


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
        pytest.param([4], [128], 3, [4, 128], "zero", "3", id="a single element of each row E10"),
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
    """A contiguous buffer, reshaped, perhaps permuted and sliced: the views that models make."""
    base = draw(st.lists(st.sampled_from([1, 2, 3, 32, 48, 64, 96, 128]), min_size=1, max_size=3))
    numel = math.prod(base)
    shape: list[int] = []
    rest = numel
    while rest > 1 and len(shape) < 4:
        shape.append(draw(st.sampled_from([n for n in (2, 3, 4, 16, 32, 48, 64, 96, 128, 256, rest) if rest % n == 0])))
        rest //= shape[-1]
    shape.append(rest)
    stride = contiguous_stride(shape)
    order = draw(st.permutations(range(len(shape))))
    size, stride = [shape[d] for d in order], [stride[d] for d in order]
    dim = draw(st.integers(0, len(size) - 1))
    start = draw(st.integers(0, size[dim] - 1))
    size[dim] = draw(st.integers(1, size[dim] - start))
    return base, size, stride, start * stride[dim]


@settings(max_examples=150, deadline=None)
@given(views())
def test_what_it_says_is_what_the_elements_do(view):
    base, size, stride, offset = view
    found = stick_expression(size, stride, offset, base_size=base)
    last = base[-1]
    few = [sorted({*range(min(n, 3)), *range(max(n - 3, 0), n), *(k for k in (31, 32, 63, 64) if k < n)}) for n in size]
    lanes = {
        index: (offset + sum(i * s for i, s in zip(index, stride, strict=True))) % last % 64
        for index in itertools.product(*few)
    }
    if found.kind == "zero":
        assert set(lanes.values()) == {found.offset}
    elif found.supported:
        assert all(lane == (index[found.variable] + found.offset) % 64 for index, lane in lanes.items())
    else:
        assert len(set(lanes.values())) > 1
