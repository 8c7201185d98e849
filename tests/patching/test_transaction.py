"""All of a plan or nothing: a fault at every step leaves the model as it was, identity for identity."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from spyre_dsl.patching.errors import RewriteError
from spyre_dsl.patching.plan import plan
from tests.patching.rules import HEAD_PADDING, STACK, adapters, bert, text_inputs

EDITS = """
adapter: edits
summary: One edit of each kind.
gap: {kind: numerics}
rules:
  - name: slower
    match: {module: "*LayerNorm"}
    rewrite: {attributes: {eps: 1e-6}}
  - name: name
    match: {config: {model_type: bert}}
    rewrite: {config: {hidden_dropout_prob: 0.2}}
  - name: identity
    match: {module: "*BertPooler"}
    rewrite:
      forward: |
        let first = select(hidden_states, 1, 0)
        return tanh(linear(first, self.dense.weight, self.dense.bias))
"""


class Fault(Exception):
    pass


def photograph(model: torch.nn.Module) -> dict[Any, Any]:
    """Everything about a model that a transaction could leave behind, by identity."""
    seen: dict[Any, Any] = {}
    for path, module in model.named_modules():
        for name, value in vars(module).items():
            seen[path, name] = id(value)
            if isinstance(value, dict):
                seen[path, name, "items"] = [(key, id(item)) for key, item in value.items()]
            elif isinstance(value, set):
                seen[path, name, "items"] = sorted(value)
        seen[path, "order"] = list(vars(module))
    for name, tensor in model.state_dict(keep_vars=True).items():
        content = tensor.detach().clone().numpy().tobytes()
        seen["tensor", name] = (id(tensor), tensor.data_ptr(), tensor._version, content)
    seen["config"] = {key: repr(value) for key, value in vars(model.config).items()}
    return seen


@pytest.fixture(scope="module")
def planned():
    model = bert()
    before = photograph(model)
    made = plan(model, adapters(HEAD_PADDING, EDITS), (), text_inputs(), stack=STACK)
    return model, made, before


def failing_after(steps: int):
    """A fault that lets so many steps pass."""
    left = iter(range(steps))

    def fault(what: str) -> None:
        if next(left, None) is None:
            raise Fault(what)

    return fault


def steps_of(made, model) -> list[str]:
    found: list[str] = []
    made.apply(model, fault=found.append).revert()
    return found


def test_planning_leaves_no_trace(planned):
    model, _, before = planned
    assert photograph(model) == before


def test_reverting_leaves_no_trace(planned):
    model, made, before = planned
    handle = made.apply(model)
    with torch.no_grad():
        model(**text_inputs())
        model(**text_inputs(padded=False))
    assert photograph(model) != before
    handle.revert()
    assert photograph(model) == before


def test_a_fault_at_any_step_leaves_no_trace(planned):
    model, made, before = planned
    steps = steps_of(made, model)
    assert len(steps) > 30
    for broken in range(len(steps)):
        with pytest.raises(Fault):
            made.apply(model, fault=failing_after(broken))
        assert photograph(model) == before, f"step {broken}: {steps[broken]}"


def test_a_fault_while_folding_leaves_no_trace(planned, monkeypatch):
    model, made, before = planned
    last = made.owners[-1].table.all()[0].folds[-1]
    monkeypatch.setattr(last.program, "forward", lambda *values: 1 / 0)
    with pytest.raises(RewriteError, match="^head-padding/.*: division by zero$"):
        made.apply(model)
    assert photograph(model) == before


def test_an_interrupt_is_rolled_back_too(planned):
    model, made, before = planned

    def interrupt(what: str) -> None:
        if "buffer" in what:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made.apply(model, fault=interrupt)
    assert photograph(model) == before


def test_an_error_inside_the_with_block_reverts(planned):
    model, made, before = planned
    with pytest.raises(Fault), made.applied(model):
        raise Fault
    assert photograph(model) == before
