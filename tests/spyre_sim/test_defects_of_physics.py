"""Silent failures that no switch makes: they come of formats, of overflow, of what lies beyond a tensor's width."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import spyre_sim
from spyre_sim.stacks import Stack
from tests.spyre_sim.test_defects import error, half, with_defects


def memory(lanes: str, base: str = "2026-06", share: float = 0.0) -> Stack:
    """A profile without compiler bugs whose fresh memory holds zeros, random words or not-a-number (L4, U13)."""
    stack = with_defects(base=base)
    numerics = dataclasses.replace(stack.numerics, tail_lanes=lanes, tail_nan_share=share)
    return dataclasses.replace(stack, numerics=numerics)


def run(function, *args, stack: str | Stack = "2026-06") -> torch.Tensor:
    return spyre_sim.compile(function, args, stack=stack)(*args)


class TestTailLanes:
    """S20 and S21: a width of 100 leaves 28 lanes of the second stick to what memory held."""

    X, W = half(16, 100), half(100, 64)

    @staticmethod
    def weighted(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return x.exp() @ w

    def test_exp_of_garbage_overflows_and_reaches_every_result_of_the_product(self) -> None:
        assert run(self.weighted, self.X, self.W, stack=memory("garbage")).isnan().all()

    def test_either_op_alone_is_right(self) -> None:
        assert error(torch.exp, self.X, stack=memory("garbage")) < 0.01
        assert error(torch.matmul, self.X, self.W, stack=memory("garbage")) < 0.01

    def test_clean_memory_or_whole_sticks_are_right(self) -> None:
        assert error(self.weighted, self.X, self.W, stack=memory("zero")) < 0.02
        assert error(self.weighted, half(16, 128), half(128, 64), stack=memory("garbage")) < 0.02

    def test_a_matmul_that_masks_is_right(self) -> None:
        stack = memory("garbage")
        masking = dataclasses.replace(stack.numerics, matmul_masks_tail=True)
        assert error(self.weighted, self.X, self.W, stack=dataclasses.replace(stack, numerics=masking)) < 0.02

    def test_from_september_on_exp_is_masked_and_its_tail_is_nothing(self) -> None:
        """N18: its lanes hold -1e4 then."""
        assert error(self.weighted, self.X, self.W, stack=memory("garbage", "2026-09")) < 0.02

    def test_a_sum_behind_exp_is_lost_too(self) -> None:
        """S21: not-a-number survives the multiplication by zero and reaches the sum (N6)."""
        function = lambda x: x.exp().sum(-1)  # noqa: E731
        assert run(function, self.X, stack=memory("garbage")).isnan().all()
        assert error(function, self.X, stack=memory("zero")) < 0.02
        assert error(lambda x: x.sum(-1), self.X, stack=memory("garbage")) < 0.02

    def test_attention_over_keys_that_end_inside_a_stick(self) -> None:
        """S20 in place: the scores' last stick is the product's own fresh memory."""
        q, k = half(1, 2, 64, 64), half(1, 2, 100, 64)
        attend = lambda q, k: F.scaled_dot_product_attention(q, k, k)  # noqa: E731
        assert run(attend, q, k, stack=memory("garbage")).isnan().any()
        assert error(attend, q, k, stack=memory("zero")) < 0.02

    def test_one_word_of_memory_in_a_hundred_is_not_a_number(self) -> None:
        """Without any op that makes one: only the rows whose tail has it are lost."""
        lost = run(torch.matmul, self.X, self.W, stack=memory("garbage", share=0.01)).isnan()
        assert 0 < int(lost.any(-1).sum()) < 16
        assert torch.equal(lost.any(-1), lost.all(-1))

    def test_views_carry_their_tails_along(self) -> None:
        turned = lambda x, w: x.exp().view(2, 8, 100).transpose(0, 1) @ w  # noqa: E731
        assert run(turned, self.X, self.W, stack=memory("garbage")).isnan().all()


class TestOverflow:
    def test_a_padded_row_that_overflowed_survives_its_mask(self) -> None:
        """S62: 0 * inf. The mask alone is right, infinities from the host included (N13)."""
        x, mask = half(4, 64), torch.ones(4, 1).half()
        x[3], mask[3] = 60000.0, 0.0
        got = run(lambda x, m: (x * x * x) * m, x, mask)
        assert got[3].isnan().all()
        assert got[:3].isfinite().all()
        x[3] = float("inf")
        assert torch.equal(run(lambda x, m: x * m, x, mask)[3], torch.zeros(64).half())

    def test_zero_logits_of_a_padded_head_win(self) -> None:
        """S63: rows of zeros give zero, and every real logit is below; cropped they are right."""
        head = nn.Linear(64, 128, bias=False).half()
        with torch.no_grad():
            head.weight.abs_().neg_()
            head.weight[100:] = 0.0
        logits = run(head, half(4, 64).abs())
        assert (logits.argmax(-1) >= 100).all()
        assert (logits[:, :100].argmax(-1) < 100).all()


class TestFormats:
    def test_subnormals_are_halved_on_every_round_trip(self) -> None:
        """S35, with the published chain (N17)."""
        x, seen = torch.full((1, 64), 2.9981e-05).half(), []
        for _ in range(3):
            x = run(lambda x: x.clone(), x)
            seen.append(float(x[0, 0]))
        assert seen == pytest.approx([1.4961e-05, 7.4506e-06, 3.6955e-06], rel=1e-4)

    def test_a_norm_over_a_padded_head_rescales_it(self) -> None:
        """S69: the mean runs over the padding; twice the width makes rows larger by the square root of two."""
        x = half(1, 4, 64)
        norm = lambda x: x * (x * x).mean(-1, keepdim=True).rsqrt()  # noqa: E731
        padded = run(norm, F.pad(x, (0, 64)))[..., :64].float()
        assert float((padded / norm(x.float())).mean()) == pytest.approx(2**0.5, rel=0.01)

    def test_the_mean_of_tiny_squares(self) -> None:
        """S47: 18 times too large in April, by nothing but 1/N and its rounding (A10)."""
        torch.manual_seed(0)
        x = (torch.randn(1, 4096) * 0.001).half()
        got = run(lambda x: (x * x).mean(-1), x, stack="2026-04")
        assert float(got[0]) / float(x.float().square().mean()) == pytest.approx(18.0, rel=0.2)


class TestRepeatedIndices:
    """S54 and S60: rows are gathered, added to and scattered, so of two updates of one row the last is what stays."""

    X, ONES = torch.arange(8.0)[:, None].expand(8, 64).half().contiguous(), torch.ones(3, 64).half()

    @pytest.mark.parametrize(
        "function",
        [
            lambda x, i, y: x.index_add(0, i, y),
            lambda x, i, y: x.index_put((i,), y, accumulate=True),
        ],
    )
    @pytest.mark.parametrize(("rows", "left"), [([1, 2, 3], [0, 2, 3, 4]), ([1, 1, 2], [0, 2, 3, 3])])
    def test_one_update_survives(self, function, rows: list[int], left: list[int]) -> None:
        got = run(function, self.X, torch.tensor(rows), self.ONES, stack="2026-09")
        assert got[:4, 0].tolist() == left
