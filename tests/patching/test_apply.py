"""A patched model is an ordinary module."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from spyre_dsl.patching.applied import Applied, is_patched
from spyre_dsl.patching.errors import ApplyError, UnseenSignature
from spyre_dsl.patching.install import STATE
from spyre_dsl.patching.plan import plan
from tests.patching.rules import CUBE, HEAD_PADDING, STACK, adapters, bert, rules, text_inputs

INPUTS = text_inputs()

GELU_AS_ERF = """
- name: gelu-as-erf
  match: {op: gelu($x)}
  rewrite: {op: $x * (0.5 * (1 + erf($x * 0.7071067811865476)))}
"""


def run(model, inputs=INPUTS):
    with torch.no_grad():
        return model(**inputs).last_hidden_state


@pytest.fixture
def model():
    return bert()


@pytest.fixture
def stock():
    return run(bert())


def close(left, right):
    torch.testing.assert_close(left, right, rtol=1e-5, atol=1e-6)


def graphs(made):
    return sum(len(table.all()) for table in {id(owner.table): owner.table for owner in made.owners}.values())


def test_a_plan_can_be_applied_to_another_model_of_the_same_make_up(head_padding, model, stock):
    with head_padding.applied(model):
        assert is_patched(model)
        close(run(model), stock)
    assert not is_patched(model)


def test_an_all_ones_mask_becomes_none_inside_and_is_rewritten_when_it_arrives(head_padding, model):
    inputs = text_inputs(padded=False)
    wanted = run(model, inputs)
    before = graphs(head_padding)
    with head_padding.applied(model):
        close(run(model, inputs), wanted)
        assert graphs(head_padding) >= max(before, 2)
        newest = max(head_padding.owners[0].table.all(), key=lambda entry: "None" in entry.example)
        assert newest.fired.count("head-padding/pad-projection") == 3
        before = graphs(head_padding)
        run(model, text_inputs(3, 7, padded=False))
        assert graphs(head_padding) == before


def test_torch_compile_sees_one_graph_for_the_planned_signature(head_padding, model, stock):
    with head_padding.applied(model):
        torch._dynamo.reset()
        compiled = torch.compile(model, backend="eager", fullgraph=True)
        close(run(compiled), stock)


def test_torch_export_goes_through(head_padding, model, stock):
    with head_padding.applied(model):
        program = torch.export.export(model, (), INPUTS, strict=False)
    close(run(program.module()), stock)


def test_an_unseen_signature_while_exporting_is_a_clear_error(head_padding, model):
    with (
        head_padding.applied(model),
        pytest.raises(UnseenSignature, match="encoder.layer.0.attention .* no rewritten graph"),
    ):
        torch.export.export(model, (), text_inputs(1, 8), strict=False)


def test_a_deep_copy_is_patched_on_its_own(head_padding, model, stock):
    with head_padding.applied(model):
        copied = copy.deepcopy(model)
        attention = copied.encoder.layer[0].attention
        assert attention.forward.__self__ is attention
        with torch.no_grad():
            attention.self.query.weight.zero_()
        close(run(model), stock)
        changed = run(copied)
        assert not torch.allclose(changed, stock)
    close(run(model), stock)
    close(run(copied), changed)
    Applied(copied).revert()
    assert not is_patched(copied) and "forward" not in vars(attention)
    close(run(copied), changed)


def test_reverting_a_copy_leaves_the_original_patched(head_padding, model, stock):
    with head_padding.applied(model):
        Applied(copy.deepcopy(model)).revert()
        assert is_patched(model) and STATE in vars(model.encoder.layer[0].attention)
        close(run(model), stock)


def test_the_state_dict_has_the_same_keys_and_tensors(head_padding, model):
    before = model.state_dict()
    with head_padding.applied(model):
        after = model.state_dict()
    assert list(before) == list(after)
    assert all(before[name].data_ptr() == after[name].data_ptr() for name in before)


@pytest.mark.parametrize("assign", [False, True])
def test_loading_other_weights_refreshes_folded_values(head_padding, model, assign):
    other = bert(seed=1)
    wanted = run(other)
    with head_padding.applied(model):
        run(model)
        model.load_state_dict(other.state_dict(), assign=assign)
        close(run(model), wanted)


def test_loading_into_a_part_refreshes_folded_values_even_for_compiled_code(head_padding, model):
    other = bert(seed=1)
    with head_padding.applied(model):
        torch._dynamo.reset()
        compiled = torch.compile(model, backend="eager", fullgraph=True)
        run(compiled)
        model.encoder.layer[1].attention.self.load_state_dict(other.encoder.layer[1].attention.self.state_dict())
        found = run(compiled)
    close(found, run(model))


def test_a_parameter_written_in_place_refreshes_folded_values(head_padding, model):
    with head_padding.applied(model):
        run(model)
        with torch.no_grad():
            model.encoder.layer[0].attention.self.value.weight.mul_(2)
        found = run(model)
    close(found, run(model))


def test_writing_through_data_needs_a_refresh(head_padding, model):
    with head_padding.applied(model) as handle:
        run(model)
        model.encoder.layer[0].attention.self.value.weight.data.mul_(2)
        handle.refresh()
        found = run(model)
    close(found, run(model))


def test_half_precision_is_a_new_signature(head_padding, model):
    with head_padding.applied(model):
        model.half()
        found = run(model)
        assert found.dtype == torch.float16
        attention = model.encoder.layer[0].attention
        assert {b.dtype for name, b in attention.named_buffers() if name.startswith("_spyre")} == {torch.float16}
    torch.testing.assert_close(found, run(model), rtol=1e-2, atol=1e-2)


def test_training_flows_through_folded_values(head_padding, model):
    with head_padding.applied(model):
        model.train()
        model(**INPUTS).last_hidden_state.sum().backward()
        assert model.encoder.layer[0].attention.self.query.weight.grad is not None


def test_switching_to_training_mode_brings_dropout_back(head_padding, model):
    with head_padding.applied(model):
        model.train()
        torch.manual_seed(0)
        one, two = run(model), run(model)
        model.eval()
        assert not torch.equal(one, two)
        assert torch.equal(run(model), run(model))


def test_hooks_on_owners_still_run(head_padding, model):
    seen = []
    owner = model.encoder.layer[0].attention
    owner.register_forward_pre_hook(lambda module, args: seen.append("before"))
    owner.register_forward_hook(lambda module, args, output: seen.append(type(output).__name__))
    with head_padding.applied(model):
        run(model)
    assert seen == ["before", "tuple"]


def test_two_models_patched_differently_live_side_by_side(head_padding, stock):
    one, two = bert(), bert()
    other = plan(two, rules(GELU_AS_ERF), (), INPUTS, stack=STACK)
    with head_padding.applied(one), other.applied(two):
        close(run(one), stock)
        close(run(two), stock)
        assert "encoder.layer.0.attention" in Applied(one).owners()
        assert set(Applied(two).owners()) == {f"encoder.layer.{n}.intermediate.intermediate_act_fn" for n in range(2)}


def test_applying_twice_is_an_error_that_says_so(head_padding, model):
    with head_padding.applied(model), pytest.raises(ApplyError, match="patched already; revert that first"):
        head_padding.apply(model)


def test_planning_a_patched_model_is_an_error(head_padding, model):
    with head_padding.applied(model), pytest.raises(ApplyError, match="revert first"):
        plan(model, adapters(CUBE), (), INPUTS, stack=STACK)


def test_reverting_twice_does_nothing_the_second_time(head_padding, model, stock):
    handle = head_padding.apply(model)
    handle.revert()
    handle.revert()
    assert torch.equal(run(model), stock)


def test_a_model_of_another_make_up_is_refused(head_padding):
    with pytest.raises(ApplyError, match="plan again"):
        head_padding.apply(bert().half())
    with pytest.raises(ApplyError, match="has no `encoder.layer.1.attention`"):
        head_padding.apply(bert(layers=1))


def test_a_model_on_the_meta_device_can_be_planned():
    with torch.device("meta"):
        model = bert(1)
        inputs = {name: torch.empty(2, 8, dtype=torch.long) for name in INPUTS}
    made = plan(model, adapters(HEAD_PADDING), (), inputs, stack=STACK)
    assert len(made.patches) == 5


def test_the_patched_module_prints_the_code_that_it_runs(head_padding, model):
    with head_padding.applied(model) as handle:
        assert "torch.ops.aten.scaled_dot_product_attention" in handle.code("encoder.layer.0.attention")


def test_a_plan_prints_as_a_table(head_padding):
    lines = str(head_padding).splitlines()
    assert lines[0] == "10 patches in 2 modules"
    assert lines[1].split() == ["adapter/rule", "module", "path", "source", "line", "places"]
    rule, path, line, *places = lines[2].split()
    assert (rule, path, places) == ("head-padding/pad-to-stick", "encoder.layer.*.attention.self", ["x", "2"])
    assert line.startswith("modeling_bert.py:")
    assert lines[3].split()[:2] == ["-", "scaled_dot_product_attention($q,"] and lines[4].startswith("      + slice(")


def test_threads_share_the_graphs_of_signatures_that_were_seen():
    """Only those: torch.export changes module calls in the whole process, so new signatures come from one thread."""

    class Cube(torch.nn.Module):
        def forward(self, x):
            return x**3

    def serve(rank: int) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.randn(*[2] * rank)
        return model(x), x**3

    model = Cube()
    cubes = rules("- match: {op: 'pow($x, 3)'}\n  rewrite: {op: $x * $x * $x}")
    with plan(model, cubes, (torch.ones(2, 2),), stack=STACK).applied(model):
        ranks = [1, 3, 4, 5, 2, 1, 3, 4]
        for rank in ranks:
            serve(rank)
        with ThreadPoolExecutor(4) as pool:
            for found, expected in pool.map(serve, ranks):
                torch.testing.assert_close(found, expected)
