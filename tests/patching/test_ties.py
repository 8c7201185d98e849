"""Shared parameters: a rewrite that would let them part is refused, unless the user asks for it."""

from __future__ import annotations

import pytest
import torch

from spyre_dsl.patching.errors import RewriteLoop, TiedWeightError
from spyre_dsl.patching.plan import plan
from tests.patching.rules import STACK, gpt2, rules, text_inputs

WIDER_HEAD = """
- name: wider-head
  match:
    op: linear($x, $w)
    where: size($w, 0) == 100
  rewrite:
    op: narrow(linear($x, pad_dim($w, 0, 128)), -1, 0, 100)
"""
PADDED_MODULE = """
- name: wider-head
  match: {path: lm_head}
  rewrite:
    parameters: {weight: "pad_dim(self.weight, 0, 128)"}
    output: narrow(output, -1, 0, 100)
"""
INPUTS = {**text_inputs(), "use_cache": False}


@pytest.mark.parametrize("body", [WIDER_HEAD, PADDED_MODULE], ids=["op", "parameters"])
def test_a_tied_weight_is_not_given_a_value_of_its_own_unasked(body):
    with pytest.raises(TiedWeightError, match="`lm_head.weight` is shared with transformer.wte.weight.*untie=True"):
        plan(gpt2(1), rules(body), (), INPUTS, stack=STACK)


@pytest.mark.parametrize("body", [WIDER_HEAD, PADDED_MODULE], ids=["op", "parameters"])
def test_it_is_when_asked(body):
    model = gpt2(1)
    made = plan(model, rules(body), (), INPUTS, stack=STACK, untie=True)
    with torch.no_grad():
        wanted = model(**INPUTS).logits
        with made.applied(model):
            found = model(**INPUTS).logits
            assert model.lm_head.weight is model.transformer.wte.weight
    torch.testing.assert_close(found, wanted)


def test_a_rule_that_leaves_the_tied_weight_as_it_is_is_fine():
    body = """
- name: head
  match: {path: lm_head, op: "linear($x, $w)"}
  rewrite: {op: "linear(neg(neg($x)), $w)"}
"""
    with pytest.raises(RewriteLoop):
        plan(gpt2(1), rules(body), (), INPUTS, stack=STACK)
    once = body.replace("linear(neg(neg($x)), $w)", "einsum('bsh,vh->bsv', [$x, $w])")
    made = plan(gpt2(1), rules(once), (), INPUTS, stack=STACK)
    assert [patch.owner for patch in made.patches] == ["lm_head"]
