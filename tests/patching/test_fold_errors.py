"""Values that cannot be folded, changes that cannot be made: the rule is named, and nothing is left behind."""

from __future__ import annotations

import pytest
import torch

from spyre_dsl.graphs.capture import CaptureError
from spyre_dsl.patching.errors import ApplyError, RewriteError
from spyre_dsl.patching.plan import plan
from tests.patching.rules import STACK, bert, rules, text_inputs
from tests.patching.test_transaction import photograph

HUGE = {
    "op": """
- name: huge
  match: {op: gelu($x)}
  rewrite: {op: "$x * (0.5 * (1 + erf($x * 0.7071067811865476))) + sum(zeros([1000000, 1000000, 100]))"}
""",
    "forward": """
- name: huge
  match: {module: "*BertPooler"}
  rewrite:
    forward: |
      let more = sum(zeros([1000000, 1000000, 100]))
      return tanh(linear(select(hidden_states, 1, 0), self.dense.weight, self.dense.bias) + more)
""",
    "parameters": """
- name: huge
  match: {path: "**.intermediate.dense"}
  rewrite: {parameters: {weight: "self.weight + sum(zeros([1000000, 1000000, 100]))"}}
""",
}


@pytest.mark.parametrize("kind", HUGE)
def test_a_value_that_no_memory_holds_is_told_and_leaves_nothing_behind(kind: str) -> None:
    model = bert(layers=1)
    made = plan(model, rules(HUGE[kind]), (), text_inputs(), stack=STACK)
    before = photograph(model)
    with pytest.raises(RewriteError, match=r"^test/huge: out of memory while folding .*\[1000000, 1000000, 100\]"):
        made.apply(model)
    assert photograph(model) == before
    model(**text_inputs())


def test_an_allocation_that_fails_all_the_same_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spyre_dsl.patching.fold._memory", lambda: 0)
    model = bert(layers=1)
    made = plan(model, rules(HUGE["op"]), (), text_inputs(), stack=STACK)
    with pytest.raises(RewriteError, match="^test/huge: out of memory while folding"):
        made.apply(model)


ROW = """
- name: row
  match: {op: "linear($x, $w, $b)", path: "**.pooler.dense"}
  rewrite: {op: "matmul($x, transpose($w, 0, 1)) + sum(embedding(full([1], 1000, dtype=int64), $w))"}
"""


def test_any_error_of_torch_is_told_with_the_rule() -> None:
    model = bert(layers=1)
    made = plan(model, rules(ROW), (), text_inputs(), stack=STACK)
    before = photograph(model)
    with pytest.raises(RewriteError, match="^test/row: cannot fold what it makes of parameters and literals .*: index"):
        made.apply(model)
    assert photograph(model) == before


EPS = '- name: eps\n  match: {module: "*LayerNorm"}\n  rewrite: {attributes: {eps: 0.5}}'


@pytest.mark.parametrize("body", [EPS, HUGE["op"].replace("1000000, 1000000, 100", "2")])
def test_a_module_that_does_not_let_itself_be_changed_is_told(body: str) -> None:
    model = bert(layers=1)
    made = plan(model, rules(body), (), text_inputs(), stack=STACK)
    before = photograph(model)
    changes: list[str] = []

    def fault(change: str) -> None:
        changes.append(change)
        if len(changes) == 3:
            raise RuntimeError("this one is fixed\nfor good")

    with pytest.raises(ApplyError, match="^test/(eps|huge): cannot be applied: this one is fixed$"):
        made.apply(model, fault=fault)
    assert photograph(model) == before


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("body", [EPS, HUGE["op"], HUGE["forward"]])
def test_torchscript_is_refused_before_any_rule_is_tried(body: str) -> None:
    model = torch.nn.Sequential(torch.jit.script(torch.nn.LayerNorm(4)), torch.nn.GELU())
    with pytest.raises(CaptureError, match="`0` is TorchScript"):
        plan(model, rules(body), (torch.ones(2, 4),), stack=STACK)
