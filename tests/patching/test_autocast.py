"""A patched model under torch.autocast."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from spyre_dsl.patching.plan import plan
from tests.patching.rules import FOLDED, HEAD_PADDING, STACK, adapters, bert, layers, rules, text_inputs

pytestmark = pytest.mark.usefixtures("fresh_compiler")
X = torch.randn(4, 8, generator=torch.Generator().manual_seed(1))
BFLOAT16 = {"rtol": 2e-2, "atol": 2e-2}


def casting(enabled: bool = True) -> torch.autocast:
    return torch.autocast("cpu", torch.bfloat16, enabled=enabled)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_the_dtype_is_that_of_the_stock_model_on_entering_and_on_leaving(compiled: bool) -> None:
    model, stock = layers(), layers()
    with torch.no_grad(), plan(model, rules(FOLDED), (X,), stack=STACK).applied(model):
        with casting():
            model(X)  # a signature of its own, which torch.compile does not export
        call = torch.compile(model, backend="aot_eager", fullgraph=True) if compiled else model
        for enabled in (False, True, False, True):
            with casting(enabled):
                found, wanted = call(X), stock(X)
            assert found.dtype == wanted.dtype == (torch.bfloat16 if enabled else torch.float32)
            torch.testing.assert_close(found, wanted, **(BFLOAT16 if enabled else {}))


def test_rules_see_the_dtype_that_is_computed_with() -> None:
    by_dtype = rules("""
- name: narrow
  match: {op: "relu($x)", where: dtype($x) == bfloat16}
  rewrite: {op: "($x + abs($x)) * 0.5"}
- name: wide
  match: {op: "relu($x)", where: dtype($x) == float32}
  rewrite: {op: "maximum($x, $x * 0)"}
""")
    model = layers(1)
    with torch.no_grad(), plan(model, by_dtype, (X,), stack=STACK).applied(model) as handle:
        assert "aten.abs" not in handle.code("0")
        with casting():
            model(X)
        assert "aten.abs" in handle.code("0")


def test_a_plan_that_is_made_under_autocast_is_the_plan_without_it() -> None:
    model, stock = layers(), layers()
    with casting():
        made = plan(model, rules(FOLDED), (X,), stack=STACK)
    with torch.no_grad(), made.applied(model):
        torch.testing.assert_close(model(X), stock(X))
        with casting():
            torch.testing.assert_close(model(X), stock(X), **BFLOAT16)


def test_gradients_under_autocast_are_those_of_the_stock_model() -> None:
    model, stock = layers(), layers()
    with plan(model, rules(FOLDED), (X,), stack=STACK).applied(model):
        for each in (model, stock):
            with casting():
                each(X).float().square().sum().backward()
    wanted = {name: each.grad for name, each in stock.named_parameters()}
    torch.testing.assert_close({name: each.grad for name, each in model.named_parameters()}, wanted, **BFLOAT16)


def test_weights_that_are_loaded_under_autocast_are_folded_without_it() -> None:
    model, stock = layers(), layers()
    with torch.no_grad(), plan(model, rules(FOLDED), (X,), stack=STACK).applied(model):
        with casting():
            model.load_state_dict(stock.state_dict())
        torch.testing.assert_close(model(X), stock(X))


class Policies(nn.Module):
    """Ops that autocast runs in bfloat16, in float32, in the widest dtype given, and as they are."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        left, right = self.left(x), self.right(x)
        mixed = torch.cat([left, torch.softmax(right, -1).float(), x], -1)
        distance = F.mse_loss(left, right, reduction="none")
        return torch.relu(mixed) + torch.relu(torch.cat([distance, right @ left.mT @ x, left], -1))


def test_every_policy_of_autocast_gives_its_dtypes() -> None:
    model = Policies()
    body = '- {name: r, match: {op: "relu($x)"}, rewrite: {op: "maximum($x, $x * 0)"}}'
    with casting(), torch.no_grad():
        wanted = model(X)
        with plan(model, rules(body), (X,), stack=STACK).applied(model):
            torch.testing.assert_close(model(X), wanted, **BFLOAT16)


def test_a_model_with_attention() -> None:
    model = bert(1)
    made = plan(model, adapters(HEAD_PADDING), (), text_inputs(), stack=STACK)
    with casting(), torch.no_grad():
        wanted = model(**text_inputs()).last_hidden_state
        with made.applied(model) as handle:
            found = model(**text_inputs()).last_hidden_state
            assert any(entry.autocast and entry.fired for entry in _entries(handle))
    torch.testing.assert_close(found, wanted, rtol=5e-2, atol=5e-2)


def _entries(handle):
    return [entry for owner in handle.owners().values() for entry in owner._spyre_owner.table.all()]
