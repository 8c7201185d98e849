"""What no stack would get to see is refused as misuse, in words; and what is refused without a fact reads well."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import spyre_sim
from spyre_sim.errors import Refusal

X = torch.arange(128, dtype=torch.float16).reshape(2, 64) / 64


class Counter(torch.nn.Module):
    """Sets a buffer to zero, and counts into it."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__()
        self.register_buffer("held", torch.ones(2, 64, dtype=torch.float16, device=device))
        self.weight = torch.nn.Parameter(torch.ones(64, dtype=torch.float16, device=device))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.held.zero_()
        self.held.add_(x)
        return x * self.weight + self.held


@pytest.mark.parametrize("stack", ["2026-06", "2026-09"])
def test_zero_is_a_fill(stack: str) -> None:
    model = Counter()
    compiled = spyre_sim.compile(model, (X,), stack=stack)
    for times in (1, 2):
        assert torch.equal(compiled(X * times), 2 * X * times)
        assert torch.equal(model.held, X * times)
    assert not spyre_sim.compile(lambda x: torch.ops.aten.zero(x) + x * 0, (X,), stack=stack)(X).any()


@pytest.mark.parametrize(
    ("fact", "shown"), [("", "no [aten.mul in a.b at m.py:1]"), ("E10", "no [E10; aten.mul in a.b at m.py:1]")]
)
def test_a_refusal_without_a_fact_shows_none(fact: str, shown: str) -> None:
    assert str(Refusal("aten.mul", "a.b", "m.py:1", fact, "unsupported", "compile", "no")) == shown


def test_a_model_without_numbers_can_be_checked_and_not_compiled() -> None:
    model, x = Counter("meta"), X.to("meta")
    assert spyre_sim.check(model, (x,)) == ()
    with pytest.raises(spyre_sim.CompileError, match="(held|weight) is on the meta device: it has no numb") as caught:
        spyre_sim.compile(model, (x,))
    assert caught.value.kind == "misuse"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (X.float(), "compiled for float16, and x is float32"),
        (X.bfloat16(), "compiled for float16, and x is bfloat16"),
        (X.long(), "compiled for float16, and x is int64"),
        (X.to("meta"), "x is on the meta device"),
    ],
)
def test_inputs_that_the_program_was_not_compiled_for(given: Any, why: str) -> None:
    compiled = spyre_sim.compile(Counter(), (X,))
    for call in (compiled, compiled.trace):
        with pytest.raises(spyre_sim.RunError, match=why) as caught:
            call(given)
        assert caught.value.kind == "misuse"
