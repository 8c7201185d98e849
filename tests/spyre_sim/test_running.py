"""What compiled programs compute: rounding after every kernel, structures, writes, host calls, the two doors."""

from __future__ import annotations

import dataclasses
import os

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import spyre_sim
from spyre_sim.execute import Executor
from spyre_sim.formats import round_dl16

torch.manual_seed(0)


def half(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float16)


def run(function, *args, stack: str = "2026-06"):
    return spyre_sim.compile(function, args, stack=stack)(*args)


def on_grid(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(round_dl16(x.to(torch.float32).numpy()))


class Block(nn.Module):
    """A transformer block with everything that has a fused form."""

    def __init__(self, hidden: int = 128, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(3))
        self.up, self.down = nn.Linear(hidden, 2 * hidden), nn.Linear(2 * hidden, hidden)
        self.first, self.second = nn.LayerNorm(hidden), nn.LayerNorm(hidden)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        q, k, v = (layer(x).view(*x.shape[:-1], self.heads, -1).transpose(1, 2) for layer in self.qkv)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).reshape(x.shape)
        x = self.first(x + mixed)
        return self.second(x + self.down(F.gelu(self.up(x))))


class TestNumbers:
    def test_every_kernel_rounds_its_result(self) -> None:
        x, y = half(4, 64), half(4, 64)
        expected = on_grid(on_grid(on_grid(x) * on_grid(y)) + on_grid(x))
        assert torch.equal(run(lambda x, y: x * y + x, x, y).float(), expected)

    def test_numbers_are_tensors_of_the_device(self) -> None:
        x = on_grid(half(4, 64)).half()
        assert torch.equal(run(lambda x: x * 0.1, x).float(), on_grid(on_grid(torch.tensor([0.1])) * x.float()))

    def test_small_integers_multiply_exactly(self) -> None:
        x, y = (torch.randint(-4, 5, (64, 64)).half() for _ in range(2))
        assert torch.equal(run(torch.matmul, x, y).float(), x.float() @ y.float())

    def test_integers_add_exactly_up_to_the_format(self) -> None:
        x = torch.randint(-2, 3, (8, 64)).half()
        assert torch.equal(run(lambda x: x.sum(-1), x).float(), x.float().sum(-1))

    def test_weights_of_several_matrices_multiply_batch_by_batch(self) -> None:
        class Experts(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.weight = nn.Parameter(half(4, 128, 64) / 8)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x @ self.weight

        model, x = Experts(), half(2, 1, 16, 128)
        exact = x.float() @ model.weight.detach().float()
        assert torch.allclose(run(model, x).float(), exact, rtol=2e-2, atol=2e-2)

    def test_a_block_is_close_to_float32(self) -> None:
        block, x = Block().eval(), torch.randn(2, 64, 128)
        mask = torch.zeros(2, 1, 64, 64)
        mask[1, ..., 40:] = torch.finfo(torch.float16).min / 2
        with torch.no_grad():
            expected = block(x, mask).flatten(0, 1)
        got = run(block.half(), x.half(), mask.half()).float().flatten(0, 1)
        assert F.cosine_similarity(got, expected, dim=-1).min() > 0.9999

    @pytest.mark.parametrize(
        "mask", [None, (64, 64), (2, 64, 64), (2, 1, 64, 64), (2, 2, 64, 64), (1, 1, 1, 64), (1, 64)], ids=str
    )
    def test_fused_forms_have_the_same_numbers(self, mask: tuple[int, ...] | None) -> None:
        block, x = Block().half().eval(), half(2, 64, 128)
        args = (x,) if mask is None else (x, half(*mask))
        compiled = spyre_sim.compile(block, args)
        program, stack = compiled._program, compiled.stack
        fused, plain = (Executor(program, stack, fused=fused) for fused in (True, False))
        assert len(fused.steps) < len(plain.steps)
        leaves = list(args)
        assert torch.equal(fused.run(leaves)[0][0], plain.run(leaves)[0][0])

    def test_softmax_leaks_where_it_is_masked(self) -> None:
        x = torch.zeros(1, 64).half()
        x[:, 40:] = -32752.0
        assert 0 < run(lambda x: x.softmax(-1), x, stack="2026-04")[0, 50] < 4.9e-5  # A31

    def test_minus_infinity_arrives_finite(self) -> None:
        x = torch.full((1, 64), float("-inf")).half()
        assert torch.equal(run(lambda x: x * 2.0**-10, x), torch.full((1, 64), -32736.0).half())  # N14: -33521664

    def test_the_mean_of_tiny_squares_is_18_times_too_large(self) -> None:
        """S47, all the figures of A10 from a float16 and a bfloat16 copy of one input."""
        values = torch.randn(1, 4096, generator=torch.Generator().manual_seed(42)) * 0.001
        narrow, short = values.half(), values.bfloat16()
        mean, total = (lambda x: (x * x).mean(-1)), (lambda x: (x * x).sum(-1))
        assert run(mean, narrow, stack="2026-04").item() == pytest.approx(1.8120e-05, rel=1e-4)
        assert run(lambda x: total(x) / 4096, narrow, stack="2026-04").item() == pytest.approx(2.6226e-06, rel=1e-4)
        assert run(total, narrow, stack="2026-04").item() == pytest.approx(4.0741e-03, rel=1e-4)
        assert run(mean, short, stack="2026-04").item() == pytest.approx(6.1467e-07, rel=1e-4)
        assert run(total, short, stack="2026-04").item() == pytest.approx(4.0588e-03, rel=1e-2)

    def test_ideal_is_float64(self) -> None:
        block, x = Block().eval(), torch.randn(2, 64, 128)
        with torch.no_grad():
            expected = block.double()(x.double())
        got = run(block.float(), x, stack="ideal")
        assert got.dtype is torch.float64
        assert torch.allclose(got, expected, rtol=0, atol=1e-12)

    def test_ideal_through_torch_compile_has_the_dtypes_of_the_model(self) -> None:
        torch._dynamo.reset()
        x = half(4, 64)
        function = lambda x: (x + 0.1, x.float() * 2, x > 0, x.max(-1)[1])  # noqa: E731
        options = {"stack": "ideal"}
        got = torch.compile(function, backend="spyre_sim", dynamic=False, options=options)(x)
        assert [item.dtype for item in got] == [item.dtype for item in function(x)]
        assert torch.equal(got[0], (x.double() + 0.1).half())

    def test_a_trace_of_ideal_names_values_as_that_of_any_stack_does(self) -> None:
        x, given = half(4, 64), half(2, 64, 64)
        block = Block(64, 1).half()
        real, oracle = (spyre_sim.compile(block, (given,), stack=stack) for stack in ("2026-06", "ideal"))
        names = real.trace(given).values.keys() & oracle.trace(given).values.keys()
        assert {"linear", "gelu", "layer_norm", "scaled_dot_product_attention"} <= names
        step = oracle.trace(given).of_module("up")[0]
        assert (step.name, step.site.op, step.bundle) == ("linear_3.ideal", "aten.linear", -1)
        assert step.value.dtype is torch.float64
        traced = spyre_sim.compile(torch.exp, (x,), stack="ideal").trace(x)
        assert torch.equal(traced.result, x.double().exp())
        assert torch.equal(traced.values["exp"], traced.result)

    @pytest.mark.parametrize("what", ["cost", "plan"])
    def test_ideal_has_no_hardware(self, what: str) -> None:
        compiled = spyre_sim.compile(torch.exp, (half(4, 64),), stack="ideal")
        with pytest.raises(spyre_sim.RunError, match=f"no hardware, so there is no {what}"):
            getattr(compiled, what)()


class TestParameters:
    """What no source tells is a parameter of the profile: each has its effect, and none breaks a block."""

    @pytest.mark.parametrize(
        "changes",
        [
            {"sum_order": "chunks", "sum_within": "dl16"},
            {"sum_order": "chunks", "sum_within": "float32"},
            {"mean_factor": "total"},
            {"mean_constant": "float16"},
            {"matmul_across": "dl16", "matmul_chunk": 64},
            {"norm_moments": "float32"},
            {"rounding": "truncate"},
            {"function_ulps": 1.0},
            {"sdpa": "flash"},
        ],
        ids=str,
    )
    def test_a_block_survives_it(self, changes: dict) -> None:
        stack = spyre_sim.load_stack("2026-06")
        changed = dataclasses.replace(stack, numerics=dataclasses.replace(stack.numerics, **changes))
        block, x = Block().half().eval(), half(2, 64, 128)
        function = lambda x: block(x) + x.mean(-1, keepdim=True)  # noqa: E731
        results = [spyre_sim.compile(function, (x,), stack=profile)(x).float() for profile in (stack, changed)]
        assert F.cosine_similarity(*[result.flatten(0, 1) for result in results], dim=-1).min() > 0.999
        assert not torch.equal(*results) or "mean" in str(changes)


    def test_float32_is_narrowed_by_a_rounding_of_its_own(self) -> None:
        stack = spyre_sim.load_stack("2026-06")
        x = torch.full((2, 64), 1 + 2.0**-10)  # half way between two numbers of the format
        for mode, expected in (("ties-up", 1 + 2.0**-9), ("ties-even", 1.0), ("truncate", 1.0)):
            numerics = dataclasses.replace(stack.numerics, conversion_rounding=mode)
            profile = dataclasses.replace(stack, name=mode, numerics=numerics)
            got = spyre_sim.compile(lambda x: x.to(torch.float16), (x,), stack=profile)(x)
            assert (got == expected).all()  # U5


class TestStructure:
    def test_the_models_own_output_comes_back(self) -> None:
        got = run(lambda x: {"a": x + 1, "b": (x * 2, [x.sum()])}, half(4, 64))
        assert set(got) == {"a", "b"}
        assert got["b"][1][0].shape == ()

    def test_dtypes_are_those_of_the_model(self) -> None:
        x = half(4, 64)
        values, indices = run(lambda x: x.max(-1), x)
        assert (values.dtype, indices.dtype) == (torch.float16, torch.int64)
        assert torch.equal(indices, x.max(-1).indices)

    def test_keyword_arguments_may_come_in_any_order(self) -> None:
        x, y = half(4, 64), half(4, 64)
        compiled = spyre_sim.compile(lambda x, y: x - y, (), {"x": x, "y": y})
        assert torch.equal(compiled(y=y, x=x), compiled(x=x, y=y))

    def test_another_shape_is_refused(self) -> None:
        compiled = spyre_sim.compile(lambda x: x + 1, (half(4, 64),))
        with pytest.raises(spyre_sim.RunError, match=r"compiled for shape \(4, 64\)"):
            compiled(half(8, 64))

    def test_what_the_model_writes_is_written(self) -> None:
        class Counter(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("seen", torch.zeros(4, 64, dtype=torch.float16))

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                self.seen[1:3] = x[1:3]
                x.mul_(2)
                return self.seen + x

        model, x = Counter(), on_grid(half(4, 64)).half()
        before = x.clone()
        run(model, x)
        assert torch.equal(model.seen[1:3], before[1:3])
        assert torch.equal(x, 2 * before)

    @pytest.mark.parametrize("stack", ["2026-06", "ideal"])
    def test_what_one_call_writes_the_next_one_reads(self, stack: str) -> None:
        class Counter(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("calls", torch.zeros(64, dtype=torch.float16))

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                self.calls += 1
                return self.calls + x

        model, x = Counter(), torch.zeros(4, 64, dtype=torch.float16)
        compiled = spyre_sim.compile(model, (x,), stack=stack)
        assert [compiled(x)[0, 0].item() for _ in range(3)] == [1, 2, 3]
        assert model.calls[0] == 3

    @pytest.mark.parametrize("door", [run, lambda function, x: torch.compile(function, backend="spyre_sim")(x)])
    @pytest.mark.parametrize(
        "function",
        [
            lambda x: torch.ones(3),
            lambda x: torch.tensor([1.0, 2.0]),
            lambda x: (torch.arange(3), torch.full(x.shape, 7.0).view(-1), x),
            lambda x: torch.zeros_like(x),
        ],
    )
    def test_results_that_no_kernel_makes(self, function, door) -> None:
        torch._dynamo.reset()
        x = on_grid(half(4, 64)).half()
        torch.testing.assert_close(door(function, x), function(x))

    def test_an_observer_sees_every_kernel_with_its_place(self) -> None:
        block, x = Block().half(), half(2, 64, 128)
        compiled = spyre_sim.compile(block, (x,))
        seen = []
        compiled.observe(lambda op, value: seen.append(op), x)
        assert sum(op.is_kernel for op in seen) == compiled.report.kernels
        assert {"first", "qkv.0"} <= {op.site.module_path for op in seen}


class TestCaches:
    """A key/value cache of transformers is an argument, a result, and is written in place."""

    @pytest.fixture(scope="class")
    def model(self):
        from transformers import AutoModelForCausalLM, GPT2Config

        config = GPT2Config(n_layer=1, n_embd=128, n_head=2, vocab_size=128, bos_token_id=1, eos_token_id=1)
        return AutoModelForCausalLM.from_config(config).eval().half()

    def test_a_static_cache_holds_what_the_model_wrote(self, model) -> None:
        from transformers import StaticCache

        caches = [StaticCache(config=model.config, max_cache_len=128) for _ in range(2)]
        for cache in caches:
            cache.early_initialization(2, 2, 64, torch.float16, "cpu")
        ids, mask = torch.randint(0, 128, (2, 64)), torch.zeros(2, 1, 64, 128).half()
        mask[..., 64:] = -32752.0
        arguments = [{"input_ids": ids, "attention_mask": mask, "past_key_values": cache} for cache in caches]
        with torch.no_grad():
            expected = model(**arguments[1]).logits.float()
        spyre_sim.check(model, (), arguments[0])
        compiled = spyre_sim.compile(model, (), arguments[0])
        fresh = StaticCache(config=model.config, max_cache_len=128)
        fresh.early_initialization(2, 2, 64, torch.float16, "cpu")
        got = compiled(**{**arguments[0], "past_key_values": fresh}).logits.float()
        assert F.cosine_similarity(got.flatten(0, 1), expected.flatten(0, 1), dim=-1).min() > 0.999
        keys, wanted = fresh.layers[0].keys.float(), caches[1].layers[0].keys.float()
        assert (keys - wanted).abs().max() < 0.05 < wanted.abs().max()

    def test_a_growing_cache_comes_back(self, model) -> None:
        ids, mask = torch.randint(0, 128, (2, 64)), torch.zeros(2, 1, 64, 64).half()
        got = run_keywords(model, input_ids=ids, attention_mask=mask, use_cache=True)
        assert got.past_key_values.get_seq_length() == 64


def run_keywords(model, **kwargs):
    return spyre_sim.compile(model, (), kwargs)(**kwargs)


class TestReport:
    def test_kernels_are_launched_in_bundles_of_few_tensors(self) -> None:
        report = spyre_sim.compile(Block().half(), (half(2, 64, 128),)).report
        assert sum(len(bundle.kernels) for bundle in report.bundles) == report.kernels
        assert max(bundle.tensors for bundle in report.bundles) <= 6

    def test_a_fallback_is_shown_with_what_it_moves(self) -> None:
        table, ids = nn.Embedding(1000, 64).half(), torch.arange(64)
        report = spyre_sim.compile(table, (ids,)).report
        assert [(f.op, f.bytes) for f in report.host_fallbacks] == [("aten.embedding", 128_000 + 512 + 8192)]

    def test_a_fallback_closes_the_bundle(self) -> None:
        report = spyre_sim.compile(lambda x: (x + 1).cos() + 1, (half(4, 64),)).report
        assert [bundle.kernels for bundle in report.bundles] == [("add",), ("add",)]

    def test_weights_are_kept_as_words(self) -> None:
        layer = nn.Linear(512, 512, bias=False).half()
        assert spyre_sim.compile(layer, (half(4, 512),)).report.weight_bytes == 2 * 512 * 512


class TestDynamo:
    @pytest.fixture(autouse=True)
    def fresh(self) -> None:
        torch._dynamo.reset()

    def test_a_function(self) -> None:
        x = half(4, 64)
        compiled = torch.compile(lambda x: F.gelu(x) * 2, backend="spyre_sim", dynamic=False)
        assert torch.equal(compiled(x), run(lambda x: F.gelu(x) * 2, x))

    def test_a_model(self) -> None:
        block, x = Block().half(), half(2, 64, 128)
        with torch.no_grad():
            assert torch.equal(torch.compile(block, backend="spyre_sim", dynamic=False)(x), run(block, x))

    def test_its_stack_is_an_option(self) -> None:
        compiled = torch.compile(lambda x: x**2, backend="spyre_sim", dynamic=False, options={"stack": "2026-09"})
        assert compiled(torch.full((1, 64), 3.0).half())[0, 0] == 9

    def test_or_an_environment_variable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(os.environ, "SPYRE_SIM_STACK", "2026-09")
        assert torch.compile(lambda x: x**2, backend="spyre_sim", dynamic=False)(half(1, 64)).shape == (1, 64)

    def test_errors_are_the_simulators_own(self) -> None:
        with pytest.raises(spyre_sim.CompileError, match="no supported layout|No supported layout"):
            torch.compile(lambda x: x[:, 32:] + 1, backend="spyre_sim", dynamic=False)(half(4, 64))
        with pytest.raises(spyre_sim.RunError, match="unimplemented operation pow"):
            torch.compile(lambda x: x**2, backend="spyre_sim", dynamic=False)(half(4, 64))


def test_importing_the_package_loads_neither_torch_nor_numba() -> None:
    import subprocess
    import sys

    code = "import sys, spyre_sim; spyre_sim.load_stack('2026-06'); print({'torch', 'numba'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"
