"""A model whose config is changed while it is patched computes what the stock model would."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers import PreTrainedConfig

from spyre_dsl.patching.applied import Applied
from spyre_dsl.patching.plan import plan
from tests.patching.rules import HEAD_PADDING, STACK, adapters, bert, gpt2, rules, text_inputs

MASK = rules('- name: mask\n  match: {op: "to($x, bool)"}\n  rewrite: {op: "ne($x, 0)"}')
"""Makes the whole of a model one owner."""

SIGMOID = rules('- name: sigmoid\n  match: {op: "sigmoid($x)"}\n  rewrite: {op: "1 / (1 + exp(neg($x)))"}')

X = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))


def attentions(model: Any) -> None:
    model.set_attn_implementation("eager")
    model.config.output_attentions = True


CHANGES: dict[str, Callable[[Any], None]] = {
    "attention": lambda model: model.set_attn_implementation("eager"),
    "attentions": attentions,
    "hidden states": lambda model: setattr(model.config, "output_hidden_states", True),
    "cache": lambda model: setattr(model.config, "use_cache", False),
    "return_dict": lambda model: setattr(model.config, "return_dict", False),
}
MODELS: dict[str, Callable[[], Any]] = {"bert": lambda: bert(1), "gpt2": lambda: gpt2(1).transformer}


@pytest.fixture(scope="module", params=MODELS)
def make(request: pytest.FixtureRequest) -> tuple[Callable[[], Any], Any]:
    """A model, and a plan for it in which the owner holds a config."""
    made = plan(MODELS[request.param](), MASK, (), text_inputs(), stack=STACK)
    assert made.patches
    return MODELS[request.param], made


def run(model: Any) -> Any:
    with torch.no_grad():
        return model(**text_inputs())


def tensors(value: Any) -> Any:
    """What was returned, as far as it can be compared: a cache counts by its being there."""
    parts = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    return {key: part for key, part in parts if isinstance(part, (torch.Tensor, tuple))}


def graphs(handle: Applied) -> int:
    return len({id(entry) for owner in handle.owners().values() for entry in owner._spyre_owner.table.all()})


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_config_is_seen_at_the_next_call(make, change):
    build, made = make
    stock, model = build(), build()
    with made.applied(model):
        run(model)
        change(model)
        change(stock)
        found, wanted = run(model), run(stock)
    assert type(found) is type(wanted) and len(found) == len(wanted)
    assert tensors(found).keys() == tensors(wanted).keys()
    torch.testing.assert_close(tensors(found), tensors(wanted), rtol=1e-5, atol=1e-6)


def test_each_setting_has_one_graph_and_the_first_serves_again():
    model = bert(1)
    with plan(model, MASK, (), text_inputs(), stack=STACK).applied(model) as handle:
        counts = []
        for implementation in ("sdpa", "eager", "sdpa", "eager"):
            model.set_attn_implementation(implementation)
            run(model)
            counts.append(graphs(handle))
        assert counts == [1, 2, 2, 2]
        model.config.initializer_range = 0.5
        run(model)
        assert graphs(handle) == 2, "no forward reads that"


def test_owners_that_do_not_read_the_key_keep_their_graphs(head_padding):
    model = bert()
    with head_padding.applied(model) as handle:
        run(model)
        before = graphs(handle)
        model.config.output_hidden_states = True
        assert len(run(model).hidden_states) == 3
        assert graphs(handle) == before


def test_a_copy_has_its_own_config():
    model = bert()
    with plan(model, adapters(HEAD_PADDING), (), text_inputs(), stack=STACK).applied(model) as handle:
        other = copy.deepcopy(model)
        run(other)
        assert graphs(handle) == 1, "the copy found the graph of the model"
        other.set_attn_implementation("eager")
        other.config.output_hidden_states = True
        assert len(run(other).hidden_states) == 3 and "hidden_states" not in run(model)
        assert graphs(handle) == 2
        stock = bert()
        torch.testing.assert_close(run(model)[0], run(stock)[0], rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(run(other)[0], run(stock)[0], rtol=1e-5, atol=1e-6)


class Gate(torch.nn.Module):
    """Reads a nested config, a list, a flag of its own and its mode."""

    def __init__(self) -> None:
        super().__init__()
        self.config = PreTrainedConfig()
        self.config.text_config = PreTrainedConfig()
        self.config.text_config.scale = 2.0
        self.powers = [1, 2]
        self.flag = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * self.config.text_config.scale
        for power in self.powers:
            y = y + x**power
        y = y + 1 if self.flag else y
        return torch.sigmoid(y + 2 if self.training else y)


TURNS: dict[str, Callable[[Gate], Any]] = {
    "a nested config": lambda gate: setattr(gate.config.text_config, "scale", 3.0),
    "another nested config": lambda gate: setattr(gate.config, "text_config", scaled()),
    "an item of a list": lambda gate: gate.powers.append(3),
    "a flag": lambda gate: setattr(gate, "flag", True),
    "its mode": lambda gate: gate.train(),
}  # fmt: skip


def scaled() -> PreTrainedConfig:
    made = PreTrainedConfig()
    made.scale = 5.0
    return made


@pytest.fixture
def gate_plan() -> Any:
    return plan(torch.nn.Sequential(Gate()).eval(), SIGMOID, (X,), stack=STACK)


@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS)
def test_whatever_a_module_read_is_seen_when_it_changes(gate_plan, turn):
    model, stock = torch.nn.Sequential(Gate()).eval(), torch.nn.Sequential(Gate()).eval()
    with gate_plan.applied(model) as handle:
        torch.testing.assert_close(model(X), stock(X))
        turn(model[0])
        turn(stock[0])
        torch.testing.assert_close(model(X), stock(X))
        assert "sigmoid" not in handle.code("0")


@pytest.mark.usefixtures("fresh_compiler")
@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS)
def test_a_compiled_model_refuses_what_it_has_no_graph_for_and_runs_it_once_it_was_seen(gate_plan, turn):
    model, stock = torch.nn.Sequential(Gate()).eval(), torch.nn.Sequential(Gate()).eval()
    with gate_plan.applied(model), torch.no_grad():
        compiled = torch.compile(model, fullgraph=True, backend="eager")
        torch.testing.assert_close(compiled(X), stock(X))
        turn(model[0])
        turn(stock[0])
        with pytest.raises(torch._dynamo.exc.Unsupported, match="run the patched model once"):
            compiled(X)
        model(X)
        torch.testing.assert_close(compiled(X), stock(X))


@pytest.mark.usefixtures("fresh_compiler")
def test_a_compiled_bert_sees_its_config_change():
    model = bert(1)
    with plan(model, adapters(HEAD_PADDING), (), text_inputs(), stack=STACK).applied(model), torch.no_grad():
        compiled = torch.compile(model, fullgraph=True, backend="eager")
        wanted = run(compiled)[0]
        model.set_attn_implementation("eager")
        with pytest.raises(torch._dynamo.exc.Unsupported, match="run the patched model once"):
            run(compiled)
        run(model)
        torch.testing.assert_close(run(compiled)[0], wanted, rtol=1e-5, atol=1e-6)


def test_an_export_refuses_a_setting_that_was_not_seen(gate_plan):
    model = torch.nn.Sequential(Gate()).eval()
    with gate_plan.applied(model), torch.no_grad():
        model[0].config.text_config.scale = 3.0
        with pytest.raises(Exception, match="has a rewritten graph for the call"):
            torch.export.export(model, (X,), strict=False)
        wanted = model(X)
        torch.testing.assert_close(torch.export.export(model, (X,), strict=False).module()(X), wanted)
