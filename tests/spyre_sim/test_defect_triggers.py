"""What sets a silent failure off and what does not: both sides of each trigger, in the words of the facts."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import spyre_dsl.blocks.placement  # noqa: F401  (registers torch.ops.spyre.host)
import spyre_sim
from tests.spyre_sim.test_defects import error, half, with_defects

SDPA = F.scaled_dot_product_attention
SEEN = torch.ones(2, 1, 128, 128, dtype=torch.bool)
Q = half(2, 2, 128, 64)
W = half(128, 128) / 8
TOKENS = half(2, 64, 128)


def triggers(name: str, function, *args, stack: str) -> bool:
    return name in spyre_sim.compile(function, args, stack=with_defects(name, base=stack)).report.defects


def masked(low: float, dtype: torch.dtype = torch.float16):
    """Attention with a boolean mask that the host turns into `low` where it is false."""
    return lambda q, m: SDPA(q, q, q, attn_mask=torch.ops.spyre.host(torch.where(m, 0.0, low).to(dtype)))


class TestInfiniteMask:
    """S1: -inf in an additive mask, rows padded on the left, online softmax."""

    @pytest.mark.parametrize("low", [-math.inf, torch.finfo(torch.float32).min])
    def test_a_mask_of_minus_infinity(self, low):
        assert triggers("S1", masked(low), Q, SEEN, stack="2026-09")

    @pytest.mark.parametrize("low", [-32752.0, torch.finfo(torch.float16).min, -10000.0])
    def test_a_mask_of_finite_fills_does_not(self, low):
        assert not triggers("S1", masked(low), Q, SEEN, stack="2026-09")

    def test_half_of_the_least_bfloat16_is_an_infinity_to_the_device(self):
        """N13: the copy saturates whatever has a larger exponent than the format."""
        low = torch.finfo(torch.bfloat16).min / 2
        assert triggers("S1", masked(low, torch.bfloat16), Q.bfloat16(), SEEN, stack="2026-09")

    def test_a_mask_that_is_an_argument_may_hold_it(self):
        assert triggers("S1", lambda q, m: SDPA(q, q, q, attn_mask=m), Q, half(2, 1, 128, 128), stack="2026-09")

    def test_no_mask_does_not(self):
        assert not triggers("S1", lambda q: SDPA(q, q, q), Q, stack="2026-09")

    def test_a_causal_mask_does_not_since_every_row_sees_the_first_key(self):
        def causal(q):
            return SDPA(q, q, q, is_causal=True)

        assert not triggers("S1", causal, Q, stack="2026-09")
        assert error(causal, Q, stack=with_defects("S1", base="2026-09")) < 0.02

    def test_a_constant_mask_does_where_a_row_begins_with_masked_keys(self):
        mask = torch.zeros(2, 1, 128, 128).half()
        mask[1, ..., :64] = -math.inf

        class Padded(nn.Module):
            def __init__(self, mask):
                super().__init__()
                self.mask = mask

            def forward(self, q):
                return SDPA(q, q, q, attn_mask=self.mask)

        assert triggers("S1", Padded(mask), Q, stack="2026-09")

    def test_one_softmax_over_all_keys_does_not(self):
        assert not triggers("S1", masked(-math.inf), Q, SEEN, stack="2026-06")

    def test_keys_that_are_masked_behind_those_that_are_seen_are_harmless(self):
        """As in a cache that is not full (M19), with -inf as the fill."""
        mask = torch.zeros(2, 1, 128, 128).half()
        mask[..., 64:] = -math.inf
        function = lambda q, m: SDPA(q, q, q, attn_mask=m)  # noqa: E731
        assert error(function, Q, mask, stack=with_defects("S1", base="2026-09")) < 0.02


class TestPool:
    """S4: intermediates in the pool; those in the scratchpad are not there (Q7)."""

    @staticmethod
    def of_products(x, w):
        first = x @ w
        return first + first @ w @ w

    @staticmethod
    def of_sums(x, w):
        first = x + x
        return first + (first * 0.5 + 1.0)

    def test_results_of_products(self):
        assert triggers("S4", self.of_products, TOKENS, W, stack="2026-08")

    def test_results_that_stay_in_the_scratchpad_do_not(self):
        assert not triggers("S4", self.of_sums, TOKENS, W, stack="2026-08")

    def test_a_stack_without_a_pool_does_not(self):
        assert not triggers("S4", self.of_products, TOKENS, W, stack="2026-04")


class TestHeads:
    """S13: x.view(B, S, H, D).transpose(1, 2), however the exchange of dims is spelled and whichever operand it is."""

    @pytest.mark.parametrize(
        "exchange",
        [lambda x: x.transpose(1, 2), lambda x: x.permute(0, 2, 1, 3), lambda x: x.swapaxes(1, 2)],
        ids=["transpose", "permute", "swapaxes"],
    )
    @pytest.mark.parametrize("second", [False, True])
    def test_it_does(self, exchange, second):
        def function(x, w, other):
            seen = exchange((x @ w).view(2, 64, 2, 64))
            return other + seen if second else seen + other

        assert triggers("S13", function, TOKENS, W, half(2, 2, 64, 64), stack="2026-04")
        stack = with_defects("S13", base="2026-04")
        assert error(function, TOKENS, W, half(2, 2, 64, 64), stack=stack) > 0.1

    def test_other_orders_of_the_dims_do_not(self):
        def function(x, w):
            return (x @ w).view(2, 64, 2, 64).transpose(0, 2) * 2.0

        assert not triggers("S13", function, TOKENS, W, stack="2026-04")


class TestRotation:
    """S7: a rotation straight into attention, in any of its forms."""

    TABLE = half(64, 64)

    def test_the_sum_of_two_products(self):
        def function(x, t):
            q = x * t + x * t
            return SDPA(q, q, x)

        assert triggers("S7", function, half(1, 2, 64, 64), self.TABLE, stack="2026-08")

    def test_the_sum_over_pairs(self):
        """T2: out = sum(R * x) over the pair axis, then flat."""

        def function(x, r):
            q = (r * x.view(1, 2, 64, 1, 2, 64)).sum(-2).reshape(1, 2, 64, 128)
            return SDPA(q, q, q)

        assert triggers("S7", function, half(1, 2, 64, 128), half(64, 2, 2, 64), stack="2026-08")

    def test_what_is_no_rotation_does_not(self):
        assert not triggers("S7", lambda x: SDPA(x * 2.0, x * 2.0, x), half(1, 2, 64, 64), stack="2026-08")


class TestRaggedKeys:
    """S8: a length that is no multiple of 64, also where attention is tiled: #3113 is open."""

    @pytest.mark.parametrize("stack", ["2026-06", "2026-08", "2026-09"])
    def test_more_keys_than_a_stick_and_not_whole_sticks(self, stack):
        x = half(1, 2, 100, 64) * 3
        function = lambda x: SDPA(x, x, x)  # noqa: E731
        assert triggers("S8", function, x, stack=stack)
        assert error(function, x, stack=with_defects("S8", base=stack)) > 0.1
        assert error(function, x, stack=with_defects(base=stack)) < 0.02

    @pytest.mark.parametrize("length", [28, 64, 128])
    @pytest.mark.parametrize("stack", ["2026-06", "2026-09"])
    def test_whole_sticks_or_less_than_one_do_not(self, length, stack):
        assert not triggers("S8", lambda x: SDPA(x, x, x), half(1, 2, length, 64), stack=stack)


