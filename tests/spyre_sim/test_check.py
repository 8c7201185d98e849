"""What the June 2026 stack refuses: every gap that an adapter bridges, with place and words."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import spyre_sim
from spyre_dsl.blocks.placement import host
from spyre_sim import Refusal


def half(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float16)


def refusals(function, *args, stack: str = "2026-06") -> tuple[Refusal, ...]:
    return spyre_sim.check(function, args, stack=stack)


def facts(function, *args, stack: str = "2026-06") -> list[str]:
    return [refusal.fact for refusal in refusals(function, *args, stack=stack)]


class Attention(nn.Module):
    """Self attention as BERT has it."""

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(hidden, hidden) for _ in range(3))
        self.out = nn.Linear(hidden, hidden)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        split = (*x.shape[:-1], self.heads, -1)
        q, k, v = (layer(x).view(split).transpose(1, 2) for layer in (self.query, self.key, self.value))
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out(mixed.transpose(1, 2).reshape(x.shape))


class TestHeads:
    def test_heads_narrower_than_a_stick_are_refused_once_per_layer(self) -> None:
        model = nn.Sequential(Attention(384, 12), Attention(384, 12)).half()
        found = refusals(model, half(2, 64, 384))
        assert [(r.fact, r.module_path, r.op) for r in found] == [
            ("E10", "0", "aten.scaled_dot_product_attention"),
            ("E10", "1", "aten.scaled_dot_product_attention"),
        ]
        assert "Unexpected stick expression 32*d1 + d3: expected Mod(var, 64), a bare variable, 0" in found[0].text
        assert found[0].source_line.startswith("test_check.py:")
        assert found[0].shape == (2, 12, 64, 32)

    def test_heads_of_a_stick_are_not(self) -> None:
        assert not refusals(Attention(384, 6).half(), half(2, 64, 384))

    def test_a_pointwise_kernel_cannot_read_them_either(self) -> None:
        assert facts(lambda x: x.view(2, 64, 12, 32) + 1, half(2, 64, 384)) == ["E10"]

    def test_a_view_alone_is_fine(self) -> None:
        assert not refusals(lambda x: (x + 1).view(2, 64, 12, 32), half(2, 64, 384))


class TestMasks:
    def test_a_comparison_of_integers_has_no_format_for_its_result(self) -> None:
        (found,) = refusals(lambda x: x > 3, torch.arange(64))
        assert (found.fact, found.when, found.kind) == ("N35", "compile", "unsupported")
        assert "greaterthan on DataFormats.IEEE_INT32" in found.text  # A8; in September in the words of N35
        (later,) = refusals(lambda x: x > 3, torch.arange(64), stack="2026-09")
        assert "torch.bool result of operand with device format DataFormats.IEEE_INT32" in later.text

    def test_nor_of_positions_that_are_known_while_compiling(self) -> None:
        assert facts(lambda x: (torch.arange(64) >= 5) * x, half(64)) == ["N35"]

    def test_an_index_of_more_than_one_tensor_is_refused(self) -> None:
        rows, columns = torch.arange(2)[:, None], torch.arange(64)[None]
        assert facts(lambda x: x[rows, columns], half(2, 64)) == ["T23"]

    def test_attention_adds_its_mask_so_a_boolean_one_is_refused(self) -> None:
        model, mask = Attention(128, 2).half(), torch.ones(2, 1, 64, 64, dtype=torch.bool)
        assert facts(model, half(2, 64, 128), mask) == ["T23"]

    def test_a_finite_mask_is_taken(self) -> None:
        assert not refusals(Attention(128, 2).half(), half(2, 64, 128), torch.zeros(2, 1, 64, 64).half())

    def test_all_of_it_is_fine_on_the_host(self) -> None:
        def masked(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            seen = mask.to(torch.bool)[torch.arange(2)[:, None], torch.arange(64)[None]] & (torch.arange(64) >= 0)
            return x + host(torch.where(seen, 0.0, -32752.0).to(x.dtype))

        assert not refusals(masked, half(2, 64), torch.ones(2, 64, dtype=torch.long))

    def test_a_mark_at_the_end_does_not_pull_the_model_over(self) -> None:
        layer = nn.Linear(64, 64).half()
        compiled = spyre_sim.compile(lambda x: host(layer(x).argmax(-1)), (half(4, 64),))
        assert compiled.report.kernels == 2


class TestSlices:
    def test_a_slice_of_the_stick_into_a_matmul(self) -> None:
        (found,) = refusals(lambda x, w: x[:, 64:128] @ w, half(4, 128), half(64, 64))
        assert found.fact == "E3"
        assert "input arg0 has stick expression with offset d1 + 64 (likely from slicing the stick" in found.text

    def test_the_same_slice_into_a_pointwise_kernel_is_fine(self) -> None:
        assert not refusals(lambda x: x[:, 64:128] + 1, half(4, 128))

    def test_a_slice_inside_a_stick(self) -> None:
        assert facts(lambda x: x[:, 32:64] + 1, half(4, 64)) == ["O14"]

    def test_the_values_of_a_fused_projection_go_straight_into_a_matmul(self) -> None:
        def attend(x: torch.Tensor) -> torch.Tensor:
            q, k, v = (part.view(2, 64, 2, 64).transpose(1, 2) for part in x.split(128, dim=-1))
            return F.scaled_dot_product_attention(q, k, v)

        assert facts(attend, half(2, 64, 384)) == ["E3"]

    def test_rotate_half_of_one_stick(self) -> None:
        def rotate(x: torch.Tensor) -> torch.Tensor:
            return torch.cat([-x[..., 32:], x[..., :32]], -1)

        assert facts(rotate, half(2, 4, 64, 64)) == ["O14", "E13"]


class TestPowers:
    def test_a_square_compiles_and_fails_when_run(self) -> None:
        (found,) = refusals(lambda x: x**2, half(4, 64))
        assert (found.fact, found.when) == ("E24", "run")
        assert found.text == "Invoked sdsc_fused_pow_0 which contains unimplemented operation pow"

    def test_a_cube_is_taken_and_wrong(self) -> None:
        assert not refusals(lambda x: x**3, half(4, 64))

    def test_september_takes_both(self) -> None:
        assert not refusals(lambda x: x**2 + x**3 + x**-0.5, half(4, 64), stack="2026-09")


class TestFloat32:
    def test_no_matmul(self) -> None:
        (found,) = refusals(lambda x, y: x @ y, torch.randn(4, 64), torch.randn(64, 64))
        assert "batchmatmul on DataFormats.IEEE_FP32" in found.text

    @pytest.mark.parametrize("function", [torch.tanh, torch.log, torch.nn.functional.gelu, lambda x: x > 0])
    def test_the_kernels_that_are_not_listed(self, function) -> None:
        assert facts(function, torch.randn(4, 64)) == ["A8"]

    @pytest.mark.parametrize("function", [torch.exp, torch.rsqrt, lambda x: x + x, lambda x: x.mean(-1)])
    def test_the_kernels_that_are(self, function) -> None:
        assert not refusals(function, torch.rand(4, 64) + 1)

    @pytest.mark.parametrize(("stack", "refused"), [("2026-06", ["A26"]), ("2026-08", [])])
    def test_a_norm_that_widens(self, stack: str, refused: list[str]) -> None:
        def norm(x: torch.Tensor) -> torch.Tensor:
            wide = x.to(torch.float32)
            return (wide * torch.rsqrt((wide * wide).mean(-1, keepdim=True) + 1e-6)).to(torch.float16)

        assert facts(norm, half(4, 128), stack=stack) == refused

    def test_what_was_narrowed_cannot_meet_what_was_not(self) -> None:
        (found,) = refusals(lambda x, y: x.to(torch.float16) * y, torch.randn(4, 64), half(4, 64))
        assert found.text.startswith("All inputs to an op must have same element arrangement, op: mul")


class TestWhatFollows:
    def test_every_refusal_of_a_model_in_one_pass_and_none_that_follows_from_another(self) -> None:
        def several(x: torch.Tensor) -> torch.Tensor:
            narrow = x.view(2, 64, 12, 32) * 2  # E10
            return (narrow.reshape(2, 64, 384) ** 2).std(-1)  # follows; E24; std has no kernel

        assert facts(several, half(2, 64, 384)) == ["E10", "E24", "E24"]

    def test_what_is_not_modelled_is_refused_by_name(self) -> None:
        found = refusals(lambda x: torch.special.bessel_j0(x), torch.ones(4, 64))
        assert [(r.kind, r.op) for r in found] == [("not_modelled", "aten.special_bessel_j0")]

    def test_a_quotient_cannot_be_rounded(self) -> None:
        (found,) = refusals(lambda x: torch.div(x, 3, rounding_mode="floor"), half(4, 64))
        assert (found.fact, found.when) == ("E24", "run")

    def test_compile_raises_the_first(self) -> None:
        with pytest.raises(spyre_sim.CompileError, match="Unexpected stick expression") as caught:
            spyre_sim.compile(Attention(384, 12).half(), (half(2, 64, 384),))
        assert (caught.value.fact, caught.value.op) == ("E10", "aten.scaled_dot_product_attention")
        assert isinstance(caught.value, RuntimeError)

    def test_a_run_time_refusal_is_raised_by_the_call(self) -> None:
        x = half(4, 64)
        compiled = spyre_sim.compile(lambda x: x**2, (x,))
        with pytest.raises(spyre_sim.RunError, match="unimplemented operation pow"):
            compiled(x)

    def test_the_ideal_stack_refuses_nothing(self) -> None:
        assert not refusals(Attention(384, 12), torch.randn(2, 64, 384), stack="ideal")


class TestDeadCode:
    """What nobody reads never reaches the stack (Q2), so it is not refused either."""

    def test_a_mask_that_no_layer_reads(self) -> None:
        def model(x: torch.Tensor) -> torch.Tensor:
            here = torch.arange(64)
            _ = (here[None] <= here[:, None]).to(torch.bool)
            return x * x

        assert facts(model, half(2, 64)) == []

    def test_the_same_mask_read(self) -> None:
        def model(x: torch.Tensor) -> torch.Tensor:
            here = torch.arange(64)
            return torch.where((here[None] <= here[:, None]).to(torch.bool), x, x * x)

        assert facts(model, half(64, 64))[0] == "N35"
