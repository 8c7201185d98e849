"""The compiled loops of the kernels against plain NumPy with a rounding after each step, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spyre_sim.formats.dlfloat import decode_table, round_dl16_numpy
from spyre_sim.formats.sums import sum_rows_numpy
from spyre_sim.kernels import compiled, compiled_norms
from spyre_sim.kernels.elementwise import FUNCTIONS, table_of
from spyre_sim.kernels.numbers import Arithmetic
from spyre_sim.stacks import load_stack
from spyre_sim.transfers import _readback, readback_table

ARITHMETIC = Arithmetic(load_stack("2026-06"))
WIDTHS = (1, 31, 64, 100, 1024, 1500)


def rows_of(width: int, seed: int = 0) -> Any:
    """float32 [9, width] off the grid, with zeros, infinities, not-a-numbers, large and tiny values among them."""
    random = np.random.default_rng(seed)
    rows = random.standard_normal((9, width)).astype(np.float32) * np.float32(8)
    rows[1] *= np.float32(2.0**30)
    rows[2] *= np.float32(2.0**-33)
    rows[3, :: max(1, width // 3)] = np.inf
    rows[4, width // 2] = np.nan
    rows[5, width // 2] = -np.inf
    rows[6] = 0.0
    rows[7] = -0.0
    return rows


def on_grid(width: int, seed: int = 0) -> Any:
    return round_dl16_numpy(rows_of(width, seed))


def same(mine: Any, other: Any) -> bool:
    """Equal bits; one not-a-number is as good as another."""
    bits = mine.view(np.uint32) == other.view(np.uint32) if mine.dtype == np.float32 else mine == other
    return bool(np.all(bits | (np.isnan(mine) & np.isnan(other))))


def softmax_numpy(rows: Any) -> Any:
    table = table_of("exp", ARITHMETIC)
    with np.errstate(all="ignore"):
        shifted = round_dl16_numpy(rows - rows.max(-1, keepdims=True))
        weights = looked_up(shifted, table)
        return round_dl16_numpy(weights / sum_rows_numpy(weights)[..., None])


def looked_up(values: Any, table: Any) -> Any:
    words = np.empty(values.size, np.uint16)
    compiled.words_loop(values.reshape(-1), words)
    return table[words].reshape(values.shape)


class TestLookUp:
    """A function of one operand has a result for each of the 65,536 words."""

    def test_the_word_of_every_value(self) -> None:
        words = np.empty(1 << 16, np.uint16)
        compiled.words_loop(decode_table().copy(), words)
        assert np.array_equal(words, np.arange(1 << 16))

    @pytest.mark.parametrize("name", sorted(FUNCTIONS))
    def test_every_value_of_a_function(self, name: str) -> None:
        table, out = table_of(name, ARITHMETIC), np.empty(1 << 16, np.float32)
        compiled.table_loop(decode_table().copy(), table, out)
        assert same(out, table)

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
    def test_every_value_on_its_way_to_the_host(self, dtype: str) -> None:
        table, out = readback_table(dtype, ARITHMETIC.stack), np.empty(1 << 16, np.int16)
        compiled.table_loop(decode_table().copy(), table, out)
        assert np.array_equal(out, table)

    @pytest.mark.parametrize("stack", ["2026-06", "2026-08", "2026-09"])
    def test_every_value_on_its_way_to_the_host_by_arithmetic(self, stack: str) -> None:
        out = np.empty(1 << 16, np.int16)
        compiled.float16_loop(decode_table().copy(), out)
        assert np.array_equal(out, readback_table("float16", load_stack(stack)))

    @pytest.mark.parametrize(
        ("stack", "dtype"),
        [("2025-11", "float16"), ("2026-04", "float16"), ("2026-06", "float16"), ("2026-06", "bfloat16")],
    )
    def test_every_value_is_read_back_as_the_table_of_its_day_says(self, stack: str, dtype: str) -> None:
        """Whether by arithmetic or by looking up."""
        profile, out = load_stack(stack), np.empty(1 << 16, np.int16)
        _readback(dtype, profile)(decode_table().copy(), out)
        assert np.array_equal(out, readback_table(dtype, profile))

    @pytest.mark.parametrize("size", [0, 1, compiled.BLOCK - 1, compiled.BLOCK, compiled.BLOCK + 1, 5000])
    def test_any_number_of_values(self, size: int) -> None:
        table = table_of("gelufwd", ARITHMETIC)
        values = np.resize(on_grid(1000).reshape(-1), size)
        out = np.empty(size, np.float32)
        compiled.table_loop(values, table, out)
        assert same(out, looked_up(values, table))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("width", WIDTHS)
class TestColumns:
    """What follows a product, on some of its columns; the others stay as they are."""

    def parts(self, width: int) -> tuple[int, int]:
        return width // 3, width - width // 4

    def check(self, width: int, loop: Any, expected: Any, *operands: Any) -> None:
        first, last = self.parts(width)
        mine = rows_of(width)
        loop(mine, first, last, *operands)
        other = rows_of(width)
        other[:, first:last] = expected(other)[:, first:last]
        assert same(mine, other)

    def test_rounding(self, width: int) -> None:
        self.check(width, compiled.round_columns_loop, round_dl16_numpy)

    def test_a_further_chunk_of_the_depth(self, width: int) -> None:
        first, last = self.parts(width)
        part = rows_of(width, seed=1)
        given = np.ascontiguousarray(part[:, first:last])
        self.check(
            width,
            compiled.add_part_loop,
            lambda rows: round_dl16_numpy(round_dl16_numpy(rows) + round_dl16_numpy(part)),
            given,
        )

    def test_a_bias(self, width: int) -> None:
        bias = on_grid(width, seed=1)[0]
        self.check(width, compiled.bias_loop, lambda rows: round_dl16_numpy(round_dl16_numpy(rows) + bias), bias)

    def test_a_bias_and_a_function(self, width: int) -> None:
        bias, table = on_grid(width, seed=1)[0], table_of("gelufwd", ARITHMETIC)
        self.check(
            width,
            compiled.bias_table_loop,
            lambda rows: looked_up(round_dl16_numpy(round_dl16_numpy(rows) + bias), table),
            bias,
            table,
        )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("width", WIDTHS)
class TestRows:
    def test_softmax(self, width: int) -> None:
        rows, out = on_grid(width), np.empty((9, width), np.float32)
        table = table_of("exp", ARITHMETIC)
        compiled.softmax_into_loop(rows, out, table)
        in_place = rows.copy()
        compiled.softmax_loop(in_place, table)
        assert same(out, softmax_numpy(rows))
        assert same(in_place, out)

    @pytest.mark.parametrize("mask_shape", [(1, 1, 3), (1, 1, 1), (2, 1, 3), (2, 3, 3), (1, 3, 1)])
    def test_masked_softmax(self, width: int, mask_shape: tuple[int, int, int]) -> None:
        """Two batches of three heads of three rows; the last five matrices are those of one thread."""
        scores = np.stack([rows_of(width), rows_of(width, seed=1)]).reshape(6, 3, width)
        mask = np.resize(on_grid(width, seed=2)[:6], (*mask_shape, width)).copy()
        added = np.broadcast_to(mask, (2, 3, 3, width)).reshape(6, 3, width)
        expected = softmax_numpy(round_dl16_numpy(round_dl16_numpy(scores) + added))
        compiled.masked_softmax_loop(scores[1:], mask, 1, 3, table_of("exp", ARITHMETIC))
        assert same(scores[1:], expected[1:])

    def test_softmax_of_a_product(self, width: int) -> None:
        scores = rows_of(width).reshape(3, 3, width)
        expected = softmax_numpy(round_dl16_numpy(scores))
        compiled.raw_softmax_loop(scores, table_of("exp", ARITHMETIC))
        assert same(scores, expected)

    def test_a_sum_without_a_factor(self, width: int) -> None:
        rows, out = on_grid(width), np.empty(9, np.float32)
        compiled.sum_rows_loop(rows, np.float32(1), out)
        assert same(out, sum_rows_numpy(rows))

    def test_a_strided_copy_times_a_factor(self, width: int) -> None:
        flat = on_grid(width).reshape(-1)
        sizes, strides = np.array([1, 3, 3], np.int64), np.array([0, width, 3 * width], np.int64)
        out = np.empty((9, width), np.float32)
        compiled.strided_rows_loop(flat, 0, sizes, strides, out, np.float32(0.125), 0)
        expected = flat.reshape(3, 3, width).transpose(1, 0, 2).reshape(9, width) * np.float32(0.125)
        assert same(out, round_dl16_numpy(expected))

    def test_heads_that_are_stored_side_by_side(self, width: int) -> None:
        """Matrices 1 to 3 of two batches of two; the others stay as they are."""
        matrices = np.stack([rows_of(width, seed) for seed in range(4)])
        out = np.full((2, 9, 2, width), np.float32(7))
        expected = out.copy()
        for n in (1, 2, 3):
            expected[n // 2, :, n % 2] = round_dl16_numpy(matrices[n])
        compiled.store_heads_loop(matrices[1:], 1, out)
        assert same(out, expected)

    @pytest.mark.parametrize("narrow", [True, False])
    def test_the_norm_of_a_sum_is_that_of_the_sum(self, width: int, narrow: bool) -> None:
        x, y = on_grid(width), on_grid(width, seed=1)
        weight, bias = on_grid(width, seed=2)[:2]
        mine, other = np.empty_like(x), np.empty_like(x)
        compiled_norms.add_and_norm_loop(x, y, narrow, 1e-5, weight, bias, mine)
        compiled_norms.layer_norm_loop(round_dl16_numpy(x + y), narrow, 1e-5, weight, bias, other)
        assert same(mine, other)
