"""Owners of every size, outputs of every kind, and what transformers does around them."""

from __future__ import annotations

import torch

from spyre_dsl.patching.plan import plan
from tests.patching.rules import HEAD_PADDING, STACK, adapters, bert, gpt2, rules, text_inputs

WHOLE = """
- name: whole
  match: {op: "embedding($i, $w) + embedding($j, $v)"}
  rewrite: {op: "sub(embedding($i, $w), neg(embedding($j, $v)))"}
"""


def run(model, **inputs):
    with torch.no_grad():
        return model(**inputs)


def test_hidden_states_are_collected_as_ever(head_padding):
    model, inputs = bert(), text_inputs()
    with head_padding.applied(model):
        found = run(model, **inputs, output_hidden_states=True).hidden_states
        again = run(model, **inputs, output_hidden_states=True).hidden_states
    wanted = run(model, **inputs, output_hidden_states=True).hidden_states
    assert len(found) == len(again) == len(wanted) == 3
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(again, wanted, rtol=1e-5, atol=1e-6)


def test_planning_with_hidden_states_leaves_no_hooks_behind():
    model = bert(1)
    plan(model, adapters(HEAD_PADDING), (), {**text_inputs(), "output_hidden_states": True}, stack=STACK)
    assert not any(module._forward_hooks for module in model.modules())


def test_an_owner_that_makes_and_returns_a_cache():
    model = gpt2(1)
    inputs = text_inputs(padded=False)
    made = plan(model, rules(WHOLE), (), {**inputs, "use_cache": True}, stack=STACK)
    assert [patch.owner for patch in made.patches] == ["transformer"]
    with made.applied(model):
        found = run(model, **inputs, use_cache=True)
        step = run(model, input_ids=inputs["input_ids"][:, :1], cache=found.cache, use_cache=True)
    wanted = run(model, **inputs, use_cache=True)
    next_step = run(model, input_ids=inputs["input_ids"][:, :1], cache=wanted.cache, use_cache=True)
    torch.testing.assert_close(found.logits, wanted.logits)
    torch.testing.assert_close(step.logits, next_step.logits)
    assert found.cache.get_seq_length() == 9 and step.cache is found.cache


def test_the_whole_model_can_be_the_owner_and_returns_its_own_output_class():
    model = bert(1)
    body = '- name: mask\n  match: {op: "to($x, bool)"}\n  rewrite: {op: "ne($x, 0)"}'
    made = plan(model, rules(body), (), text_inputs(), stack=STACK)
    assert {patch.owner for patch in made.patches} == {""}
    wanted = run(model, **text_inputs())
    with made.applied(model):
        found = run(model, **text_inputs())
        as_tuple = run(model, **text_inputs(), return_dict=False)
    assert type(found) is type(wanted) and list(found) == list(wanted)
    assert torch.equal(found.last_hidden_state, wanted.last_hidden_state)
    assert torch.equal(as_tuple[1], wanted.pooler_output)


def test_new_signatures_arrive_in_inference_mode_too():
    model = bert(1)
    made = plan(model, adapters(HEAD_PADDING), (), text_inputs(), stack=STACK)
    wanted = run(model, **text_inputs(padded=False)).last_hidden_state
    with made.applied(model):
        with torch.inference_mode():
            found = model(**text_inputs(padded=False)).last_hidden_state
        again = run(model, **text_inputs(padded=False)).last_hidden_state
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(again, wanted, rtol=1e-5, atol=1e-6)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = torch.nn.ModuleList([torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)])

    def forward(self, x):
        return torch.relu(self.steps[1](self.steps[0](x)))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = Block(), Block()

    def forward(self, x):
        return self.second(self.first(x)) + self.second(x)


TWICE = """
- name: twice
  match: {op: "linear(linear($x, $w, $b), $v, $c)"}
  rewrite: {op: "linear($x, matmul($v, $w), linear($b, $v, $c))"}
"""
X = torch.randn(3, 4)


def test_a_container_that_is_never_called_gives_way_to_the_module_around_it():
    model = Net().eval()
    made = plan(model, rules(TWICE), (X,), stack=STACK)
    assert {patch.owner for patch in made.patches} == {"first", "second"}


def test_a_module_that_is_called_twice_is_patched_once_for_both():
    model = Net().eval()
    made = plan(model, rules(TWICE), (X,), stack=STACK)
    assert len(made.patches) == 3 and len(made.owners) == 2
    wanted = model(X)
    with made.applied(model):
        torch.testing.assert_close(model(X), wanted)


def test_a_match_across_two_modules_is_owned_by_the_one_around_both():
    class Around(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.left, self.right = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

        def forward(self, x):
            return self.right(self.left(x))

    model = torch.nn.Sequential(torch.nn.Tanh(), Around()).eval()
    made = plan(model, rules(TWICE), (X,), stack=STACK)
    assert [patch.owner for patch in made.patches] == ["1"]
    wanted = model(X)
    with made.applied(model):
        torch.testing.assert_close(model(X), wanted)


def test_layers_that_differ_in_an_attribute_that_matters_do_not_share_a_graph():
    class Scale(torch.nn.Module):
        def __init__(self, factor, name):
            super().__init__()
            self.factor, self.name = factor, name

        def forward(self, x):
            return torch.sigmoid(x * self.factor)

    model = torch.nn.Sequential(Scale(2.0, "a"), Scale(3.0, "b"), Scale(2.0, "c")).eval()
    body = '- name: sigmoid\n  match: {op: "sigmoid($x)"}\n  rewrite: {op: "1 / (1 + exp(neg($x)))"}'
    made = plan(model, rules(body), (X,), stack=STACK)
    assert len(made.owners[0].table.all()) == 2, "one for each factor; the names were never read"
    wanted = model(X)
    with made.applied(model):
        torch.testing.assert_close(model(X), wanted)
        model[1].factor = 5.0
        found = model(X)
    torch.testing.assert_close(found, model(X))


def test_a_rule_for_one_layer_only_does_not_leak_into_the_others():
    model = bert(2)
    body = """
- name: gelu
  match: {path: "encoder.layer.1.**", op: "gelu($x)"}
  rewrite: {op: "$x * (0.5 * (1 + erf($x * 0.7071067811865476)))"}
"""
    made = plan(model, rules(body), (), text_inputs(), stack=STACK)
    assert [patch.owner for patch in made.patches] == ["encoder.layer.1.intermediate.intermediate_act_fn"]
