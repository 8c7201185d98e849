"""A patched model that is exported again says of every op which module ran it, and which line asked for it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from spyre_dsl.graphs.provenance import module_path_of, module_stack_of, moved_path, source_line_of
from spyre_dsl.patching.plan import plan
from tests.patching.rules import HEAD_PADDING, STACK, adapters, bert, gpt2, qwen3, rules, text_inputs

Place = tuple[str, str]

IN_PARTS = """
- name: gelu-in-parts
  match: {op: "gelu($x)"}
  rewrite: {op: "$x * 0.5 * (1 + erf($x * 0.7071067811865476))"}
- name: silu-in-parts
  match: {op: "silu($x)"}
  rewrite: {op: "$x * sigmoid($x)"}
- name: tanh-in-parts
  match: {op: "tanh($x)"}
  rewrite: {op: "2 * sigmoid(2 * $x) - 1"}
"""
"""Rules for the activations of all three models."""

THE_MASK = '- name: mask\n  match: {op: "to($x, bool)"}\n  rewrite: {op: "ne($x, 0)"}'


def exported(model: torch.nn.Module, inputs: dict[str, Any]) -> torch.export.ExportedProgram:
    with torch.no_grad():
        return torch.export.export(model, (), inputs, strict=False)


def places(program: torch.export.ExportedProgram) -> set[Place]:
    """(module path, source line) of each op of an exported model."""
    ops = [node for node in program.graph.nodes if node.op == "call_function"]
    return {(module_path_of(node), source_line_of(node)) for node in ops}


def without_cache(build: Any) -> Any:
    model = build()
    model.config.use_cache = False
    return model


@pytest.mark.parametrize("build", [bert, gpt2, qwen3])
@pytest.mark.parametrize("set_of_rules", [adapters(HEAD_PADDING), rules(IN_PARTS), rules(THE_MASK)])
def test_a_patched_model_has_no_places_but_those_of_the_stock_model(build, set_of_rules):
    model, inputs = without_cache(build), text_inputs()
    stock = places(exported(model, inputs))
    made = plan(model, set_of_rules, (), inputs, stack=STACK)
    with made.applied(model):
        patched = places(exported(model, inputs))
    assert patched <= stock
    assert {patch.module_path for patch in made.patches} <= {path for path, _ in patched}


def test_every_layer_is_told_by_its_own_name_though_layers_share_one_graph():
    model, inputs = bert(3), text_inputs()
    with plan(model, adapters(HEAD_PADDING), (), inputs, stack=STACK).applied(model):
        found = places(exported(model, inputs))
    of_layer = [
        {(path.removeprefix(f"encoder.layer.{layer}."), line) for path, line in found if f"layer.{layer}." in path}
        for layer in range(3)
    ]
    assert of_layer[0] == of_layer[1] == of_layer[2]
    assert {"attention.self", "attention.output.dense", "output.LayerNorm"} <= {path for path, _ in of_layer[0]}


def test_the_modules_on_the_way_are_told_with_their_classes():
    model, inputs = bert(1), text_inputs()
    with plan(model, rules(IN_PARTS), (), inputs, stack=STACK).applied(model):
        nodes = exported(model, inputs).graph.nodes
    stack = next(module_stack_of(node) for node in nodes if node.target is torch.ops.aten.erf.default)
    assert [path for path, _ in stack] == [
        "", "encoder", "encoder.layer.0", "encoder.layer.0.intermediate",
        "encoder.layer.0.intermediate.intermediate_act_fn",
    ]  # fmt: skip
    assert stack[-1][1] == "transformers.activations.GELUActivation"


def test_a_model_inside_another_is_told_by_the_outer_names():
    class Outer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.text = bert(1)

        def forward(self, **inputs: Any) -> Any:
            return self.text(**inputs).last_hidden_state * 2

    outer, inputs = Outer(), text_inputs()
    stock = places(exported(outer, inputs))
    with plan(outer.text, rules(IN_PARTS + THE_MASK), (), inputs, stack=STACK).applied(outer.text):
        patched = places(exported(outer, inputs))
    assert patched <= stock
    assert "text.encoder.layer.0.intermediate.intermediate_act_fn" in {path for path, _ in patched}


def test_what_is_exported_computes_what_the_patched_model_computes(head_padding):
    model, inputs = bert(), text_inputs()
    with head_padding.applied(model), torch.no_grad():
        wanted = model(**inputs).last_hidden_state
        found = exported(model, inputs).module()(**inputs).last_hidden_state
    assert torch.equal(found, wanted)


@pytest.mark.parametrize(
    ("name", "old", "new", "moved"),
    [
        ("owner", "owner", "", ""),
        ("owner.dense", "owner", "", "dense"),
        ("owner.dense", "owner", "layer.0", "layer.0.dense"),
        ("dense", "", "model", "model.dense"),
        ("layer.0", "layer.0", "layer.7", "layer.7"),
        ("layer.0.dense", "layer.0", "layer.7", "layer.7.dense"),
    ],
)
def test_a_path_moves_with_the_module_that_it_is_below(name, old, new, moved):
    assert moved_path(name, old, new) == moved