class TestNormOfAView:
    """S12: an RMSNorm is its kernels (A25), called or spelled out."""

    @staticmethod
    def spelled_out(x):
        x = x.view(1, 64, 4, 64).transpose(1, 2)
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-3)

    def test_spelled_out(self):
        x = half(1, 64, 256) * 2
        assert triggers("S12", self.spelled_out, x, stack="2026-06")
        assert error(self.spelled_out, x, stack=with_defects("S12")) > 0.1
        assert error(self.spelled_out, x, stack=with_defects()) < 0.02

    def test_squares_that_are_no_norm_do_not(self):
        function = lambda x: (x.view(1, 64, 4, 64).transpose(1, 2) * 1.0).square()  # noqa: E731
        assert not triggers("S12", function, half(1, 64, 256), stack="2026-06")


class TestTable:
    """S17: positions times frequencies is an outer product; other products under a cosine are no rotary table."""

    def test_a_cosine_of_activations_times_a_weight_does_not(self):
        snake = lambda x, a: x + (x * a).cos()  # noqa: E731
        assert not triggers("S17", snake, half(2, 64, 128), half(128), stack="2026-06")


class TestTransposedReadOfTheScratchpad:
    """S24: a buffer in the scratchpad, read by a restickify; a result of the graph never lies there."""

    def test_a_result_that_is_returned_does_not(self):
        def function(x, y):
            twice = x + x
            return twice, twice.t() + y

        assert not triggers("S24", function, half(64, 128), half(128, 64), stack="2026-06")


