"""``import spyre_dsl`` is free, and offers a dozen documented names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import spyre_dsl
from tests.language.samples import CUBE

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


def test_both_sides_of_a_comparison_may_be_outcomes() -> None:
    model, inputs = torch.nn.Linear(64, 64), torch.randn(4, 64)
    reference, outcome = spyre_dsl.run(model, inputs, target="cpu"), spyre_dsl.run(model, inputs)
    compared = spyre_dsl.compare(outcome, reference)
    assert compared.passes() and compared == spyre_dsl.compare(outcome.outputs, reference.outputs)


def test_a_run_without_outputs_cannot_be_compared() -> None:
    refused = spyre_dsl.Outcome(None)
    with pytest.raises(ValueError, match="there is nothing to compare: <Outcome"):
        spyre_dsl.compare(refused, torch.zeros(1, 1))


def test_adapters_may_be_a_path(tmp_path: Path) -> None:
    (tmp_path / "cube.yaml").write_text(CUBE)
    for path in (tmp_path, str(tmp_path / "cube.yaml")):
        assert len(spyre_dsl.plan(Cube(), path, torch.randn(4, 64)).patches) == 1
    assert spyre_dsl.why(Cube(), tmp_path, "my-cube", torch.randn(4, 64))[0].matched


def test_what_are_no_adapters_and_what_is_no_model_is_said() -> None:
    with pytest.raises(TypeError, match="adapters are what spyre_dsl.load returns, or a path [^;]*; not a list"):
        spyre_dsl.plan(Cube(), [], torch.randn(4, 64))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a model is an nn.Module, or what spyre_dsl.load_model returns; not a str"):
        spyre_dsl.plan("a/b", "adapters.d", torch.randn(4, 64))  # type: ignore[arg-type]


def test_the_copy_for_the_simulator_is_in_float16_and_its_plan_can_be_another(tmp_path: Path) -> None:
    where = "      op: pow($x, 3)\n      where: dtype($x) == float16\n"
    (tmp_path / "cube.yaml").write_text(CUBE.replace("      op: pow($x, 3)\n", where))
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), Cube())
    prepared = spyre_dsl.prepare(model)
    assert {parameter.dtype for parameter in prepared.parameters()} == {torch.float16}
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert len(spyre_dsl.plan(model, tmp_path, torch.randn(4, 64)).patches) == 0
    assert len(spyre_dsl.plan(prepared, tmp_path, torch.randn(4, 64).half()).patches) == 1
    assert spyre_dsl.prepare(model, "cpu")[0].weight is model[0].weight  # type: ignore[index]


def test_a_stack_is_a_name_a_day_or_a_file_in_python_too() -> None:
    assert spyre_dsl.load_stack("2026-07-15").name == "2026-07-15"
    with pytest.raises(Exception, match="no stack `2026-6`"):
        spyre_dsl.load_stack("2026-6")


def test_a_plan_is_applied_to_a_module_and_says_so() -> None:
    plan = spyre_dsl.plan(Cube(), spyre_dsl.AdapterSet(()), torch.randn(4, 64))
    with pytest.raises(TypeError, match="not to a SimpleNamespace: apply it to its `.model`"):
        plan.apply(SimpleNamespace(model=Cube()))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a plan is applied to an nn.Module, not to a int$"):
        plan.apply(3)  # type: ignore[arg-type]
