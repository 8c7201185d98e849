"""Claims are tried at every place of a real model, those included that only appear after another rewrite."""

from __future__ import annotations

import pytest
import torch
from transformers import AutoModel, BertConfig

import spyre_sim
from spyre_dsl.evidence.results import Outcome
from spyre_dsl.evidence.verify import verify
from spyre_dsl.language.adapter import AdapterSet
from spyre_dsl.language.loader import load_text

STACK = spyre_sim.load_stack("2026-06")
TEXT = """\
adapter: example
summary: an example
gap: {kind: numerics, evidence: [S51]}
rules:
  - name: first
    match: {op: gelu($x)}
    rewrite: {op: "silu($x) + (gelu($x, approximate='tanh') - silu($x))"}
    math: {approximate: {max_relative: BOUND, unless: [huge, nonfinite]}}
  - name: then
    match: {op: silu($x)}
    rewrite: {op: $x * sigmoid($x)}
    math: {exact: {unless: [nonfinite]}}
"""


@pytest.fixture(scope="module")
def model() -> torch.nn.Module:
    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48, vocab_size=99,
        max_position_embeddings=32,
    )  # fmt: skip
    return AutoModel.from_config(config).eval()


def verified(model: torch.nn.Module, bound: str):
    made = load_text(TEXT.replace("BOUND", bound), "example.yaml")
    assert made.adapter is not None and not made.diagnostics
    inputs = {"input_ids": torch.ones(2, 8, dtype=torch.long), "attention_mask": torch.ones(2, 8, dtype=torch.long)}
    before = {name: value.clone() for name, value in model.state_dict().items()}
    reports = verify(model, AdapterSet((made.adapter,)), (), inputs, stack=STACK)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    return reports


def test_every_place_is_reported(model: torch.nn.Module) -> None:
    reports = verified(model, "10.0")
    assert [report.rule for report in reports] == ["first", "first", *["then"] * 4]
    assert {report.math.outcome for report in reports} == {Outcome.OK}
    assert reports[0].module_path.startswith("encoder.layer.0.intermediate")
    assert reports[0].source_line


def test_a_claim_that_is_false_there_is_found(model: torch.nn.Module) -> None:
    reports = verified(model, "1.0e-6")
    wrong = [report for report in reports if report.math.outcome is Outcome.FAILED]
    assert [report.rule for report in wrong] == ["first", "first"]
    assert wrong[0].math.counterexample is not None