class TestUnitBatch:
    """S30: the right side a graph input, or its expand (Q12)."""

    X = half(1, 64, 128)

    @pytest.mark.parametrize(
        "right",
        [lambda w: w, lambda w: w[None], lambda w: w.expand(1, 128, 128)],
        ids=["2-D", "unsqueezed", "expanded"],
    )
    def test_it_does(self, right):
        assert triggers("S30", lambda x, w: x @ right(w), self.X, W, stack="2026-06")

    @pytest.mark.parametrize(
        "right", [lambda w: w + w, lambda w: w.t(), lambda w: w[:, :32]], ids=["computed", "transposed", "part"]
    )
    def test_anything_else_does_not(self, right):
        assert not triggers("S30", lambda x, w: x @ right(w), self.X, W, stack="2026-06")


class TestSlices:
    """S33: of any 4-D view whose dims are in another order."""

    def test_of_exchanged_rows_and_columns(self):
        def function(x, w):
            return (x @ w).view(2, 64, 2, 64).transpose(0, 1)[32:] * 2.0

        assert triggers("S33", function, TOKENS, W, stack="2026-06")

    def test_of_a_view_in_its_own_order_does_not(self):
        assert not triggers("S33", lambda x, w: (x @ w).view(2, 64, 2, 64)[:, 32:] * 2.0, TOKENS, W, stack="2026-06")


class TestCompaction:
    """S46: a sum over the stick whose sparse result is made dense; one that keeps its dim is only broadcast."""

    def test_a_sum_that_drops_its_dim(self):
        assert triggers("S46", lambda x: x.sum(-1), half(100, 128), stack="2025-11")

    def test_softmax_does_not(self):
        assert not triggers("S46", lambda x: x.softmax(-1), half(100, 128), stack="2025-11")
        assert error(lambda x: x.softmax(-1), half(100, 128), stack=with_defects("S46", base="2025-11")) < 0.02


class TestMeanOfRows:
    """S50: the mean of rows, which keeps its dim."""

    def test_of_rows(self):
        assert triggers("S50", lambda x: x.mean(-1, keepdim=True), torch.randn(8, 64), stack="2026-06")

    def test_of_columns_does_not(self):
        assert not triggers("S50", lambda x: x.mean(0, keepdim=True), torch.randn(8, 64), stack="2026-06")


class TestInfinitiesAdded:
    """S61: masks, not the sums of a residual stream."""

    def test_two_arguments(self):
        x = half(4, 64).bfloat16()
        assert triggers("S61", lambda x, y: x + y, x, x.clone(), stack="2026-06")

    def test_a_residual_does_not(self):
        x, w = half(4, 64).bfloat16(), half(64, 64).bfloat16()
        assert not triggers("S61", lambda x, w: x + x @ w, x, w, stack="2026-06")


class TestNarrowedOperand:
    """S65: a view of the sequence at an offset; parts of a fused projection are read right (T63)."""

    STACK = "2026-04"

    def test_later_rows(self):
        assert triggers("S65", lambda x, y: x[:, 8:] @ y, half(2, 40, 64), half(2, 64, 64), stack=self.STACK)

    def test_later_keys(self):
        function = lambda q, k: q @ k[:, 64:].transpose(1, 2)  # noqa: E731
        assert triggers("S65", function, half(2, 8, 64), half(2, 128, 64), stack=self.STACK)

    def test_a_copy_copies_the_wrong_words(self):
        function = lambda x, y: x[:, 8:].clone() @ y  # noqa: E731
        args = (half(2, 40, 64), half(2, 64, 64))
        assert error(function, *args, stack=with_defects("S65", base=self.STACK)) > 0.1

    def test_a_copy_that_no_product_reads_is_right(self):
        assert not triggers("S65", lambda x: x[:, 8:].clone() * 2.0, half(2, 40, 64), stack=self.STACK)

    def test_a_part_of_a_fused_projection_does_not(self):
        function = lambda x, y: x[..., 64:].clone() @ y  # noqa: E731
        assert not triggers("S65", function, half(2, 40, 128), half(2, 64, 64), stack=self.STACK)

    def test_a_later_batch_does_not(self):
        function = lambda x, y: x[1:] @ y  # noqa: E731
        assert not triggers("S65", function, half(3, 40, 64), half(2, 64, 64), stack=self.STACK)
