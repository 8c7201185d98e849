"""Figures on device layouts: sizes and strides of public tests and documentation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..layout import DeviceLayout, default_layout, read_words, write_words
from ..stacks import Stack
from .figure import family

LAYOUTS = family("Layouts")
PUBLIC_TEST = "test_tensor_layout.py"

Vector = tuple[str, list[int], dict[str, Any], list[int], list[int]]
VECTORS: list[Vector] = [
    ("L11", [], {}, [1, 64], [-1, -1]),
    ("L11", [120], {}, [2, 64], [64, 1]),
    ("L11", [128], {}, [2, 64], [64, 1]),
    ("L11", [512, 240], {}, [4, 512, 64], [64, 240, 1]),
    ("L11", [512, 256], {}, [4, 512, 64], [64, 256, 1]),
    ("L11", [512, 8, 240], {}, [8, 4, 512, 64], [240, 64, 1920, 1]),
    ("L11", [512, 8, 256], {}, [8, 4, 512, 64], [256, 64, 2048, 1]),
    ("L12", [512, 256], {"dim_order": [1, 0]}, [8, 256, 64], [16384, 1, 256]),
    ("L12", [512, 256], {"dim_order": [0, 1, -1]}, [256, 1, 512, 64], [1, -1, 256, -1]),
    ("L14", [5, 100, 150], {}, [100, 3, 5, 64], [150, 64, 15000, 1]),
    ("L14", [128, 256, 512], {}, [256, 8, 128, 64], [512, 64, 131072, 1]),
    ("L14", [1, 3, 128], {}, [3, 2, 1, 64], [128, 64, -1, 1]),
    ("L14", [2, 8, 100, 130], {}, [8, 100, 3, 2, 64], [13000, 130, 64, 104000, 1]),
    ("L14", [2, 4, 8, 4], {"dtype": "float32"}, [4, 8, 1, 2, 32], [32, 4, 32, 128, 1]),
]


def shown(size: Sequence[int], stride: Sequence[int]) -> str:
    """Device size and stride map as one text."""
    return f"{list(size)} / {list(stride)}"


for fact, size, options, device_size, stride_map in VECTORS:
    label = f"{size}" + "".join(f", {name} {value}" for name, value in options.items())

    @LAYOUTS.figure(fact, label, published=shown(device_size, stride_map), source=PUBLIC_TEST)
    def default(stack: Stack, size: list[int] = size, options: dict[str, Any] = options) -> str:
        return shown(*default_layout(size, **options))


@LAYOUTS.figure("L15", "[512, 8, 256] in 2025", published="[4, 512, 8, 64]", source=PUBLIC_TEST, stack="2025-11")
def in_2025(stack: Stack) -> str:
    return str(default_layout([512, 8, 256], generation="2025-11")[0])


def numbered(*size: int) -> NDArray[np.uint16]:
    """1, 2, 3, .. in row-major order."""
    return np.arange(1, np.prod(size) + 1, dtype=np.uint16).reshape(size)


# Host tensor, device size, stride map: the explicit layouts of the public round-trip tests.
EXPLICIT = [
    (numbered(40, 60), [1, 60, 64], [3840, 1, 60]),
    (numbered(40, 60), [1, 512, 64], [64, 60, 1]),
    (numbered(40, 60), [38, 64], [64, 1]),
    (numbered(60), [1, 512, 64], [64, 0, 1]),
    (numbered(60), [1, 1, 64], [64, 60, 1]),
    (numbered(60), [1, 60, 64], [64, 1, 1]),
    (numbered(60), [1, 2, 64], [64, 30, 1]),
    (numbered(60), [2, 1, 2, 64], [15, 64, 30, 1]),
    (numbered(4800), [3, 2, 14, 64], [120, 64, 360, 1]),
    (numbered(40, 60), [24, 1, 2, 64], [60, 64, 1440, 1]),
    (numbered(60, 40).T, [1, 40, 64], [2560, 1, 40]),
    (numbered(120)[60:], [1, 64], [64, 1]),
]


@LAYOUTS.figure("L16", "explicit layouts of 12 that round-trip", published=12, source=f"{PUBLIC_TEST}:193-420")
def explicit(stack: Stack) -> int:
    kept = 0
    for host, device_size, stride_map in EXPLICIT:
        layout = DeviceLayout(tuple(device_size), tuple(stride_map))
        strides = [step // host.itemsize for step in host.strides]
        kept += bool(np.array_equal(read_words(write_words(host, layout), layout, host.shape, strides), host))
    return kept
