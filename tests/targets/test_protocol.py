"""An outcome is printed in a line, however much it holds."""

from __future__ import annotations

import torch

from spyre_dsl.targets.protocol import HostFallback, Outcome, Refused


def test_tensors_are_shown_by_their_shape() -> None:
    outcome = Outcome({"logits": torch.zeros(4, 512, 1000), "cache": [torch.zeros(2)] * 9}, kernels=206, seconds=1.25)
    text = "<Outcome outputs float32[4, 512, 1000], float32[2], float32[2], float32[2], ...; kernels: 206; 1.2 s>"
    assert repr(outcome) == str(outcome) == text


def test_fallbacks_and_defects_are_there_when_there_are_any() -> None:
    fallbacks = (HostFallback("aten.sin", "rotary", "m.py:1"),) * 3
    text = repr(Outcome(torch.zeros(2, dtype=torch.float16), host_fallbacks=fallbacks, defects=("S5", "S51")))
    assert text == "<Outcome outputs float16[2]; host fallbacks: 3; known defects: S5, S51; 0.0 s>"


def test_a_refused_run_names_the_ops() -> None:
    refusals = tuple(Refused(f"aten.op{number % 6}", "x", "m.py:1", "no " * 500) for number in range(60))
    text = repr(Outcome(None, refusals=refusals))
    assert text == "<Outcome refused: 60 (aten.op0, aten.op1, aten.op2, aten.op3, ...); 0.0 s>"


def test_outputs_without_tensors_are_named_by_their_class() -> None:
    assert repr(Outcome(())) == "<Outcome outputs tuple; 0.0 s>"
