"""Rules that rewrite a module as a whole: forward, parameters, attributes, config, place, use."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from spyre_dsl.blocks.registry import BlockError
from spyre_dsl.patching.errors import RewriteError
from spyre_dsl.patching.plan import plan
from tests.patching.rules import STACK, bert, rules, text_inputs


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 2.0
        self.weight = nn.Parameter(torch.linspace(-1, 1, 6))

    def forward(self, x, shift=1.0):
        return torch.tanh(x * self.weight * self.scale) + shift


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(8, 6)
        self.inner = Scaled()
        self.last = nn.Linear(6, 4, bias=False)

    def forward(self, x):
        return self.last(self.inner(self.first(x)))


X = torch.randn(3, 8, generator=torch.Generator().manual_seed(1))


def planned(body, model=None, *args):
    model = model or Net().eval()
    return model, plan(model, rules(body), args or (X,), stack=STACK)


def outputs(model, made, *args):
    args = args or (X,)
    wanted = model(*args)
    with made.applied(model):
        found = model(*args)
    assert torch.equal(model(*args), wanted)
    return found, wanted


FORWARD = """
- name: forward
  match: {module: "*Scaled"}
  rewrite:
    forward: |
      let scaled = x * self.weight * self.scale
      return tanh(scaled) + shift
"""


def test_a_forward_program_takes_the_place_of_the_modules_own():
    model, made = planned(FORWARD)
    assert [(patch.owner, patch.module_path) for patch in made.patches] == [("inner", "inner")]
    found, wanted = outputs(model, made)
    torch.testing.assert_close(found, wanted)


def test_a_forward_program_runs_compiled_and_exported_and_copied():
    model, made = planned(FORWARD)
    wanted = model(X)
    with made.applied(model):
        torch._dynamo.reset()
        torch.testing.assert_close(torch.compile(model, backend="eager", fullgraph=True)(X), wanted)
        torch.testing.assert_close(torch.export.export(model, (X,), strict=False).module()(X), wanted)
        copied = copy.deepcopy(model)
        with torch.no_grad():
            model.inner.weight.zero_()
        torch.testing.assert_close(copied(X), wanted)


def test_op_rules_see_the_forward_that_a_rule_wrote():
    body = (
        FORWARD
        + """
- name: tanh
  match: {op: tanh($x)}
  rewrite: {op: 2 * sigmoid(2 * $x) - 1}
"""
    )
    model, made = planned(body)
    assert [patch.rule for patch in made.patches] == ["forward", "tanh"]
    found, wanted = outputs(model, made)
    torch.testing.assert_close(found, wanted)


def test_a_forward_program_with_an_unknown_name_is_refused():
    with pytest.raises(Exception, match="nothing is called `y`"):
        planned(FORWARD.replace("tanh(scaled)", "tanh(y)"))


PARAMETERS = """
- name: wider
  match: {module: torch.nn.Linear, where: "size(self.weight, 0) % stack.stick != 0"}
  rewrite:
    let: {to: "round_up(size(self.weight, 0), stack.stick)"}
    parameters:
      weight: pad_dim(self.weight, 0, to)
      bias: pad_last(self.bias, to)
    output: narrow(output, -1, 0, size(self.weight, 0))
"""


@pytest.mark.parametrize(
    ("body", "wrong", "said"),
    [
        ("forward: return x * self.weight + shfit", "shfit", "nothing is called `shfit` here; did you mean `shift`?"),
        ("forward: return far * self.weight", "far", "nothing is called `far` here; known here: `x`, `shift`"),
        ("forward: return x * self.weigth", "self.weigth", "`self` has no `weigth`; did you mean `weight`?"),
        ("forward: return x * self.zzz", "self.zzz", "`self` has no `zzz`; known of `self`: `weight`, `scale`"),
        ("parameters: {wieght: self.weight}", "wieght", "Scaled has no parameter `wieght`; did you mean `weight`?"),
        ("attributes: {scael: 3}", "scael", "Scaled has no plain attribute `scael`; did you mean `scale`?"),
        ("attributes: {scale: self.scael}", "self.scael", "scale: `self` has no `scael`; did you mean `scale`?"),
    ],
)
def test_a_name_that_the_module_does_not_have_is_told_with_its_place(body, wrong, said):
    given = rules(f"- name: wrong\n  match: {{module: '*Scaled'}}\n  rewrite:\n    {body}")
    source = given.adapters[0].source
    place = source.position(source.text.index(wrong, source.text.index(body)))
    with pytest.raises(RewriteError) as raised:
        plan(Net().eval(), given, (X,), stack=STACK)
    assert str(raised.value) == f"{source.name}:{place.line}:{place.column}: test/wrong: {said}"


def test_parameters_are_replaced_and_the_output_trimmed():
    model, made = planned(PARAMETERS)
    assert {patch.owner for patch in made.patches} == {"first", "last"}
    found, wanted = outputs(model, made)
    torch.testing.assert_close(found, wanted)


def test_new_parameters_are_folded_and_the_old_ones_stay_registered():
    model, made = planned(PARAMETERS)
    keys = list(model.state_dict())
    with made.applied(model) as handle:
        assert list(model.state_dict()) == keys
        shapes = {tuple(buffer.shape) for buffer in model.first.buffers()}
        assert shapes == {(64, 8), (64,)}
        assert "pad" not in handle.code("first")


def test_a_parameter_that_the_module_does_not_have_is_refused():
    body = PARAMETERS.replace("bias: pad_last(self.bias, to)", "gain: pad_last(self.bias, to)")
    with pytest.raises(Exception, match="Linear has no parameter `gain`"):
        planned(body)


def test_attributes_are_set_and_put_back():
    model, made = planned(
        '- name: scale\n  match: {module: "*Scaled"}\n  rewrite: {attributes: {scale: self.scale * 2}}'
    )
    with made.applied(model):
        assert model.inner.scale == 4.0
    assert model.inner.scale == 2.0


def test_op_rules_see_the_attributes_that_a_rule_set():
    body = """
