"""What depends on parameters only is computed once."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from spyre_dsl.patching.plan import plan
from tests.patching.rules import STACK, rules


class Fused(nn.Module):
    """Two projections in one, as GPT-2 has three."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.both = nn.Linear(4, 6)
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        left, right = self.both(x).split(3, dim=-1)
        return left * torch.exp(self.scale) + right


SLICED = """
- name: slice-of-projection
  match: {op: "split(linear($x, $w, $b), $parts, -1)"}
  rewrite:
    op: "[linear($x, narrow($w, 0, 0, 3), narrow($b, 0, 0, 3)), linear($x, narrow($w, 0, 3, 3), narrow($b, 0, 3, 3))]"
"""
X = torch.randn(2, 4)


@pytest.fixture
def patched():
    model = Fused().eval()
    made = plan(model, rules(SLICED), (X,), stack=STACK)
    wanted = model(X)
    with made.applied(model) as handle:
        yield model, handle, wanted


def folded(model):
    return {name: buffer for name, buffer in model.named_buffers() if name.startswith("_spyre_folded")}


def test_a_slice_of_a_fused_projection_is_a_projection_with_a_sliced_weight(patched):
    model, handle, wanted = patched
    torch.testing.assert_close(model(X), wanted)
    assert sorted(tuple(buffer.shape) for buffer in folded(model).values()) == [(3,), (3,), (3, 4), (3, 4)]
    assert "split" not in handle.code("") and "narrow" not in handle.code("")


def test_what_the_model_does_to_its_own_parameters_is_left_alone(patched):
    _, handle, _ = patched
    assert "aten.exp.default" in handle.code("")


def test_original_parameters_stay_and_state_dicts_do_not_change(patched):
    model, _, _ = patched
    assert list(model.state_dict()) == ["scale", "both.weight", "both.bias"]


def test_another_signature_shares_the_folded_values(patched):
    model, handle, _ = patched
    before = folded(model)
    model(torch.randn(5, 7, 4))
    assert folded(model).keys() == before.keys()
    assert handle.code("").count("def forward") == 2
