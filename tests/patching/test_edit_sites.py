"""What a plan shows of a rule that rewrites a module as a whole."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import torch
from torch import nn

from spyre_dsl.patching.plan import plan
from tests.patching.rules import STACK, rules


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = 2.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x * self.scale)


PROGRAM = """
- name: whole
  match: {module: "*Scaled"}
  rewrite:
    forward: |
      let scaled = x * self.scale
      let again = scaled + 0.0
      return tanh(again)
"""
ATTRIBUTES = """
- name: plain
  match: {module: "*Scaled"}
  rewrite:
    attributes: {scale: "3.0"}
"""


def line_of(method: object) -> str:
    return f"{Path(__file__).name}:{inspect.getsourcelines(method)[1]}"  # type: ignore[arg-type]


def test_a_forward_is_shown_whole_with_the_line_of_the_one_that_it_replaces() -> None:
    made = plan(nn.Sequential(Scaled()), rules(PROGRAM), (torch.randn(2, 3),), stack=STACK)
    (patch,) = made.patches
    assert patch.after == "let scaled = x * self.scale; let again = scaled + 0.0; return tanh(again)"
    assert patch.source_line == line_of(Scaled.forward)
    assert f"      + {patch.after}" in str(made).splitlines()
    assert json.loads(made.to_json())["patches"][0]["after"] == patch.after


def test_other_edits_have_the_line_of_their_class_too() -> None:
    (patch,) = plan(nn.Sequential(Scaled()), rules(ATTRIBUTES), (torch.randn(2, 3),), stack=STACK).patches
    assert (patch.before, patch.after, patch.source_line) == ("scale", "scale = 3.0", line_of(Scaled.forward))
