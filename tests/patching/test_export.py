"""A patched model goes through torch.export as any model does: open sizes, saving, decompositions, training."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import Dim, ExportedProgram
from transformers.integrations.executorch import TorchExportableModuleForDecoderOnlyLM

from spyre_dsl.patching.plan import plan
from tests.patching.rules import HEAD_PADDING, STACK, X, adapters, bert, gpt2, layers, qwen3, text_inputs

SIZES = [(2, 8), (3, 11), (5, 20)]
OPEN = {name: {0: Dim("batch", max=64), 1: Dim("sequence", max=60)} for name in text_inputs()}


def saved_and_loaded(program: ExportedProgram) -> ExportedProgram:
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    return torch.export.load(file)


def decomposed(program: ExportedProgram) -> ExportedProgram:
    return program.run_decompositions()


def as_it_is(program: ExportedProgram) -> ExportedProgram:
    return program


WAYS: dict[Callable[[ExportedProgram], ExportedProgram], dict[str, float]] = {
    as_it_is: {"rtol": 0, "atol": 0},
    saved_and_loaded: {"rtol": 0, "atol": 0},
    decomposed: {"rtol": 1e-5, "atol": 1e-6},
}
"""What is done with an exported program, and how close to the patched model it stays."""


@pytest.fixture(scope="module", params=[bert, gpt2, qwen3])
def exported_model(request: pytest.FixtureRequest) -> Any:
    """A patched model of one layer, and its program with open sizes."""
    model = request.param(1)
    model.config.use_cache = False
    made = plan(model, adapters(HEAD_PADDING), (), text_inputs(), stack=STACK)
    with made.applied(model):
        with torch.no_grad():
            program = torch.export.export(model, (), text_inputs(), dynamic_shapes=OPEN)
        yield model, program


@pytest.mark.parametrize(("way", "close"), WAYS.items(), ids=[way.__name__ for way in WAYS])
def test_the_program_is_the_patched_model_at_every_size(exported_model, way, close) -> None:
    model, program = exported_model
    changed = way(program)
    call = changed.module()
    for size in SIZES:
        with torch.no_grad():
            found, wanted = call(**text_inputs(*size)), model(**text_inputs(*size))
        assert type(found) is type(wanted)
        torch.testing.assert_close(found[0], wanted[0], **close)
    assert changed.state_dict.keys() == model.state_dict().keys(), "its state is that of the stock model"
    folded = {name: value for name, value in model.named_buffers() if "_spyre_folded" in name}
    torch.testing.assert_close({name: changed.constants[name] for name in folded}, folded)


def exported(model: torch.nn.Module, strict: bool, batch: Any = None) -> ExportedProgram:
    return torch.export.export(model, (X,), dynamic_shapes=({0: batch or Dim("batch")},), strict=strict)


def op_names(program: ExportedProgram) -> list[str]:
    return [str(node.target) for node in program.graph.nodes if node.op == "call_function"]


@pytest.fixture
def patched(folded_layers):
    model = layers()
    with folded_layers.applied(model):
        yield model


BATCHES = {"AUTO": Dim.AUTO, "DYNAMIC": Dim.DYNAMIC, "from 0": Dim("batch", min=0), "from 1 to 9": Dim("batch", max=9)}


@pytest.mark.parametrize("strict", [False, True], ids=["non-strict", "strict"])
@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
def test_every_way_to_say_that_a_size_is_open(patched, batch, strict: bool) -> None:
    with torch.no_grad():
        call = exported(patched, strict, batch).module()
        for size in (2, 4, 7):
            torch.testing.assert_close(call(X.repeat(2, 1)[:size]), patched(X.repeat(2, 1)[:size]))


def test_both_ways_of_tracing_give_the_same_ops_on_the_same_constants(patched) -> None:
    with torch.no_grad():
        traced, compiled = exported(patched, strict=False), exported(patched, strict=True)
    assert op_names(traced) == op_names(compiled)
    torch.testing.assert_close(traced.constants, compiled.constants)


@pytest.mark.parametrize("exported_model", [bert], indirect=True)
def test_a_bert_is_exported_through_the_compiler(exported_model) -> None:
    model, _ = exported_model
    with torch.no_grad():
        program = torch.export.export(model, (), text_inputs(), dynamic_shapes=OPEN, strict=True)
        for size in SIZES:
            assert torch.equal(program.module()(**text_inputs(*size))[0], model(**text_inputs(*size))[0])


@pytest.mark.parametrize("strict", [False, True], ids=["non-strict", "strict"])
def test_a_program_that_was_exported_under_gradients_is_trained_as_the_stock_model_is(patched, strict: bool) -> None:
    program, stock = exported(patched, strict).module(), layers()
    program(X).square().sum().backward()
    stock(X).square().sum().backward()
    found = {name: each.grad for name, each in program.named_parameters()}
    torch.testing.assert_close(found, {name: each.grad for name, each in stock.named_parameters()})


@pytest.mark.parametrize("strict", [False, True], ids=["non-strict", "strict"])
def test_a_frozen_model_is_exported_with_constants_under_gradients_too(patched, strict: bool) -> None:
    patched.requires_grad_(False)
    assert len(exported(patched, strict).constants) == 2


def test_a_decoder_with_a_static_cache_is_exported_as_executorch_takes_it() -> None:
    """Through transformers' own recipe, which traces with the compiler: the step is run once before."""
    model, step = qwen3(1), {"input_ids": torch.tensor([[5]]), "cache_position": torch.tensor([0])}
    model.generation_config.use_cache, model.generation_config.cache_implementation = True, "static"
    with plan(model, adapters(HEAD_PADDING), (), text_inputs(1), stack=STACK).applied(model), torch.no_grad():
        recipe = TorchExportableModuleForDecoderOnlyLM(model, batch_size=1, max_cache_len=16, device="cpu")
        wanted = recipe.model(**step)
        program = recipe.export(**step)
        assert any("_spyre_folded" in name for name in program.constants)
        torch.testing.assert_close(program.module()(**step), wanted)
