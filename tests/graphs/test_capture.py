"""Capture: one graph of a model that knows its modules, its source lines and what every module received."""

from __future__ import annotations

import sys

import pytest
import torch
from torch import nn
from transformers import AutoModel, LlamaConfig

from spyre_dsl.graphs.capture import CaptureError, capture
from spyre_dsl.graphs.sizes import SymbolicSize
from tests.captured import bert, gpt2, ops


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, *rest, scale=None, **more):
        for item in rest:
            x = x + item
        x = self.linear(x) * more["factor"]
        return x if scale is None else x * scale


INPUTS = (torch.ones(2, 3, 4), torch.ones(2, 3, 4))


def tiny_llama() -> LlamaConfig:
    return LlamaConfig(
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        intermediate_size=32,
        vocab_size=50,
    )


class TestTheGraph:
    def test_batch_and_sequence_stay_open(self):
        batch, sequence, width = bert().graph.by_op["layer_norm"][0].shape
        assert isinstance(batch, SymbolicSize) and isinstance(sequence, SymbolicSize) and width == 64

    def test_a_flag_is_no_input(self):
        assert [node.name for node in gpt2().graph.inputs] == ["input_ids", "attention_mask"]

    def test_positional_and_variable_arguments(self):
        captured = capture(Block().eval(), INPUTS, {"factor": torch.ones(4), "scale": None})
        assert ops(captured.graph) == ["add", "linear", "mul"]
        assert len(captured.graph.inputs) == 3

    def test_on_the_meta_device(self):
        with torch.device("meta"):
            model = Block().eval()
            inputs = (torch.ones(2, 3, 4), torch.ones(2, 3, 4))
            assert ops(capture(model, inputs, {"factor": torch.ones(4)}).graph) == ["add", "linear", "mul"]

    def test_caches_are_inputs_and_outputs(self):
        model = AutoModel.from_config(tiny_llama()).eval()
        ids = torch.randint(0, 50, (2, 5))
        cache = model(input_ids=ids).past_key_values
        graph = capture(model, (), {"input_ids": ids[:, :3], "past_key_values": cache}).graph
        assert len(graph.inputs) == 3 and len(graph.outputs) == 3

    def test_writing_in_place_is_made_functional(self):
        class InPlace(nn.Module):
            def forward(self, x):
                y = x * 2
                y[:, 0] = 0
                return y.pow(3)

        graph = capture(InPlace().eval(), (torch.ones(2, 3),)).graph
        assert not [node for node in graph.nodes if node.op == "changed" or node.op.endswith("_")]
        assert graph.outputs[0].arguments[0].op in ("slice_scatter", "select_scatter")

    def test_what_cannot_be_exported_says_so(self):
        class Branches(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x

        with pytest.raises(CaptureError, match="Branches cannot be exported with these inputs: .+"):
            capture(Branches(), (torch.ones(2),))


class TestWhatModulesReceived:
    def test_every_module_that_ran_is_there(self):
        calls = bert().calls
        assert set(calls) >= {
            "",
            "embeddings",
            "encoder.layer.1.attention.self",
            "encoder.layer.1.attention.self.query",
        }

    def test_with_sizes_symbols_and_constants(self):
        ((args, kwargs),) = bert().calls["encoder.layer.0.attention.self"]
        hidden = args[0]
        assert hidden.shape[-1] == 64 and isinstance(hidden.shape[0], torch.SymInt)
        assert kwargs.get("past_key_values") is None

    def test_a_shared_module_has_one_entry_per_call(self):
        class Twice(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(4, 4)

            def forward(self, x):
                return self.linear(self.linear(x))

        assert len(capture(Twice(), (torch.ones(2, 4),)).calls["linear"]) == 2

    def test_what_received_a_cache_that_was_filled_is_left_out(self):
        model = AutoModel.from_config(tiny_llama()).eval()
        calls = capture(model, (), {"input_ids": torch.randint(0, 50, (2, 5)), "use_cache": True}).calls
        assert {"", "embed_tokens", "layers.0.mlp", "layers.0.self_attn.q_proj"} <= calls.keys()
        assert not {"layers.0", "layers.0.self_attn"} & calls.keys()

    def test_what_received_a_list_that_grew_is_left_out(self):
        class Grows(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = Note(), Note()

            def forward(self, x):
                seen = []
                self.first(x, seen)
                return self.second(x, tuple(seen))

        class Note(nn.Module):
            def forward(self, x, seen):
                if isinstance(seen, list):
                    seen.append(x)
                return x * 2

        assert set(capture(Grows(), (torch.ones(2, 4),)).calls) == {"", "second"}


class TestTheModelIsLeftAlone:
    @pytest.mark.parametrize("training", [True, False])
    def test_after_success_and_failure(self, training):
        model = Block().train(training)
        hooked = []
        model.linear.register_forward_pre_hook(lambda *_: hooked.append(1))
        state = {name: value.clone() for name, value in model.state_dict().items()}
        before = [dict(module.__dict__) for module in model.modules()]
        capture(model, INPUTS, {"factor": torch.ones(4)})
        with pytest.raises(CaptureError):
            capture(model, INPUTS, {"nothing": torch.ones(4)})
        after = [dict(module.__dict__) for module in model.modules()]
        for old, new in zip(before, after, strict=True):
            assert {k: v for k, v in old.items() if k[0] != "_"} == {k: v for k, v in new.items() if k[0] != "_"}
            assert dict(old["_forward_pre_hooks"]) == dict(new["_forward_pre_hooks"])
        assert all(torch.equal(value, model.state_dict()[name]) for name, value in state.items())
        assert model.training is training

    def test_gradients_still_flow(self):
        model = Block()
        capture(model, INPUTS, {"factor": torch.ones(4)})
        model(*INPUTS, factor=torch.ones(4)).sum().backward()
        assert model.linear.weight.grad is not None


class WithScript(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.jit.script(nn.Linear(4, 4))

    def forward(self, x):
        return self.inner(x)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("make", "place"),
    [
        (lambda: torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.GELU())), "the model is TorchScript"),
        (lambda: torch.jit.trace(nn.GELU(), (torch.ones(2, 4),)), "the model is TorchScript"),
        (lambda: torch.jit.freeze(torch.jit.script(nn.GELU().eval())), "the model is TorchScript"),
        (WithScript, "`inner` is TorchScript"),
    ],
)
def test_torchscript_is_refused_in_words(make, place):
    with pytest.raises(CaptureError, match=place):
        capture(make(), (torch.ones(2, 4),))


class Picky(torch.nn.Module):
    """Refused by torch.export, as models that look for infinities between layers are."""

    def forward(self, x):
        print("on standard error", file=sys.stderr)
        return x * 2 if torch.isfinite(x).all() else x


def test_a_refusal_comes_without_the_graph_so_far(capsys):
    with pytest.raises(CaptureError, match="data-dependent"):
        capture(Picky(), (torch.ones(2, 3),))
    assert capsys.readouterr().err == "on standard error\n"


def test_what_a_model_prints_on_standard_error_comes_through(capsys):
    class Talks(torch.nn.Module):
        def forward(self, x):
            print("on standard error", file=sys.stderr)
            return x * 2

    capture(Talks(), (torch.ones(2, 3),))
    assert "on standard error\n" in capsys.readouterr().err
