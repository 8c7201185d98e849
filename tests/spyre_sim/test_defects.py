"""The silent failures: wrong as published where the stack has them, right where it has not."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import spyre_sim
from spyre_sim.defects import MODELLED
from spyre_sim.stacks import Stack
from spyre_sim.surroundings import FINDERS

torch.manual_seed(0)


def half(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float16)


def with_defects(*identifiers: str, base: str = "2026-06") -> Stack:
    """A profile with exactly these defects."""
    stack = spyre_sim.load_stack(base)
    return dataclasses.replace(stack, name="test", defects={name: None for name in identifiers})


def error(function, *args, stack: Stack) -> float:
    """The norm of the difference to float32, relative."""
    exact = function(*[a.float() if a.is_floating_point() else a for a in args])
    got = spyre_sim.compile(function, args, stack=stack)(*args)
    return float((got.float() - exact).norm() / exact.float().norm())


class Norm(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, (x.shape[-1],))


def rotated(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([-x[..., 64:], x[..., :64]], -1)


CASES = {
    "S5": (rotated, (half(2, 4, 64, 128),)),
    "S8": (lambda x: F.scaled_dot_product_attention(x, x, x), (half(1, 2, 100, 64) * 3,)),
    "S11": (Norm(), (half(4, 128),)),
    "S14": (lambda x, y: torch.cat([x, y], 0), (half(1, 64), half(3, 64))),
    "S30": (torch.matmul, (half(1, 64, 128), half(128, 64))),
    "S37": (lambda x: x.float(), (half(4, 32),)),
    "S40": (lambda x: x[1::2, :] + 0, (half(8, 64),)),
    "S44": (lambda x: x + x, (torch.randn(4, 64),)),
    "S46": (lambda x: x.sum(-1), (half(100, 128) + 1,)),
    "S48": (lambda x: x.sum(), (half(2, 3, 5, 7, 64) + 1,)),
    "S50": (lambda x: x.mean(-1, keepdim=True), (torch.randn(8, 64) + 1,)),
    "S51": (lambda x: x**3, (half(64, 64),)),
    "S52": (lambda x: x.topk(2, -1, False)[0], (half(8, 64),)),
    "S55": (lambda x: x.flip(0), (half(4, 64),)),
    "S58": (lambda x, i: torch.ops.aten.index.Tensor(x, [i]), (half(8, 64), torch.tensor(3))),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_with_it_and_right_without(name: str) -> None:
    function, args = CASES[name]
    assert error(function, *args, stack=with_defects(name)) > 0.1
    if name not in ("S55", "S51", "S52", "S58"):  # without these the June stack refuses the op
        assert error(function, *args, stack=with_defects()) < 0.02


def test_every_switch_has_a_case() -> None:
    through_the_other_door = {"S18", "S41", "S43"}  # in test_defects_in_context and test_defects_of_memory
    elsewhere = {"S1", "S39", "S53"} | set(FINDERS) | through_the_other_door
    assert set(CASES) | elsewhere == set(MODELLED)


class TestAsPublished:
    def test_the_cube_of_june_has_a_relative_error_of_about_one_and_a_half(self) -> None:
        assert error(lambda x: x**3, half(64, 64), stack=spyre_sim.load_stack("2026-06")) == pytest.approx(1.5, abs=0.3)

    def test_a_cube_in_september_is_three_factors(self) -> None:
        assert error(lambda x: x**3, half(64, 64), stack=spyre_sim.load_stack("2026-09")) < 0.002

    def test_the_unit_batch_matmul_reads_row_0(self) -> None:
        x, w = half(1, 256, 1024), half(1024, 1024) / 32
        got = spyre_sim.compile(torch.matmul, (x, w), stack=with_defects("S30"))(x, w).float()
        exact = x.float() @ w.float()
        assert abs(F.cosine_similarity(got.flatten(), exact.flatten(), dim=0)) < 0.1  # 0.0026 was published
        assert (got - exact).norm() / exact.norm() == pytest.approx(1.41, abs=0.06)

    def test_flip_repeats_the_last_slice(self) -> None:
        x = torch.arange(4.0)[:, None].expand(4, 64).half().contiguous()
        assert spyre_sim.compile(lambda x: x.flip(0), (x,))(x)[:, 0].tolist() == [3, 3, 3, 3]

    def test_widening_a_row_of_half_a_stick(self) -> None:
        x = torch.full((4, 32), 25.0).half()
        row = spyre_sim.compile(lambda x: x.float(), (x,))(x)[0].tolist()
        assert row == [25.0] * 16 + [0.0] * 16

    def test_widening_an_odd_number_of_half_sticks(self) -> None:
        """N49: 96 wide, the third float32 stick has no partner; it comes back staggered, and without its odd half."""
        x = torch.arange(96).half().expand(2, 96).contiguous()
        row = spyre_sim.compile(lambda x: x.float().half(), (x,))(x)[0].tolist()
        assert row == [*range(64), *range(64, 96, 2), *[0] * 16]
        fixed = spyre_sim.compile(lambda x: x.float().half(), (x,), stack=with_defects())(x)
        assert torch.equal(fixed, x)

    def test_nothing_takes_the_indices_of_an_early_topk(self) -> None:
        function = lambda x, y: y[x.topk(1, -1)[1].flatten()]  # noqa: E731
        (found,) = spyre_sim.check(function, (half(8, 64), half(64, 64)))
        assert found.text == "indices must be int64, byte or bool. Got [torch.float16]"  # O9

    def test_a_cast_to_int32_on_the_device(self) -> None:
        x = torch.arange(64)
        got = spyre_sim.compile(lambda x: x.to(torch.int32), (x,), stack=with_defects("S39"))(x)
        assert set(got.tolist()) == {-1431655766}

    def test_the_indices_of_topk_are_numbers_of_the_format(self) -> None:
        x = torch.zeros(2, 1984).half()  # 31 sticks: a power of two of them is refused (O9)
        x[:, 1301] = 1.0
        got = spyre_sim.compile(lambda x: x.topk(1, -1)[1], (x,), stack=with_defects("S53"))(x)
        assert got.tolist() == [[1302], [1302]]


class TestMaskOfMinusInfinity:
    """S1: rows whose first 64 keys are all masked, as left padding makes them."""

    def masked(self, fill: float) -> torch.Tensor:
        mask = torch.zeros(2, 1, 128, 128).half()
        mask[1, :, :, :64] = fill
        return mask

    def attend(self, fill: float, stack: str) -> torch.Tensor:
        x, mask = half(2, 2, 128, 64), self.masked(fill)
        function = lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m)  # noqa: E731
        got = spyre_sim.compile(function, (x, mask), stack=stack)(x, mask).float()
        return (got - function(x.float(), mask.float())).abs().amax(dim=(1, 2, 3))

    def test_the_padded_row_is_lost_in_online_softmax(self) -> None:
        stack = dataclasses.replace(spyre_sim.load_stack("2026-08"), defects={"S1": None})
        whole, padded = self.attend(float("-inf"), stack)
        assert whole < 0.02
        assert not padded < 0.5

    def test_a_finite_fill_is_right(self) -> None:
        stack = dataclasses.replace(spyre_sim.load_stack("2026-08"), defects={"S1": None})
        assert self.attend(torch.finfo(torch.float16).min / 2, stack).max() < 0.02

    def test_one_softmax_over_all_keys_is_right_either_way(self) -> None:
        assert self.attend(float("-inf"), "2026-06").max() < 0.02


class TestPhysics:
    def test_layer_norm_of_nearly_constant_rows_cancels(self) -> None:
        """S10: E[x^2] - E[x]^2 in 16 bits."""
        x = 100 + torch.rand(64, 128).half() * 0.5
        got = spyre_sim.compile(nn.LayerNorm(128).half(), (x,))(x)
        assert got.isnan().any()

    def test_what_was_widened_is_read_back_permuted(self) -> None:
        """S36: 207 of 256 elements misplaced (N45)."""
        x = torch.arange(256).half()[None]
        got = spyre_sim.compile(lambda x: x.float(), (x,), stack=with_defects())(x)
        assert sorted(got[0].tolist()) == list(range(256))
        assert int((got != x.float()).sum()) > 200

    def test_widening_and_narrowing_again_is_exact(self) -> None:
        x = torch.arange(256).half()[None]
        assert torch.equal(spyre_sim.compile(lambda x: (x.float() * 1).half(), (x,))(x), x)

    def test_values_beyond_float16_live_on_the_device(self) -> None:
        x = torch.full((1, 64), 60000.0).half()
        assert spyre_sim.compile(lambda x: (x * 4) * 0.25, (x,))(x).isfinite().all()
        assert spyre_sim.compile(lambda x: x * 4, (x,))(x).isinf().all()
