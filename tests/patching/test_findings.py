"""Silence is the worst habit: rules that fire less or more often than their authors said are reported."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from transformers.activations import ACT2FN

from spyre_dsl.language.adapter import AdapterSet
from spyre_dsl.patching.plan import plan
from tests.patching.rules import STACK, rules


class TwoLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.config = SimpleNamespace(num_hidden_layers=2, model_type="bert")
        self.acts = nn.ModuleList([ACT2FN["gelu"], ACT2FN["gelu"]])
        self.norms = nn.ModuleList([nn.LayerNorm(4) for _ in range(5)])

    def forward(self, x):
        for layer in (*self.acts, *self.norms):
            x = layer(x)
        return x


class Sum(nn.Module):
    def __init__(self):
        super().__init__()
        self.row = nn.Parameter(torch.ones(1, 4))

    def forward(self, x):
        return x + self.row


@pytest.fixture(scope="module")
def model():
    return TwoLayers().eval()


def found(model, body):
    made = plan(model, rules(body), (torch.ones(2, 4),), stack=STACK)
    return made, [(finding.kind, finding.found, finding.expected) for finding in made.unmatched]


GELU = """
- name: gelu
  match: {op: gelu($x)}
  rewrite: {op: "$x * (0.5 * (1 + erf($x * 0.7071067811865476)))"}
"""


@pytest.mark.parametrize(
    "expected, kind",
    [("config.num_hidden_layers", None), ("3", "too-few"), ("1", "too-many"), ("config.layers", "no-number")],
)
def test_expected_sites_are_counted(model, expected, kind):
    _, findings = found(model, GELU + f"  expect: {{sites: {expected}}}")
    assert [finding[0] for finding in findings] == ([kind] if kind else [])


def test_a_rule_that_was_expected_and_fires_nowhere(model):
    made, findings = found(
        model, GELU.replace("gelu($x)}", "silu($x)}") + "  expect: {sites: config.num_hidden_layers}"
    )
    assert findings == [("none", 0, 2)]
    assert str(made) == "warning: test/gelu: it fires nowhere; expect.sites says 2"


def test_a_config_that_fits_and_nothing_that_matches(model):
    body = GELU.replace("match: {op: gelu($x)}", "match: {op: silu($x), config: {model_type: bert}}")
    made, findings = found(model, body)
    assert findings == [("nothing", 0, None)]
    assert "match.config fits this model, and nothing in it matched" in str(made)


def test_a_config_that_does_not_fit_is_no_finding(model):
    body = GELU.replace("match: {op: gelu($x)}", "match: {op: gelu($x), config: {model_type: gpt2}}")
    made, findings = found(model, body + "  expect: {sites: 12}")
    assert not findings and not made.patches


def test_a_general_rule_that_does_not_match_is_no_finding(model):
    _, findings = found(model, GELU.replace("gelu($x)}", "silu($x)}"))
    assert findings == []


def test_module_rules_are_counted_by_module(model):
    body = '- name: eps\n  match: {module: "*LayerNorm"}\n  rewrite: {attributes: {eps: 1e-6}}\n  expect: {sites: 2}'
    _, findings = found(model, body)
    assert findings == [("too-many", 5, 2)]


def test_findings_are_in_the_json_of_a_plan(model):
    made, _ = found(model, GELU + "  expect: {sites: 3}")
    shown = json.loads(made.to_json())
    assert shown["unmatched"][0]["kind"] == "too-few" and len(shown["patches"]) == 2
    assert shown["patches"][0]["source_line"].startswith("activations.py:")


UNEVALUATED = {
    "size($x, 7) > 3": "has 2 dimensions, so no dim 7",
    "size($x, 1) % 0 == 1": "division by zero: 4 % 0",
    "size($x, 1) // (size($x, 1) - 4) == 1": "division by zero: 4 // 0",
    "10 ** 10 ** 10 > size($x, 1)": "10 ** 10000000000 is too large",
    "config.layers > 1": "the config has no key `layers`",
    "self.head_dim > 1": "`self` has no `head_dim`",
}


@pytest.mark.parametrize("guard", UNEVALUATED)
def test_a_guard_without_a_value_is_told_with_its_place(model, guard):
    made, findings = found(model, GELU.replace("gelu($x)}", f"gelu($x), where: '{guard}'}}"))
    assert findings == [("unevaluated", 0, None)]
    said = str(made)
    assert said.startswith("warning: test/gelu: could not evaluate its guard at 2 places: ")
    assert UNEVALUATED[guard] in said
    assert re.search(r", 0\.yaml:6:\d+$", said)


def test_an_adapter_that_was_not_read_from_a_file_is_told_by_its_name(model):
    (read,) = rules(GELU.replace("gelu($x)}", "gelu($x), where: 'size($x, 7) > 3'}")).adapters
    made = plan(model, AdapterSet((replace(read, source=None),)), (torch.ones(2, 4),), stack=STACK)
    assert str(made).endswith("has 2 dimensions, so no dim 7, test/gelu")


def test_only_the_guards_of_what_else_matches_are_told(model):
    _, findings = found(model, GELU.replace("gelu($x)}", "silu($x), where: 'size($x, 7) > 3'}"))
    assert findings == []
    _, findings = found(model, GELU.replace("gelu($x)}", "gelu($x), path: nowhere, where: 'size($x, 7) > 3'}"))
    assert findings == []
    _, findings = found(model, GELU.replace("gelu($x)}", "gelu($x), where: 'rank($x) > 7 and size($x, 7) > 3'}"))
    assert findings == []


def test_places_that_match_in_another_way_are_not_told(model):
    body = """
- name: sum
  match: {op: "$a + $b", where: "10 // (size($a, 0) - 2) == -10"}
  rewrite: {op: "sub($a, neg($b))"}
"""
    made = plan(Sum(), rules(body), (torch.ones(2, 4),), stack=STACK)
    assert len(made.patches) == 1 and made.unmatched == ()


def test_module_rules_have_guards_too(model):
    match = '{module: "*LayerNorm", where: "self.epsilon > 0"}'
    body = f"- name: eps\n  match: {match}\n  rewrite: {{attributes: {{eps: 1e-6}}}}"
    made, findings = found(model, body)
    assert findings == [("unevaluated", 0, None)]
    assert "at 5 places: `self` has no `epsilon`, 0.yaml:6:" in str(made)
