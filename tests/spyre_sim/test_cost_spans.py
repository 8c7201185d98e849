"""Splits that a core's span of 256 MB needs, in the division of a kernel and in what it costs (W3)."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spyre_sim.cost.matmul_division import divide_matmul
from spyre_sim.cost.op_division import divided
from spyre_sim.cost.products import product_shape, split_of
from spyre_sim.cost.program import program_cost
from spyre_sim.stacks import load_stack
from tests.spyre_sim.test_cost_program import JUNE, op, program, value

HIDDEN = 2048
LIMIT = JUNE.constants.max_span_bytes
WITHOUT_LIMIT = dataclasses.replace(JUNE, constants=dataclasses.replace(JUNE.constants, max_span_bytes=1 << 60))


def head(vocabulary: int, rows: int = 64, hidden: int = HIDDEN):
    """A product of activations with an output head."""
    return op("batchmatmul", [value(1, rows, hidden), value(hidden, vocabulary)], value(1, rows, vocabulary))


def test_a_head_within_the_span_is_the_planners_to_divide():
    split = split_of(product_shape(head(32768)), JUNE)
    assert split == divide_matmul(1, 64, 32768, HIDDEN, 32, shared_weight=True)


def test_a_head_beyond_it_is_divided_along_its_vocabulary():
    """2376 sticks: 3 parts bring it within the span (W3), the cost model declines (W4), and 27 divide it (W5)."""
    split, free = (split_of(product_shape(head(152064)), stack) for stack in (JUNE, WITHOUT_LIMIT))
    assert (split.b, split.m, split.n, split.k) == (1, 1, 27, 1)
    assert (free.b, free.m, free.n, free.k) == (1, 4, 8, 1)


def test_a_head_whose_sticks_have_a_large_prime_overflows_and_the_stack_goes_on():
    """2374 = 2 * 1187 (T19, S29)."""
    found = divided(head(151936), JUNE)
    assert found.splits["n"] == 2 and found.overflowing == ("right",)


def test_the_cost_is_that_of_the_division():
    """27 cores instead of 32, but with all rows on each, so that its array is full."""
    products = head(152064)
    made = program([products], [products.output])
    limited, free = (program_cost(made, stack).kernels[0].cost for stack in (JUNE, WITHOUT_LIMIT))
    rate = JUNE.constants.matmul_mac_per_ns * 1e3
    assert limited.macs == free.macs == 64 * 152064 * HIDDEN
    assert limited.compute_us == pytest.approx(limited.macs / 27 / rate)
    assert free.compute_us == pytest.approx(free.macs / 32 / (rate * (16 / 64) ** 0.35))  # C4: 16 rows a core


def test_other_kernels_cost_what_they_cost():
    """The rate of memory does not depend on the number of cores (C2)."""
    large = value(40000, 65536)
    made = op("exp", [large], value(40000, 65536))
    assert divided(made, JUNE).splits["d1"] > 1
    costs = [program_cost(program([made], [made.output]), stack) for stack in (JUNE, WITHOUT_LIMIT)]
    assert costs[0].total_us == costs[1].total_us


def test_a_gather_from_a_large_table_is_divided_along_its_rows():
    """O12: at least in 4, which is what a table of 1 GiB needs."""
    august = load_stack("2026-08")
    found = divided(op("gather", [value(262144, 2048), value(64)], value(64, 2048)), august)
    assert found.splits["d1"] % 4 == 0 and found.span_bytes <= LIMIT and not found.overflowing


@given(
    rows=st.integers(1, 512), sticks=st.integers(1, 4000), hidden=st.sampled_from([64, 1024, 2048, 4096]),
)  # fmt: skip
def test_no_split_of_a_product_takes_more_cores_than_there_are_nor_cuts_what_it_does_not_divide(rows, sticks, hidden):
    made = head(64 * sticks, rows, hidden)
    found = divided(made, JUNE)
    assert math.prod(found.splits.values()) <= 32
    assert rows % found.splits["m"] == 0 and sticks % found.splits["n"] == 0
    assert found.overflowing or found.span_bytes <= LIMIT
