"""The default layout algorithm: every published vector, and what holds for all of them (facts L1-L19)."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spyre_sim.layout import DeviceLayout, LayoutError, default_device_layout, default_layout

PUBLISHED = [  # L11
    ([], [1, 64], [-1, -1]),
    ([120], [2, 64], [64, 1]),
    ([128], [2, 64], [64, 1]),
    ([512, 240], [4, 512, 64], [64, 240, 1]),
    ([512, 256], [4, 512, 64], [64, 256, 1]),
    ([512, 8, 240], [8, 4, 512, 64], [240, 64, 1920, 1]),
    ([512, 8, 256], [8, 4, 512, 64], [256, 64, 2048, 1]),
]
COMPUTED = [  # L14
    ([5, 100, 150], [100, 3, 5, 64], [150, 64, 15000, 1]),
    ([128, 256, 512], [256, 8, 128, 64], [512, 64, 131072, 1]),
    ([1, 3, 128], [3, 2, 1, 64], [128, 64, -1, 1]),
    ([2, 8, 100, 130], [8, 100, 3, 2, 64], [13000, 130, 64, 104000, 1]),
]


@pytest.mark.parametrize(("size", "device_size", "stride_map"), PUBLISHED + COMPUTED)
def test_contiguous_float16(size, device_size, stride_map):
    assert default_layout(size) == (device_size, stride_map)


def test_a_stick_of_float32_is_half_as_many_elements():
    assert default_layout([2, 4, 8, 4], dtype="float32") == ([4, 8, 1, 2, 32], [32, 4, 32, 128, 1])  # L14


def test_dim_order_chooses_the_stick_dim():
    assert default_layout([512, 256], dim_order=[1, 0]) == ([8, 256, 64], [16384, 1, 256])  # L12


def test_a_trailing_minus_one_makes_it_sparse():
    assert default_layout([512, 256], dim_order=[0, 1, -1]) == ([256, 1, 512, 64], [1, -1, 256, -1])  # L12


def test_november_2025_ordered_rank_three_differently():
    assert default_layout([512, 8, 256], generation="2025-11")[0] == [4, 512, 8, 64]  # L15
    assert default_layout([512, 8, 256], dim_order=[2, 1, 0], generation="2025-11")[0] == [8, 256, 8, 64]
    assert default_layout([512, 256], generation="2025-11") == default_layout([512, 256])


@pytest.mark.parametrize(("dtype", "lanes"), [("int64", 32), ("int32", 32), ("int8", 128), ("bool", 64)])
def test_elements_in_a_stick(dtype, lanes):
    assert default_layout([256], dtype=dtype)[0] == [256 // lanes, lanes]  # N33


@pytest.mark.parametrize("order", [[0], [0, 0], [0, 2], [-1, 0, 1], [0, 1, 2]])
def test_a_dim_order_that_does_not_fit_is_refused_in_the_stacks_words(order):
    with pytest.raises(LayoutError, match="Incompatible host_size and dim_order"):  # L10
        default_layout([4, 4], dim_order=order)


def test_rank_six_is_the_most():
    default_layout([2] * 6)
    with pytest.raises(LayoutError, match="Unsupported tensor rank: 7"):
        default_layout([2] * 7)


def test_a_dtype_without_a_device_format_is_refused():
    with pytest.raises(LayoutError, match="Unsupported CPU tensor dtype for DMA transfer: float64"):
        default_layout([2], dtype="float64")


def test_a_device_layout_counts_its_bytes_by_sticks():
    layout = default_device_layout([512, 240])
    assert (layout.sticks, layout.nbytes, layout.lanes) == (4 * 512, 128 * 4 * 512, 64)  # L3
    assert layout == DeviceLayout((4, 512, 64), (64, 240, 1))


sizes = st.lists(st.integers(1, 200), min_size=1, max_size=5)


@settings(deadline=None)
@given(sizes, st.data())
def test_size_one_dims_map_to_nothing_and_the_rest_is_covered(size, data):
    order = data.draw(st.permutations(range(len(size))))
    device_size, stride_map = default_layout(size, dim_order=order)
    assert device_size[-1] == 64
    stick = order[-1]
    assert math.prod(device_size[:-1]) == -(-size[stick] // 64) * math.prod(size) // size[stick]
    walked = [n for n, step in zip(device_size, stride_map, strict=True) if step != -1]
    assert math.prod(walked) >= math.prod(size)
    assert sum(step == -1 for step in stride_map) == sum(n == 1 for d, n in enumerate(size)) + (size[stick] == 1)


def published_algorithm(size, stride, lanes, order):
    """Section 3.2 of the facts, step by step: the sequence of dims, then their sizes, then their strides."""
    dims = list(order)
    if len(dims) == 1:
        walk = [dims[0], dims[0]]
    elif len(dims) == 2:
        walk = [dims[1], dims[0], dims[1]]
    else:
        walk = [*dims[1:], dims[0], dims[-1]]
    stick = walk[-1]
    sticks = 1 if stick == -1 else math.ceil(size[stick] / lanes)
    device_size = [*(sticks if dim == stick else size[dim] for dim in walk[:-1]), lanes]
    stride_map = [-1] * len(walk)
    for i in range(len(walk) - 1, -1, -1):
        dim = walk[i]
        if dim == -1 or size[dim] == 1:
            continue
        later = [j for j in range(i + 1, len(walk)) if walk[j] == dim]
        stride_map[i] = stride_map[later[0]] * device_size[later[0]] if later else stride[dim]
    return device_size, stride_map


@settings(deadline=None)
@given(sizes, st.sampled_from(["float16", "float32", "int8"]), st.booleans(), st.data())
def test_any_size_stride_and_order_is_laid_out_as_published(size, dtype, sparse, data):
    order = [*data.draw(st.permutations(range(len(size)))), *([-1] if sparse else [])]
    stride = [data.draw(st.integers(1, 5000)) for _ in size]
    lanes = {"float16": 64, "float32": 32, "int8": 128}[dtype]
    assert default_layout(size, stride, dtype, order) == published_algorithm(size, stride, lanes, order)


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (5, r"not 5; of one dim it is \[5\]"),
        ("ab", "not 'ab'"),
        ([4, 2.0], "and 2.0 is none"),
        ([True, 64], "and True is none"),
        ([4, -1], r"no negative numbers: \[4, -1\]"),
    ],
)
def test_what_is_no_size_is_told_in_words(size, words):
    with pytest.raises(LayoutError, match=words):
        default_layout(size)


def test_a_dtype_may_be_that_of_torch():
    import torch

    assert default_layout([4, 100], dtype=torch.float32) == default_layout([4, 100], dtype="float32")
    assert default_device_layout(torch.Size([4, 100]), dtype=torch.int8).dtype == "int8"
    with pytest.raises(LayoutError, match="for DMA transfer: float64$"):
        default_layout([4], dtype=torch.float64)


def test_importing_layouts_loads_no_heavy_package():
    heavy = "torch numba numpy"
    code = f"import sys, spyre_sim.layout; sys.exit(any(m in sys.modules for m in {heavy.split()!r}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