- name: scale
  match: {module: "*Scaled"}
  rewrite: {attributes: {scale: 3}}
- name: times-three
  match: {op: "mul($x, 3)"}
  rewrite: {op: $x + $x + $x}
"""
    model, made = planned(body)
    assert [patch.rule for patch in made.patches] == ["scale", "times-three"]
    found, _ = outputs(model, made)
    model.inner.scale = 3.0
    torch.testing.assert_close(found, model(X))


@pytest.mark.parametrize("name", ["weight", "sclae"])
def test_an_attribute_that_is_none_is_refused(name):
    with pytest.raises(RewriteError, match=f"Scaled has no plain attribute `{name}`"):
        planned(f'- name: scale\n  match: {{module: "*Scaled"}}\n  rewrite: {{attributes: {{{name}: 1}}}}')


def test_config_keys_are_set_and_put_back():
    model = bert(1)
    body = """
- name: eager
  match: {config: {model_type: bert}}
  rewrite: {config: {hidden_dropout_prob: config.hidden_dropout_prob + 0.5}}
"""
    made = plan(model, rules(body), (), text_inputs(), stack=STACK)
    assert model.config.hidden_dropout_prob == 0.1
    with made.applied(model):
        assert model.config.hidden_dropout_prob == 0.6
    assert model.config.hidden_dropout_prob == 0.1


def test_place_host_marks_every_op_of_the_pattern():
    model, made = planned("- name: place\n  match: {op: 'tanh(mul($x, $y))'}\n  rewrite: {place: host}")
    assert [(patch.before, patch.after) for patch in made.patches] == [
        ("tanh(mul($x, 2.0))", "host(tanh(host(mul($x, 2.0))))")
    ]
    found, wanted = outputs(model, made)
    assert torch.equal(found, wanted)
    graph = made.owners[0].table.all()[0].graph_module.graph
    marked = [node.args[0].target for node in graph.nodes if node.target is torch.ops.spyre.host.default]
    assert marked == [torch.ops.aten.mul.Tensor, torch.ops.aten.tanh.default]


def test_place_host_on_a_module_marks_every_op_in_it():
    model, made = planned('- name: place\n  match: {module: "*Scaled"}\n  rewrite: {place: host}')
    assert [(patch.owner, patch.before, patch.after) for patch in made.patches] == [
        ("inner", "4 ops on the device", "4 ops on the host")
    ]
    found, wanted = outputs(model, made)
    assert torch.equal(found, wanted)


USE = """
- name: columns
  match: {path: last}
  rewrite: {use: linear-in-column-blocks, arguments: {parts: 3}}
"""


def use(parts=3, path="last"):
    return USE.replace("parts: 3", f"parts: {parts}").replace("path: last", f"path: {path}")


def test_a_block_computes_the_module():
    model, made = planned(use())
    found, wanted = outputs(model, made)
    torch.testing.assert_close(found, wanted)
    graph = made.owners[0].table.all()[0].graph_module.graph
    assert sum(node.target is torch.ops.aten.linear.default for node in graph.nodes) == 3
    assert not any("split" in str(node.target) for node in graph.nodes), "the slices of the weight are folded"


def test_a_block_refuses_what_it_is_not_for():
    with pytest.raises(BlockError, match="parts must be between 1 and 4, not 9"):
        planned(use(parts=9))
    with pytest.raises(BlockError, match="is for torch.nn.Linear, not Scaled"):
        planned(use(path="inner"))


def test_an_unknown_block_is_refused_with_those_that_there_are():
    with pytest.raises(BlockError, match="there is no block `colums`; there are .*linear-in-column-blocks"):
        planned(use().replace("linear-in-column-blocks", "colums"))
