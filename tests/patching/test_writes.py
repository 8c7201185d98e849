"""What a forward writes in place, in whatever view, is read by a rewrite as it is at its place in the forward."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from spyre_dsl.patching.plan import plan
from tests.patching.rules import HEAD_PADDING, SQUARES, STACK, adapters

X = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))


class Held(torch.nn.Module):
    """A forward as a function of the module and its input; ``h`` is a buffer, ``w`` a parameter."""

    def __init__(self, function: Callable[[Any, torch.Tensor], Any]) -> None:
        super().__init__()
        self.function = function
        self.register_buffer("h", torch.linspace(-1, 2, 4))
        self.w = torch.nn.Parameter(torch.linspace(1, 2, 4))

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(self, x)


def check(function: Callable[[Any, torch.Tensor], Any], fires: bool = True) -> None:
    """Patched and stock do the same over three calls: to their results, their inputs and their state."""
    model = Held(function).eval()
    stock = copy.deepcopy(model)
    made = plan(model, adapters(SQUARES), (X.clone(),), stack=STACK)
    assert bool(made.patches) is fires or not fires
    made.apply(model)
    with torch.no_grad():
        for call in range(3):
            ours, theirs = X + call, X + call
            torch.testing.assert_close(model(ours), stock(theirs))
            torch.testing.assert_close(ours, theirs)
            torch.testing.assert_close(model.state_dict(), stock.state_dict())


def _slice(self, x):
    self.h[0:1] = x.sum()
    return x + self.h**2


def _whole_after_a_view(self, x):
    v = self.h[0]
    self.h.add_(1)
    return x + v**2


def _read_before_and_after(self, x):
    before = self.h**2
    self.h.narrow(0, 1, 2).mul_(0.5)
    return x + before, x + self.h**2


def _view_of_a_view(self, x):
    self.h.view(2, 2)[1].copy_(x[0, :2])
    return x + (self.h * 2) ** 2


def _numbers_only(self, x):
    self.h[:2] = 1.0
    return x + self.h**2


def _parameter(self, x):
    self.w.detach()[1:].add_(x.sum())
    return x + self.w.detach() ** 2


def _part_of_split(self, x):
    self.h.split(2)[0].add_(x.sum())
    return x + self.h**2


@pytest.mark.parametrize(
    "function",
    [
        _slice,
        _whole_after_a_view,
        _read_before_and_after,
        _view_of_a_view,
        _numbers_only,
        _parameter,
        _part_of_split,
    ],
)
def test_what_a_forward_writes_is_no_constant(function):
    check(function)


HAND_ON = {
    "dropout": lambda h: F.dropout(h, 0.5, False),
    "no dropout": lambda h: F.dropout(h, 0.0, True),
    "feature dropout": lambda h: torch.feature_dropout(h, 0.5, False),
    "alpha dropout": lambda h: F.alpha_dropout(h, 0.5, False),
    "to": lambda h: h.to(torch.float32),
    "float": lambda h: h.float(),
    "type_as": lambda h: h.type_as(h),
    "contiguous": lambda h: h.contiguous(),
    "reshape": lambda h: h.reshape(h.shape),
    "flatten": lambda h: h.flatten(),
    "expand": lambda h: h.expand(h.shape),
    "expand_as": lambda h: h.expand_as(h),
    "detach": lambda h: h.detach(),
    "alias": lambda h: torch.ops.aten.alias(h),
    "narrow": lambda h: h.narrow(0, 0, h.shape[0]),
    "atleast": lambda h: torch.atleast_2d(h),
    "broadcast": lambda h: torch.broadcast_tensors(h, h)[0],
    "meshgrid": lambda h: torch.meshgrid(h.flatten(), h.flatten(), indexing="ij")[0],
    "einsum": lambda h: torch.einsum("ij->ji", h),
    "split": lambda h: h.split(1)[0],
    "clone": lambda h: h.clone(),
    "arithmetic": lambda h: h * 1.5,
}


@pytest.mark.parametrize("hand", HAND_ON.values(), ids=HAND_ON)
def test_what_an_op_hands_on_changes_with_its_argument(hand):
    def argument_written(self, x):
        h = x + 1
        result = hand(h)
        h += 10
        return result**2

    def result_written(self, x):
        h = x + 1
        hand(h).add_(10) if hand is not HAND_ON["meshgrid"] else h.add_(10)
        return h**2

    check(argument_written)
    check(result_written)


STEPS = {
    "hand on": lambda values, a, b: values.append(list(HAND_ON.values())[b](values[a])),
    "part": lambda values, a, b: values.append(values[a][:1]),
    "square": lambda values, a, b: values.append(values[a].reshape(-1)[:4] ** 2),
    "write": lambda values, a, b: values[a].mul_(0.5),
    "write a sum": lambda values, a, b: values[a].add_(values[b % len(values)].sum()),
}


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 9), st.integers(0, 9)), max_size=6))
def test_any_forward_that_writes_computes_what_it_did(steps):
    def function(self, x):
        values = [x + 1, self.h.view(2, 2), self.h]
        for name, first, second in steps:
            STEPS[name](values, first % len(values), second)
        return tuple((x.sum() + value) ** 2 for value in values), self.h**2 + x

    check(function, fires=False)


class Cache(torch.nn.Module):
    """An attention with a buffer as its cache, written by a slice at the place ``start``."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (torch.nn.Linear(64, 64) for _ in range(4))
        self.register_buffer("cache_k", torch.zeros(1, 2, 16, 32))
        self.register_buffer("cache_v", torch.zeros(1, 2, 16, 32))

    def forward(self, x: torch.Tensor, start: int) -> torch.Tensor:
        q, k, v = [each(x).view(1, -1, 2, 32).transpose(1, 2) for each in (self.q, self.k, self.v)]
        self.cache_k[:, :, start : start + x.shape[1]] = k
        self.cache_v[:, :, start : start + x.shape[1]] = v
        y = F.scaled_dot_product_attention(q, self.cache_k, self.cache_v)
        return self.o(y.transpose(1, 2).reshape(1, -1, 64))


def test_a_cache_in_buffers_is_padded_as_it_is_now():
    model = Cache().eval()
    stock = copy.deepcopy(model)
    made = plan(model, adapters(HEAD_PADDING), (torch.randn(1, 1, 64), 0), stack=STACK)
    assert any(patch.rule == "pad-to-stick" for patch in made.patches)
    made.apply(model)
    with torch.no_grad():
        for place in range(3):
            x = torch.randn(1, 1, 64)
            torch.testing.assert_close(model(x, place), stock(x, place), rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(model.state_dict(), stock.state_dict(), rtol=1e-4, atol=1e-5)


def _power_of_the_input(self, x):
    x.pow_(2)
    return x + 1


def _result_of_the_write(self, x):
    y = x.pow_(2)
    return y + x


def _power_of_a_view(self, x):
    x[1].pow_(2)
    return x + 1


def _power_of_a_buffer(self, x):
    before = self.h * 1
    self.h.pow_(2)
    return x + self.h - before


def _power_of_part_of_a_buffer(self, x):
    self.h[1:3].pow_(2)
    return x + self.h**2


@pytest.mark.parametrize(
    "function",
    [
        _power_of_the_input,
        _result_of_the_write,
        _power_of_a_view,
        _power_of_a_buffer,
        _power_of_part_of_a_buffer,
    ],
)
def test_a_matched_write_is_rewritten_and_still_reaches_what_it_wrote_to(function):
    check(function)
