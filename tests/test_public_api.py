"""``import spyre_dsl`` is free, and offers a dozen documented names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import spyre_dsl

HEAVY = ("torch", "numpy", "transformers", "rich", "numba")


def modules_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("statement", ["import spyre_dsl", "from spyre_dsl import load, Adapter, RuleError"])
def test_nothing_heavy_is_imported(statement: str) -> None:
    assert modules_after(statement).isdisjoint(HEAVY)


@pytest.mark.parametrize("name", spyre_dsl.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    assert getattr(spyre_dsl, name).__doc__


def test_a_wrong_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'plam'"):
        _ = spyre_dsl.plam  # type: ignore[attr-defined]


def test_dir_shows_the_public_names() -> None:
    assert set(spyre_dsl.__all__) <= set(dir(spyre_dsl))


class Cube(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x**3


CUBE = """\
adapter: my-cube
summary: The stack computes the third power wrongly.
gap: {kind: missing-lowering, evidence: [S51]}
rules:
  - match:
      op: pow($x, 3)
    rewrite:
      op: $x * $x * $x
    math: exact
tests:
  - inputs: {x: "float16[4, 64]"}
    before: pow(x, 3)
    after: x * x * x
"""


def test_the_whole_way_for_any_module(tmp_path: Path) -> None:
    """Load, plan, look, apply, run, compare, ask why: on a module that is no transformer, patched in float32."""
    (tmp_path / "cube.yaml").write_text(CUBE)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), Cube())
    inputs = torch.randn(4, 64)
    with torch.no_grad():
        reference = model(inputs)
    adapters = spyre_dsl.load(tmp_path)
    plan = spyre_dsl.plan(model, adapters, inputs)
    assert [(patch.rule, patch.module_path) for patch in plan.patches] == [("my-cube", "1")]
    assert "my-cube" in str(plan)

    wrong = spyre_dsl.run(model, inputs)
    with plan.applied(model):
        right = spyre_dsl.run(model, inputs)
        on_cpu = spyre_dsl.run(model, inputs, target="cpu")
    assert wrong.defects == ("S51",) and right.defects == ()
    assert not spyre_dsl.compare(wrong.outputs, reference).passes()
    assert spyre_dsl.compare(right.outputs, reference).passes()
    assert torch.allclose(on_cpu.outputs, reference, atol=1e-6)
    (attempt,) = spyre_dsl.why(model, adapters, "my-cube", inputs)
    assert attempt.matched


def test_capture_and_stacks_are_within_reach() -> None:
    graph = spyre_dsl.capture(Cube(), torch.randn(2, 3)).graph
    assert [node.op for node in graph.nodes if not node.is_leaf] == ["pow"]
    stack = spyre_dsl.load_stack()
    assert (stack.name, stack.stick) == ("2026-06", 64)
    assert spyre_dsl.load_stack(stack) is stack
