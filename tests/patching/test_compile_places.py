"""Where the nodes of a patched module come from, as torch.compile and the simulator's door tell it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import spyre_sim
from spyre_dsl.graphs.provenance import source_line_of
from spyre_dsl.patching.plan import plan
from tests.patching.rules import STACK, rules

pytestmark = pytest.mark.usefixtures("fresh_compiler")

RULES = rules("""
- name: outer
  match: {op: "relu($a + $x)"}
  rewrite: {op: "clamp_min($x + $a, 0.0)"}
- name: inner
  match: {op: "relu(linear($x, $w, $b))"}
  rewrite: {op: "clamp_min(linear($x, $w, $b), 0.0)"}
""")


class Ranked(nn.Module):
    """A sort, which the device of 2026-06 has no kernel for."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) * x.sort(-1).values


class Block(nn.Module):
    """What owns a match; two of its kind share a graph."""

    def __init__(self) -> None:
        super().__init__()
        self.dense, self.first, self.second = nn.Linear(64, 64), Ranked(), Ranked()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.second(self.first(self.dense(x))) + x)


class Wrapper(nn.Module):
    """Two blocks below a module that no rule has to do with."""

    def __init__(self, blocks: nn.Module) -> None:
        super().__init__()
        self.blocks = blocks

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.blocks(x)


X = torch.randn(4, 64, generator=torch.Generator().manual_seed(0)).half()


@pytest.fixture
def patched():
    torch.manual_seed(0)
    model = nn.Sequential(Block(), Block()).half().eval()
    with plan(model, RULES, (X,), stack=STACK).applied(model):
        yield model


def sorts(model: nn.Module) -> list[tuple[str, str]]:
    """(module path, source line) of each sort in the graphs that a backend is given."""
    found: list[tuple[str, str]] = []

    def backend(graph_module: torch.fx.GraphModule, inputs: Any) -> Any:
        for node in graph_module.graph.nodes:
            if "sort" in str(node.target):
                path = list(node.meta["nn_module_stack"].values())[-1][0]
                found.append((path.partition("].")[2], source_line_of(node)))
        return graph_module

    with torch.no_grad():
        torch.compile(model, backend=backend, fullgraph=True)(X)
    return found


LINE = Ranked.forward.__code__.co_firstlineno + 1
PLACES = ["first", "second"]


def test_nodes_have_the_modules_and_the_line_of_the_stock_model(patched: nn.Module) -> None:
    wanted = [(f"{block}.{name}", f"test_compile_places.py:{LINE}") for block in (0, 1) for name in PLACES]
    assert sorts(patched) == wanted


def test_paths_are_told_from_where_the_compiler_started(patched: nn.Module) -> None:
    assert [path for path, _ in sorts(Wrapper(patched))] == [f"blocks.{n}.{name}" for n in (0, 1) for name in PLACES]
    assert [path for path, _ in sorts(patched[1])] == PLACES
    assert [path for path, _ in sorts(patched)] == [f"{n}.{name}" for n in (0, 1) for name in PLACES]


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_what_the_stack_refuses_is_told_with_its_place(patched: nn.Module, dynamic: bool) -> None:
    call = torch.compile(patched, backend="spyre_sim", dynamic=dynamic, options={"stack": "2026-06"})
    with torch.no_grad(), pytest.raises(spyre_sim.DeviceError) as refused:
        call(X)
    assert (refused.value.op, refused.value.module_path) == ("aten.sort", "0.first")
    assert refused.value.source_line == f"test_compile_places.py:{LINE}"
